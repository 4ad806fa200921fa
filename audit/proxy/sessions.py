"""WebSocket sessions: the handshake over HTTP/1.1, then the bytes of both directions as they arrive.

    client --> server.Connection --> Session.relay --> upstream
                                      |
                                   Copying.piece

Frames are not parsed on the way, so that extensions, control frames and close codes pass as they are. A direction is
read when the other side has taken what was read before.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import h11
import httpx2

from .connecting import Server, Streams, open_streams
from .copies import Copying, Direction, Ending
from .headers import RawHeaders, tokens_of, value_of

#: The field of a request that asks for a WebSocket, and the one that it needs. They concern one connection only.
UPGRADE, CONNECTION = (b"upgrade", b"websocket"), (b"connection", b"Upgrade")
#: The member of the extensions of a response that holds its `Session`.
EXTENSION = "toolparity.session"
SWITCHED = 101

#: How many bytes are read at a time. Twice as many wait for the other side.
PIECE = 1 << 16
#: The most bytes of a header section.
_LARGEST_HEAD = 256 << 10
#: How long one direction continues after the end of the other, in seconds. A WebSocket ends in both directions.
_HALF_OPEN_SECONDS = 30.0


def asks_for_websocket(method: str, version: str, headers: RawHeaders) -> bool:
    """Return whether a request asks for a WebSocket. A server may ignore other upgrades (RFC 9110, section 7.8)."""
    return (
        (method, version) == ("GET", "1.1")
        and b"upgrade" in tokens_of(headers, b"connection")
        and b"websocket" in tokens_of(headers, b"upgrade")
        and value_of(headers, b"content-length") in (None, "0")
        and value_of(headers, b"transfer-encoding") is None
    )


class Session:
    """A session on a connection to the upstream that has switched to WebSocket.

    ``received``: what has arrived after the header section. ``observe`` sets who copies it.
    """

    def __init__(self, upstream: Streams, received: bytes) -> None:
        self._upstream = upstream
        self._received = received
        self._copying: Copying | None = None
        self._cut: Callable[[], Ending] = lambda: "client-left"
        self._ending: Ending | None = None

    def observe(self, copying: Copying, cut: Callable[[], Ending]) -> None:
        """Have the session copied. ``cut``: returns how it ended if it is cancelled."""
        self._copying, self._cut = copying, cut

    async def relay(self, client: Streams) -> None:
        """Pass bytes until both sides have ended."""
        passing = (
            asyncio.ensure_future(self._pass(client, self._upstream, "sent")),
            asyncio.ensure_future(self._pass(self._upstream, client, "received", self._received)),
        )
        try:
            ended, others = await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            if others and all(task.result() for task in ended):
                await asyncio.wait(others, timeout=_HALF_OPEN_SECONDS)
        finally:  # without waiting, because the server can cancel this more than once
            for task in passing:
                task.cancel()
            client.writer.close()
            self._upstream.writer.close()
            if self._copying is not None:
                self._copying.end_session(self._ending or self._cut())

    async def _pass(self, source: Streams, target: Streams, direction: Direction, data: bytes = b"") -> bool:
        """Pass one direction, ``data`` first. Return False if a connection broke."""
        reader, writer = source.reader, target.writer
        intact = True
        try:
            while data := data or await reader.read(PIECE):
                if self._copying is not None:
                    self._copying.piece(direction, data)
                writer.write(data)
                await writer.drain()
                data = b""
            if writer.can_write_eof():
                writer.write_eof()
            else:  # TLS has no end of one direction
                writer.close()
        except OSError:
            intact = False
        if self._ending is None:
            of_source = reader.at_eof() or reader.exception() is not None
            self._ending = "client-left" if of_source == (direction == "sent") else "upstream-broke"
        return intact


class UpgradingTransport(httpx2.AsyncBaseTransport):
    """Sends requests that ask for a WebSocket, each over HTTP/1.1 on a new connection.

    A response with status 101 has a `Session` in its extensions. Any other response has a body, as usual.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        seconds = request.extensions["timeout"]["connect"]
        handshake = _Handshake(await open_streams(Server.of(request.url), self._context, seconds, PIECE))
        try:
            return await handshake.response(request)
        except BaseException:
            await handshake.aclose()
            raise


class _Handshake(httpx2.AsyncByteStream):
    """The exchange on a connection that may become a session, and the body of a response that refuses it."""

    def __init__(self, upstream: Streams) -> None:
        self._upstream = upstream
        self._http = h11.Connection(h11.CLIENT, _LARGEST_HEAD)

    async def response(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        async for _ in request.stream:  # nothing, but its end shows that the request is complete
            pass
        with _errors():
            target: bytes = request.extensions["target"]
            asked = h11.Request(method=request.method, target=target, headers=request.headers.raw)
            self._upstream.writer.write((self._http.send(asked) or b"") + (self._http.send(h11.EndOfMessage()) or b""))
            event = await self._event()
            while isinstance(event, h11.InformationalResponse) and event.status_code != SWITCHED:
                event = await self._event()
        if not isinstance(event, h11.Response | h11.InformationalResponse):
            raise httpx2.RemoteProtocolError("the server closed the connection")
        extensions = {}
        if event.status_code == SWITCHED:
            extensions[EXTENSION] = Session(self._upstream, self._http.trailing_data[0])
        headers = event.headers.raw_items()
        return httpx2.Response(event.status_code, headers=headers, stream=self, extensions=extensions)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors():
            while isinstance(event := await self._event(), h11.Data):
                yield bytes(event.data)

    async def aclose(self) -> None:
        self._upstream.writer.close()

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._upstream.reader.read(PIECE))
        return event


@contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of httpx2, without texts, which may have header fields."""
    try:
        yield
    except (h11.ProtocolError, OSError) as error:
        raise httpx2.RemoteProtocolError(type(error).__name__) from error
