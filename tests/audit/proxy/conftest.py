"""The proxy in a thread, an upstream that the test controls byte by byte, and a client that shows every byte."""

from __future__ import annotations

import http.client
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Self

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from toolparity.audit.proxy.forward import Upstream
from toolparity.audit.proxy.judgement import Judgement
from toolparity.audit.proxy.observer import Limits, Observer
from toolparity.audit.proxy.server import Addresses, ProxyServer

#: How long a test waits for what must happen, in seconds.
PATIENCE = 30.0
POST = b"POST /v1/x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
UPGRADE = b"GET /v1/realtime HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n"


class Judgements(list[Judgement]):
    """A sink that keeps the judgements."""

    def __call__(self, judgement: Judgement) -> None:
        self.append(judgement)

    def wait(self, count: int) -> list[Judgement]:
        """Return the judgements when there are so many of them, in the order of the requests."""
        wait_until(lambda: len(self) >= count)
        return sorted(self, key=lambda judgement: judgement.number)


class Peer:
    """The upstream's side of one connection, with the request that arrived on it."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.socket.settimeout(PATIENCE)
        self._rest = bytearray()
        self.head = self._until(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in self.head.lower().split(b"\r\n")[1:] if line)
        self.body = self._read(int(fields.get(b"content-length", 0)))
        if fields.get(b"transfer-encoding") == b"chunked":
            self.body = self._until(b"0\r\n\r\n")

    def send(self, data: bytes) -> None:
        """Send bytes at once."""
        self.socket.sendall(data)

    def wait_for_close(self) -> None:
        """Return when the other side has closed the connection."""
        with suppress(ConnectionError):
            assert self.socket.recv(1) == b""

    def _until(self, end: bytes) -> bytes:
        while end not in self._rest:
            self._receive()
        return self._read(self._rest.index(end) + len(end))

    def _read(self, count: int) -> bytes:
        while len(self._rest) < count:
            self._receive()
        data = bytes(self._rest[:count])
        del self._rest[:count]
        return data

    def _receive(self) -> None:
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError
        self._rest += data


class ScriptedUpstream(socketserver.ThreadingTCPServer):
    """A server that runs ``answer`` in a thread for each connection, and then closes the connection."""

    request_queue_size = 128

    def __init__(self, answer: Callable[[Peer], None]) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self._answer = answer
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.errors: list[BaseException | None] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,)).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self.shutdown()
        self.server_close()  # when all threads have ended
        if kind is None:
            assert not self.errors, self.errors

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            peer = Peer(request)
        except ConnectionError:  # a connection without a request
            return
        self._answer(peer)

    def shutdown_request(self, request: Any) -> None:
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.errors.append(sys.exception())


class Proxied:
    """A running proxy."""

    def __init__(self, server: ProxyServer, observer: Observer, judgements: Judgements) -> None:
        self.server, self.observer, self.judgements = server, observer, judgements
        self.url, self.page_url = server.url, server.page_url

    def raw(self, request: bytes) -> bytes:
        """Send bytes, and return everything that comes back until the connection is closed."""
        with self.connection() as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def connection(self) -> socket.socket:
        """Return a connection to the proxy."""
        url = httpx2.URL(self.url)
        return socket.create_connection((url.host, url.port or 80), PATIENCE)

    @contextmanager
    def posted(self) -> Iterator[http.client.HTTPResponse]:
        """Send `POST`, and give the response when its header section has arrived."""
        with self.connection() as connection:
            connection.sendall(POST)
            response = http.client.HTTPResponse(connection)
            response.begin()
            yield response


class _SharedObserver(Observer):
    """An observer, with its process, for one proxy after the other. Each has its own judgements."""

    def __init__(self) -> None:
        self.judgements = Judgements()
        self._taken = 0
        super().__init__([self._take])

    def drain(self) -> None:
        """Return when every exchange has its judgement, so that none reaches the next proxy."""
        wait_until(lambda: self._taken == self.exchanges)

    def _take(self, judgement: Judgement) -> None:
        self.judgements(judgement)
        self._taken += 1


_shared: list[_SharedObserver] = []


@pytest.fixture(scope="session", autouse=True)
def _close_shared_observer() -> Iterator[None]:
    yield
    while _shared:
        _shared.pop().close()


@contextmanager
def _observing(judgements: Judgements) -> Iterator[Observer]:
    """Give the shared observer, or a separate one if a proxy around this one uses that."""
    observer = _shared.pop() if _shared else _SharedObserver()
    observer.judgements = judgements
    try:
        yield observer
        observer.drain()
    except BaseException:
        observer.close()
        raise
    _shared.append(observer)


async def _no_page(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("these tests do not open the page")


@contextmanager
def proxying(
    upstream: str,
    *,
    limits: Limits | None = None,
    page: ASGIApp = _no_page,
    addresses: Addresses | None = None,
    observer: Observer | None = None,
    judgements: Judgements | None = None,
    on_stop: Callable[[], None] = lambda: None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> Iterator[Proxied]:
    """Run a proxy while the block runs. Without ``observer`` and ``limits`` its judge has judged for others before."""
    judgements = Judgements() if judgements is None else judgements
    with ExitStack() as stack:
        if observer is None:
            own = _observing(judgements) if limits is None else Observer([judgements], limits=limits)
            observer = stack.enter_context(own)
        server = ProxyServer(Upstream.of(upstream), observer, page, addresses or Addresses(), on_stop, transport)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield Proxied(server, observer, judgements)
        finally:
            server.stop()
            thread.join(PATIENCE)
            assert not thread.is_alive()


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "this did not happen in time"
        time.sleep(0.01)
