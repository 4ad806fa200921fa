"""Protection of a local page against other pages: security headers, and a check of the host name."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolparity.turns.manager.hosts import KnownHosts

#: The page may fetch from this server only, and no other page may frame it.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Guarded:
    """Middleware that refuses unknown host names and adds security headers to every response."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = KnownHosts(app, hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = _POLICY
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
            await send(message)

        await self._app(scope, receive, guarded)
