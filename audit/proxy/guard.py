"""Protection of a local page against other pages: security headers, and a check of the host name."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The page may fetch from this server only, and no other page may frame it.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Guarded:
    """Middleware that refuses unknown host names and adds security headers to every response."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

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

        # Refuse a foreign host name that resolves to this machine (DNS rebinding).
        host = Headers(scope=scope).get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        app = self._app if name in self._hosts else Response("unknown host", 421)
        await app(scope, receive, guarded)
