"""HTTP/2 for an ASGI application: the part that uvicorn lacks.

Some SDKs speak HTTP/2 without asking first: AWS's SDK for JavaScript sends Bedrock's requests so, and others do on TLS.
A connection that begins with the preface of HTTP/2 (RFC 9113, section 3.4) is passed to `Http2Connection`.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import H2Error

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: Header fields of HTTP/1.1 that HTTP/2 forbids (RFC 9113, section 8.2.2).
_OF_HTTP1 = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))

_Message = MutableMapping[str, Any]


class _Protocol(H2Connection):
    """The protocol. It serves the open streams of a client that opens no more (RFC 9113, section 6.8)."""

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[Event]]:
        """Return the event. h2 also closes its state, and would send nothing more."""
        if frame.error_code != ErrorCodes.NO_ERROR:
            return super()._receive_goaway_frame(frame)
        event = ConnectionTerminated()
        event.error_code = ErrorCodes.NO_ERROR
        return [], [event]


class Http2Connection(asyncio.Protocol):
    """One connection. ``state``: the state of its requests (ASGI). ``connections``: uvicorn's open connections."""

    def __init__(self, app: Any, connections: set[Any], state: dict[str, Any]) -> None:
        self._app = app
        self._connections = connections
        self._state = state
        self._h2 = _Protocol(H2Configuration(client_side=False, header_encoding=None))
        self._streams: dict[int, _Stream] = {}
        self._writable = asyncio.Event()
        self._writable.set()
        self._ends = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._connections.add(self)
        self._h2.initiate_connection()
        self.flush()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        self._writable.set()
        for stream in self._streams.values():
            stream.disconnect()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def shutdown(self) -> None:
        """Close the connection, as uvicorn closes those of HTTP/1.1."""
        if self.transport is not None:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._h2.receive_data(data):
                self._handle(event)
        except H2Error:
            self.flush()
            self.shutdown()
            return
        self.flush()

    def _handle(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            stream = _Stream(self, self._h2, event.stream_id)
            self._streams[event.stream_id] = stream
            stream.task = asyncio.ensure_future(self._run(stream, self._scope(event.headers)))
        elif isinstance(event, WindowUpdated):
            for stream in self._streams.values():
                stream.window.set()
        elif isinstance(event, ConnectionTerminated):
            self._end(event)
        elif isinstance(event, (DataReceived, StreamEnded, StreamReset)):
            if isinstance(event, DataReceived):
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if event.stream_id in self._streams:
                self._streams[event.stream_id].handle(event)

    def _end(self, event: ConnectionTerminated) -> None:
        """The client opens no more streams. After an error it also gives up those that are open (section 6.8)."""
        self._ends = True
        if event.error_code == ErrorCodes.NO_ERROR and self._streams:
            return
        for stream in self._streams.values():
            stream.disconnect()
        self.shutdown()

    async def _run(self, stream: _Stream, scope: _Message) -> None:
        try:
            await self._app(scope, stream.receive, stream.send)
        finally:
            del self._streams[stream.id]
            if not stream.over:
                self._h2.reset_stream(stream.id, ErrorCodes.INTERNAL_ERROR)
                self.flush()
            if self._ends and not self._streams:
                self.shutdown()

    def _scope(self, fields: list[tuple[bytes, bytes]]) -> _Message:
        assert self.transport is not None
        pseudo = {name: value for name, value in fields if name.startswith(b":")}
        headers = [(name, value) for name, value in fields if not name.startswith(b":") and name != b"host"]
        path, _, query = pseudo[b":path"].partition(b"?")
        host = pseudo.get(b":authority") or next((value for name, value in fields if name == b"host"), b"")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "2",
            "method": pseudo[b":method"].decode("latin-1"),
            "scheme": pseudo.get(b":scheme", b"http").decode("latin-1"),
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(b"host", host), *headers],
            "client": (self.transport.get_extra_info("peername") or ("", 0))[:2],
            "server": (self.transport.get_extra_info("sockname") or ("", 0))[:2],
            "state": dict(self._state),
        }

    def flush(self) -> None:
        """Send what HTTP/2 has to send."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(self._h2.data_to_send())

    async def writable(self) -> None:
        """Wait until the transport takes more data."""
        await self._writable.wait()


class _Stream:
    """One request and its response. ``over``: the response ended, or the client left."""

    def __init__(self, connection: Http2Connection, h2: H2Connection, id: int) -> None:
        self._connection = connection
        self._h2 = h2
        self._received: asyncio.Queue[_Message] = asyncio.Queue()
        self.id = id
        self.over = False
        self.window = asyncio.Event()
        self.task: asyncio.Future[None] | None = None

    def handle(self, event: DataReceived | StreamEnded | StreamReset) -> None:
        if isinstance(event, DataReceived):
            self._received.put_nowait({"type": "http.request", "body": event.data, "more_body": True})
        elif isinstance(event, StreamEnded):
            self._received.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        else:
            self.disconnect()

    def disconnect(self) -> None:
        """The client left."""
        self.over = True
        self.window.set()
        self._received.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> _Message:
        """See ASGI."""
        return await self._received.get()

    async def send(self, message: _Message) -> None:
        """See ASGI. A message after the end is ignored, as uvicorn does."""
        if self.over:
            return
        if message["type"] == "http.response.start":
            fields = [
                (name.lower(), value) for name, value in message.get("headers", ()) if name.lower() not in _OF_HTTP1
            ]
            self._h2.send_headers(self.id, [(b":status", str(message["status"]).encode()), *fields])
            self._connection.flush()
            return
        await self._send_data(memoryview(message.get("body", b"")))
        if not message.get("more_body") and not self.over:
            self.over = True
            self._h2.end_stream(self.id)
            self._connection.flush()

    async def _send_data(self, data: memoryview) -> None:
        while data and not self.over:
            size = min(self._h2.local_flow_control_window(self.id), self._h2.max_outbound_frame_size, len(data))
            if size == 0:
                self.window.clear()
                await self.window.wait()
                continue
            self._h2.send_data(self.id, bytes(data[:size]))
            self._connection.flush()
            data = data[size:]
            await self._connection.writable()
