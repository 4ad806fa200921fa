"""An HTTP/1.1 server that sends prepared responses: the upstream's side of a connection.

A run sends tens of thousands of small chunks. A web framework spends more time on each chunk than the judge does, so
h11 parses the requests only, and the responses are written directly.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from http.client import responses

import h11
from msgspec import Struct

from toolparity.normalizer import json_codec

#: The number of chunks in one write. One write for each chunk costs a system call for each event of a stream.
_CHUNKS_PER_WRITE = 8


class HttpRequest(Struct, frozen=True):
    """A request. ``headers``: by their names in lower case; different values of a repeated one are joined by commas.

    ``query``: what follows the path, without its question mark.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""


class HttpResponse(Struct, frozen=True):
    """A response. ``pieces``: the body; a stream sends each one as an HTTP chunk.

    ``slowly``: yields the pieces of a stream when they are due, instead of all at once.
    """

    pieces: Sequence[bytes]
    status: int = 200
    stream: bool = False
    headers: Mapping[str, str] = {}
    slowly: Callable[[Sequence[bytes]], AsyncIterator[bytes]] | None = None


def json_response(value: object, status: int = 200) -> HttpResponse:
    """Return a response with a JSON body."""
    return HttpResponse([json_codec.encode(value)], status)


class HttpServer:
    """The server. ``respond``: returns the response to a request; it must not block."""

    def __init__(self, respond: Callable[[HttpRequest], HttpResponse]) -> None:
        self._respond = respond
        self._server: asyncio.Server | None = None
        self._open: set[_Connection] = set()

    async def start(self, listener: socket.socket) -> None:
        """Accept connections of a listening socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self._respond, self._open), sock=listener)

    async def stop(self) -> None:
        """Stop, and close the open connections."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._open):
            connection.abort()


class _Connection(asyncio.Protocol):
    def __init__(self, respond: Callable[[HttpRequest], HttpResponse], open: set[_Connection]) -> None:
        self._respond = respond
        self._open = open
        self._transport: asyncio.Transport | None = None
        self._parser = h11.Connection(h11.SERVER)
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._sending: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._open.discard(self)
        if self._sending is not None:
            self._sending.cancel()

    def abort(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._parser.receive_data(data)
        self._read_events(self._transport)

    def _read_events(self, transport: asyncio.Transport) -> None:
        try:
            while self._read_event(transport):
                pass
        except h11.RemoteProtocolError as error:
            transport.writelines(_encoded(json_response({"error": str(error)}, 400)))
            transport.close()

    def _read_event(self, transport: asyncio.Transport) -> bool:
        """Handle the next event of the client. Return whether there may be another one."""
        event = self._parser.next_event()
        if isinstance(event, h11.Request):
            self._head = event
            self._body.clear()
            if self._parser.they_are_waiting_for_100_continue:
                transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif isinstance(event, h11.Data):
            self._body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return self._answer(transport)
        else:
            return False
        return True

    def _answer(self, transport: asyncio.Transport) -> bool:
        assert self._head is not None
        headers: dict[str, str] = {}
        for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in self._head.headers):
            known = headers.setdefault(name, value)
            headers[name] = known if known == value else f"{known}, {value}"
        path, _, query = self._head.target.decode("latin-1").partition("?")
        request = HttpRequest(self._head.method.decode("latin-1"), path, headers, bytes(self._body), query)
        response = self._respond(request)
        if response.slowly is not None:
            self._sending = asyncio.create_task(self._send_slowly(transport, response))
            return False
        for written in _encoded(response):
            transport.write(written)
        return self._continue(transport)

    async def _send_slowly(self, transport: asyncio.Transport, response: HttpResponse) -> None:
        assert response.slowly is not None
        transport.write(_head(response))
        async for piece in response.slowly(response.pieces):
            transport.write(_chunk(piece))
        transport.write(_chunk(b""))
        if self._continue(transport):
            self._read_events(transport)

    def _continue(self, transport: asyncio.Transport) -> bool:
        """Prepare for the next request after a response. Return whether it may have arrived already."""
        assert self._head is not None
        if dict(self._head.headers).get(b"connection", b"").lower() == b"close" or self._head.http_version == b"1.0":
            transport.close()
            return False
        rest, _ = self._parser.trailing_data
        self._parser = h11.Connection(h11.SERVER)
        if rest:
            self._parser.receive_data(rest)
        return bool(rest)


def _head(response: HttpResponse) -> bytes:
    """Return the status line and the header of a response."""
    kind = "text/event-stream" if response.stream else "application/json"
    size = "transfer-encoding: chunked" if response.stream else f"content-length: {sum(map(len, response.pieces))}"
    more = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
    line = f"HTTP/1.1 {response.status} {responses.get(response.status, '')}"
    return f"{line}\r\ncontent-type: {kind}\r\n{size}\r\n{more}\r\n".encode()


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _encoded(response: HttpResponse) -> Iterator[bytes]:
    """Yield the bytes of a response, write by write."""
    if not response.stream:
        yield _head(response) + b"".join(response.pieces)
        return
    yield _head(response)
    chunks = [*map(_chunk, filter(None, response.pieces)), _chunk(b"")]
    for start in range(0, len(chunks), _CHUNKS_PER_WRITE):
        yield b"".join(chunks[start : start + _CHUNKS_PER_WRITE])
