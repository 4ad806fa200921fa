"""The streamable HTTP transport of MCP: the SDK's, with headers and a limit for the size of a message."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from .sending import current_sending
from .stdio import MAX_MESSAGE

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

#: Seconds for a connection, and between the bytes of an answer. The latter are those of the SDK.
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)


@asynccontextmanager
async def http_transport(
    url: str, headers: Mapping[str, str] | None, auth: httpx2.Auth | None, on_expired: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """Yield the streams of a server at a URL. ``headers``: of each request. ``on_expired``: called when the server does
    not know the session any more.
    """
    transport = _Bounded(on_expired)
    client = httpx2.AsyncClient(headers=dict(headers or {}), auth=auth, timeout=_TIMEOUT, transport=transport)
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams:
        yield streams


class _Bounded(httpx2.AsyncHTTPTransport):
    """Limits the size of a response, except for streams of events, each of which the SDK limits."""

    def __init__(self, on_expired: Callable[[], None]) -> None:
        super().__init__()
        self._on_expired = on_expired

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            sending = current_sending.get()
            if sending is not None and request.method == "POST":  # a GET resumes the answer to a request that was sent
                sending.is_unsent = True
            raise
        # https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            self._on_expired()
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_MESSAGE:
                raise httpx2.DecodingError(f"the response has more than {MAX_MESSAGE >> 20} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
