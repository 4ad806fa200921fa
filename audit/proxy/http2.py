"""A transport for HTTP/2 on TLS, with several exchanges at a time on one connection (the package h2).

The one of httpx2 does not reset the stream of a response that is given up, so that the provider continues to generate
it. Here, a stream is reset at once, and one that is not read holds up no other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import cast

import h2.events as h2
import httpx2
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import H2Error
from h2.settings import SettingCodes

from .connecting import Server, connect
from .headers import RawHeaders

#: Fields of the application's request that HTTP/2 has other means for.
_REPLACED = frozenset((b"host", b"transfer-encoding"))
#: How many more bytes of all streams of a connection may wait for clients. Those of one stream are 64 KB.
_CONNECTION_WINDOW = 1 << 24
#: How long a connection without a stream stays open, in seconds.
_IDLE_SECONDS = 30.0
#: The most streams of a connection whose server sets no limit.
_MOST_STREAMS = 100


class Http2Transport(httpx2.AsyncBaseTransport):
    """Sends requests over HTTP/2. ``context`` must offer it. Errors are those of httpx2."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._connections: dict[Server, list[_Connection]] = {}
        self._connecting = asyncio.Lock()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        stream = await self._open(request)
        try:
            await _send_body(stream, request)
            await stream.headed()
        except BaseException:
            stream.close()
            raise
        return httpx2.Response(stream.status, headers=stream.headers, stream=_ResponseBody(stream))

    async def aclose(self) -> None:
        for connections in self._connections.values():
            for connection in connections:
                connection.abort()

    async def _open(self, request: httpx2.Request) -> _Stream:
        """Send the header section on a connection that takes another stream."""
        server = Server.of(request.url)
        async with self._connecting:
            open_ = [one for one in self._connections.get(server, ()) if one.usable]
            connection = next((one for one in open_ if one.has_room), None)
            if connection is None:
                seconds = request.extensions["timeout"]["connect"]
                connection = await connect(_Connection, server, self._context, seconds)
                open_.append(connection)
            self._connections[server] = open_
            await connection.greeted()
            try:
                return connection.open(_fields(request))
            except H2Error as error:  # for instance, there are no more numbers for streams
                connection.leaving = True
                raise httpx2.LocalProtocolError(type(error).__name__) from error


def _fields(request: httpx2.Request) -> RawHeaders:
    headers = request.headers.raw
    host = next(value for name, value in headers if name.lower() == b"host")
    pseudo = [
        (b":method", request.method.encode()),
        (b":authority", host),
        (b":scheme", b"https"),
        (b":path", request.extensions["target"]),
    ]
    return [*pseudo, *((name.lower(), value) for name, value in headers if name.lower() not in _REPLACED)]


async def _send_body(stream: _Stream, request: httpx2.Request) -> None:
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    async for data in request.stream:
        await stream.send(data)
    stream.end()


class _ResponseBody(httpx2.AsyncByteStream):
    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self._stream.piece():
            yield data

    async def aclose(self) -> None:
        self._stream.close()


class _Stream:
    """One exchange."""

    def __init__(self, connection: _Connection, number: int) -> None:
        self.status = 0
        self.headers: RawHeaders = []
        self._connection = connection
        self._number = number
        self._pieces: list[bytes] = []
        self._unacknowledged = 0
        self._ended = False
        self._complete = False
        self._error: Exception | None = None
        self._news = asyncio.Event()

    async def send(self, data: bytes) -> None:
        """Send a piece of the request body, as fast as the server takes it."""
        rest = memoryview(data)
        while rest and not self._over:
            size = self._connection.sendable(self._number)
            if size <= 0:
                await self._wait()
                continue
            self._connection.send(self._number, bytes(rest[:size]))
            rest = rest[size:]
            await self._connection.written()

    def end(self) -> None:
        """End the request."""
        if not self._over:
            self._ended = True
            self._connection.send(self._number, b"", end=True)

    async def headed(self) -> None:
        """Wait for the header section of the response. Raises an error of httpx2 if there is none."""
        while not self.status:
            await self._wait()

    async def piece(self) -> bytes:
        """Return what arrived of the body, and b"" at its end. Raises an error of httpx2 if it breaks off."""
        while not self._pieces:
            if self._complete:
                return b""
            await self._wait()
        data, self._pieces = b"".join(self._pieces), []
        self._connection.acknowledge(self._number, self._unacknowledged)
        self._unacknowledged = 0
        return data

    def close(self) -> None:
        """Give up the rest of the response, if there is one."""
        reset = self._error is None and not (self._complete and self._ended)
        self._connection.forget(self._number, self._unacknowledged, reset=reset)

    def receive_head(self, headers: RawHeaders) -> None:
        """Take the header section of the response."""
        self.headers = [(name, value) for name, value in headers if not name.startswith(b":")]
        self.status = int(next(value for name, value in headers if name == b":status"))
        self._news.set()

    def receive(self, data: bytes, size: int) -> None:
        """Take a piece of the body. ``size``: what it counts in the flow control."""
        self._unacknowledged += size
        if data:
            self._pieces.append(data)
            self._news.set()

    def receive_end(self) -> None:
        """Take the end of the body."""
        self._complete = True
        self._news.set()

    def fail(self, error: Exception) -> None:
        """Break off."""
        if not self._complete and self._error is None:
            self._error = error
        self._news.set()

    def wake(self) -> None:
        """Continue to send, if the server takes more now."""
        self._news.set()

    @property
    def _over(self) -> bool:
        return self._complete or self._error is not None

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._news.clear()
        await self._news.wait()


class _Connection(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self.leaving = False
        self._state = H2Connection(H2Configuration(header_encoding=None, validate_inbound_headers=False))
        self._streams: dict[int, _Stream] = {}
        self._network: asyncio.Transport | None = None
        self._greeted = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def usable(self) -> bool:
        """Whether new streams may be opened, now or later."""
        return self._network is not None and not self.leaving

    @property
    def has_room(self) -> bool:
        """Whether a stream may be opened now."""
        return len(self._streams) < min(self._state.remote_settings.max_concurrent_streams, _MOST_STREAMS)

    async def greeted(self) -> None:
        """Wait for the settings of the server. Raises an error of httpx2 if it closes the connection instead."""
        await self._greeted.wait()
        if self._network is None:
            raise httpx2.RemoteProtocolError("the server closed the connection")

    def open(self, headers: RawHeaders) -> _Stream:
        """Send the header section of a request. Raises an error of h2."""
        number = self._state.get_next_available_stream_id()
        self._state.send_headers(number, headers)
        self._streams[number] = stream = _Stream(self, number)
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._flush()
        return stream

    def sendable(self, number: int) -> int:
        """Return how many bytes of a stream the server takes now, at most one frame."""
        return min(self._state.local_flow_control_window(number), self._state.max_outbound_frame_size)

    def send(self, number: int, data: bytes, *, end: bool = False) -> None:
        """Send a part of a request body."""
        self._state.send_data(number, data, end_stream=end)
        self._flush()

    async def written(self) -> None:
        """Return when the network takes more bytes."""
        await self._writable.wait()

    def acknowledge(self, number: int, size: int) -> None:
        """Permit the server to send as many bytes again."""
        if size and self._network is not None:
            self._state.acknowledge_received_data(size, number)
            self._flush()

    def forget(self, number: int, unacknowledged: int, *, reset: bool) -> None:
        """End a stream on this side. ``unacknowledged``: bytes that were not taken from it."""
        if self._streams.pop(number, None) is None or self._network is None:
            return
        self.acknowledge(number, unacknowledged)
        if reset:
            self._state.reset_stream(number, ErrorCodes.CANCEL)
            self._flush()
        if not self._streams:
            if self.leaving:
                self.abort()
            else:
                self._expiry = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self.abort)

    def abort(self) -> None:
        """Close the connection at once."""
        if self._network is not None:
            self._network.abort()
            self._network = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._network = cast(asyncio.Transport, transport)  # those of uvloop are not of that class
        self._state.local_settings[SettingCodes.ENABLE_PUSH] = 0
        self._state.initiate_connection()
        self._state.increment_flow_control_window(_CONNECTION_WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._state.receive_data(data):
                self._handle(event)
        except H2Error as error:
            self._fail(httpx2.RemoteProtocolError(type(error).__name__))
            self._flush()
            self.abort()
            return
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._network = None
        self._fail(httpx2.RemoteProtocolError("the server closed the connection"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _handle(self, event: h2.Event) -> None:
        if isinstance(event, h2.ConnectionTerminated):
            self._leave(event.last_stream_id or 0)
            return
        number = getattr(event, "stream_id", None)
        stream = self._streams.get(number or 0)
        if isinstance(event, h2.RemoteSettingsChanged):
            self._greeted.set()
            self._wake()
        elif isinstance(event, h2.WindowUpdated) and not number:
            self._wake()
        elif stream is None:
            return  # it was given up
        elif isinstance(event, h2.ResponseReceived):
            stream.receive_head(cast(RawHeaders, event.headers or []))
        elif isinstance(event, h2.DataReceived):
            stream.receive(event.data or b"", event.flow_controlled_length or 0)
        elif isinstance(event, h2.StreamEnded):
            stream.receive_end()
        elif isinstance(event, h2.StreamReset):
            stream.fail(httpx2.RemoteProtocolError("the server reset the stream"))
        elif isinstance(event, h2.WindowUpdated):
            stream.wake()

    def _leave(self, last: int) -> None:
        """Open no more streams. The server does not answer those after ``last``."""
        self.leaving = True
        for number, stream in list(self._streams.items()):
            if number > last:
                stream.fail(httpx2.RemoteProtocolError("the server closes the connection"))

    def _wake(self) -> None:
        for stream in self._streams.values():
            stream.wake()

    def _fail(self, error: Exception) -> None:
        self.leaving = True
        self._greeted.set()
        self._writable.set()
        for stream in list(self._streams.values()):
            stream.fail(error)

    def _flush(self) -> None:
        if self._network is not None and (data := self._state.data_to_send()):
            self._network.write(data)
