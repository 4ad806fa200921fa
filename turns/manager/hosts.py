"""Refusal of foreign host names that resolve to this machine (DNS rebinding), for servers on loopback."""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


class KnownHosts:
    """Middleware that answers requests for other host names with 421. ``hosts``: one name or several."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(map(_name, [hosts] if isinstance(hosts, str) else hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and _name(Headers(scope=scope).get("host", "")) not in self._hosts:
            app = Response('{"error": "unknown host"}', 421, media_type="application/json")
        await app(scope, receive, send)


def _name(host: str) -> str:
    """Return the name without its port, in lower case and without a final dot."""
    name, _, port = host.rpartition(":")
    return (name if port.isdigit() else host).lower().removesuffix(".")
