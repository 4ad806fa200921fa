"""Connections to servers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar

import httpx2

Connection = TypeVar("Connection", bound=asyncio.Protocol)


class Server(NamedTuple):
    """Where connections lead to. ``secure``: whether over TLS."""

    host: str
    port: int
    secure: bool

    @classmethod
    def of(cls, url: httpx2.URL) -> Server:
        """Return the server of a URL."""
        secure = url.scheme == "https"
        return cls(url.host, url.port or (443 if secure else 80), secure)


class Streams(NamedTuple):
    """The two directions of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def connect(
    protocol: Callable[[], Connection], server: Server, context: ssl.SSLContext, seconds: float | None
) -> Connection:
    """Return a new connection, within ``seconds``. Raises httpx2.ConnectTimeout or httpx2.ConnectError."""
    loop = asyncio.get_running_loop()
    secure = context if server.secure else None
    async with _within(seconds):
        return (await loop.create_connection(protocol, server.host, server.port, ssl=secure))[1]


async def open_streams(server: Server, context: ssl.SSLContext, seconds: float | None, most: int) -> Streams:
    """Return a new connection as streams that hold up to twice ``most`` bytes. Raises as `connect`."""
    secure = context if server.secure else None
    async with _within(seconds):
        return Streams(*await asyncio.open_connection(server.host, server.port, ssl=secure, limit=most))


@asynccontextmanager
async def _within(seconds: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise httpx2.ConnectTimeout("the server did not accept the connection in time") from error
    except OSError as error:
        raise httpx2.ConnectError(type(error).__name__) from error


async def offers_http2(server: Server, context: ssl.SSLContext, seconds: float | None) -> bool:
    """Return whether a server on TLS chooses HTTP/2 from the protocols that ``context`` offers. Raises as `connect`."""
    connection = await connect(_Negotiation, server, context, seconds)
    return connection.chosen == "h2"


class _Negotiation(asyncio.Protocol):
    """A connection that is closed when the protocol is known."""

    chosen: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        secured: ssl.SSLObject = transport.get_extra_info("ssl_object")
        self.chosen = secured.selected_alpn_protocol()
        transport.close()
