"""An upstream on TLS that speaks HTTP/2, or HTTP/1.1 if that is all it offers."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import StreamClosedError

from tests.audit.proxy.conftest import PATIENCE
from tests.support.programs import needed

Headers = list[tuple[bytes, bytes]]


class Stream:
    """One exchange on the upstream's side. ``request``: its header fields; ``body``: that of the request."""

    def __init__(self, connection: Connection, number: int, request: Headers) -> None:
        self._connection = connection
        self.number = number
        self.request = request
        self.body = b""
        self.sent = 0
        self.reset = threading.Event()
        self._data = b""
        self._ending = False

    def start(self, headers: Headers) -> None:
        """Send the header section."""
        self._connection.state.send_headers(self.number, headers)

    def send(self, data: bytes, *, end: bool = False) -> None:
        """Send a part of the body, as far as the flow control of the other side permits; the rest follows later."""
        self._data += data
        self._ending = end
        self.flush()

    def break_off(self) -> None:
        """Reset the stream."""
        self._connection.state.reset_stream(self.number, 2)

    def flush(self) -> None:
        """Send what may be sent now."""
        state = self._connection.state
        while rest := len(self._data) - self.sent:
            size = min(rest, state.local_flow_control_window(self.number), 16_384)
            if not size:
                return
            state.send_data(self.number, self._data[self.sent : self.sent + size])
            self.sent += size
        if self._ending:
            self._ending = False
            state.end_stream(self.number)


class Connection:
    """One connection of HTTP/2, in its own thread."""

    def __init__(self, network: ssl.SSLSocket, answer: Callable[[Stream], None]) -> None:
        self.state = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.streams: dict[int, Stream] = {}
        self._network = network
        self._answer = answer

    def serve(self) -> None:
        """Answer until the other side closes."""
        self.state.initiate_connection()
        self._network.sendall(self.state.data_to_send())
        while data := self._network.recv(1 << 16):
            for event in self.state.receive_data(data):
                self._handle(event)
            for stream in list(self.streams.values()):
                try:
                    stream.flush()
                except StreamClosedError:
                    del self.streams[stream.number]
            self._network.sendall(self.state.data_to_send())

    def _handle(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            assert event.stream_id is not None
            assert event.headers is not None
            self.streams[event.stream_id] = Stream(self, event.stream_id, [*map(tuple, event.headers)])
        elif isinstance(event, DataReceived):
            assert event.data is not None
            assert event.stream_id is not None
            self.streams[event.stream_id].body += event.data
            self.state.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
        elif isinstance(event, StreamEnded):
            assert event.stream_id is not None
            self._answer(self.streams[event.stream_id])
        elif isinstance(event, StreamReset):
            assert event.stream_id is not None
            self.streams.pop(event.stream_id).reset.set()


class Http2Upstream:
    """Runs ``answer`` for each request, in the thread of its connection, until the end of the block.

    ``protocols``: what it offers. Without h2, it answers every request over HTTP/1.1 with "over 1.1". ``trusting``:
    returns a context that trusts it.
    """

    def __init__(self, folder: Path, answer: Callable[[Stream], None], protocols: tuple[str, ...] = ("h2",)) -> None:
        certificate, key = _certificate(folder)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate, key)
        self._context.set_alpn_protocols(list(protocols))
        self.trusting = lambda: ssl.create_default_context(cafile=certificate)
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections: list[Connection] = []
        self._networks: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Http2Upstream:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _accept(self) -> None:
        while True:
            try:
                network, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(network,)))
            self._threads[-1].start()

    def _serve(self, plain: socket.socket) -> None:
        plain.settimeout(PATIENCE)
        try:
            with self._context.wrap_socket(plain, server_side=True) as network:
                if network.selected_alpn_protocol() == "h2":
                    connection = Connection(network, self._answer)
                    self.connections.append(connection)
                    connection.serve()
                elif network.recv(1 << 16):
                    network.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nover 1.1")
                    network.recv(1)
        except OSError:
            pass  # the other side closed the connection, or left it idle


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a new certificate for this machine, and of its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [needed("openssl", what="OpenSSL's command"), "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key
