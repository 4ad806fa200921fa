"""Chooses the version of HTTP for the upstream: HTTP/2 if a server on TLS offers it (ALPN), else HTTP/1.1.

A request for a WebSocket needs HTTP/1.1; over HTTP/2 it is another request (RFC 8441), which few servers accept.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

import httpx2

from .connecting import Server, offers_http2
from .http1 import Http1Transport
from .http2 import Http2Transport
from .sessions import UPGRADE, UpgradingTransport


class NegotiatingTransport(httpx2.AsyncBaseTransport):
    """Sends requests in the version that their server offers.

    Before the first request to a server on TLS, a connection without a request finds that out. ``http2``: False for
    HTTP/1.1 everywhere. ``contexts``: returns a new context for TLS, by default one that trusts what httpx2 trusts.
    """

    def __init__(
        self, *, http2: bool = True, contexts: Callable[[], ssl.SSLContext] = httpx2.create_ssl_context
    ) -> None:
        self._http1 = Http1Transport(_context(contexts, "http/1.1"))
        self._upgrading = UpgradingTransport(_context(contexts, "http/1.1"))
        self._http2 = Http2Transport(_context(contexts, "h2")) if http2 else None
        self._asking_context = _context(contexts, "h2", "http/1.1")
        self._offers: dict[Server, bool] = {}
        self._asking = asyncio.Lock()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if UPGRADE in request.headers.raw:
            return await self._upgrading.handle_async_request(request)
        if self._http2 is not None and request.url.scheme == "https" and await self._offered(request):
            return await self._http2.handle_async_request(request)
        return await self._http1.handle_async_request(request)

    async def aclose(self) -> None:
        await self._http1.aclose()
        if self._http2 is not None:
            await self._http2.aclose()

    async def _offered(self, request: httpx2.Request) -> bool:
        """Return whether the server offers HTTP/2. Raises the errors of connecting."""
        server = Server.of(request.url)
        if (offered := self._offers.get(server)) is None:
            async with self._asking:
                if (offered := self._offers.get(server)) is None:
                    seconds = request.extensions["timeout"]["connect"]
                    offered = self._offers[server] = await offers_http2(server, self._asking_context, seconds)
        return offered


def _context(contexts: Callable[[], ssl.SSLContext], *protocols: str) -> ssl.SSLContext:
    context = contexts()
    context.set_alpn_protocols(list(protocols))
    return context
