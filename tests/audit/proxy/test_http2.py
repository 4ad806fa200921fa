"""An upstream on TLS: HTTP/2 if it offers that, and the same promises as over HTTP/1.1."""

from __future__ import annotations

import asyncio
import http.client
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import StreamClosedError

from tests.audit.proxy.conftest import PATIENCE, POST, Peer, Proxied, ScriptedUpstream, proxying, wait_until
from tests.support.programs import needed
from toolparity.audit.proxy.negotiation import NegotiatingTransport

pytestmark = pytest.mark.service("audit/proxy")

Headers = list[tuple[bytes, bytes]]
_OK = [(b":status", b"200"), (b"content-type", b"text/event-stream")]
_BODY = bytes(range(256)) * 1000


class Stream:
    """One exchange on the upstream's side. ``request``: its header fields; ``body``: that of the request."""

    def __init__(self, state: H2Connection, number: int, request: Headers) -> None:
        self.state, self.number, self.request = state, number, request
        self.body, self.sent, self.reset = b"", 0, threading.Event()
        self._data, self._ending = b"", False

    def start(self, headers: Headers) -> None:
        """Send the header section."""
        self.state.send_headers(self.number, headers)

    def send(self, data: bytes, *, end: bool = False) -> None:
        """Send a part of the body, as far as the flow control of the other side permits; the rest follows later."""
        self._data, self._ending = self._data + data, end
        self.flush()

    def flush(self) -> None:
        """Send what may be sent now."""
        while rest := len(self._data) - self.sent:
            size = min(rest, self.state.local_flow_control_window(self.number), 16_384)
            if not size:
                return
            self.state.send_data(self.number, self._data[self.sent : self.sent + size])
            self.sent += size
        if self._ending:
            self._ending = False
            self.state.end_stream(self.number)


class Connection:
    """One connection of HTTP/2, in its own thread."""

    def __init__(self, network: ssl.SSLSocket, answer: Callable[[Stream], None]) -> None:
        self.state = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.streams: dict[int, Stream] = {}
        self._network, self._answer = network, answer

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

    def _handle(self, event: Any) -> None:
        kind, streams = type(event), self.streams
        if kind is RequestReceived:
            streams[event.stream_id] = Stream(self.state, event.stream_id, [*map(tuple, event.headers)])
        elif kind is DataReceived:
            streams[event.stream_id].body += event.data
            self.state.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
        elif kind is StreamEnded:
            self._answer(streams[event.stream_id])
        elif kind is StreamReset:
            streams.pop(event.stream_id).reset.set()


class Http2Upstream(ScriptedUpstream):
    """Runs ``answer`` for each request, in the thread of its connection, until the end of the block.

    ``protocols``: what it offers. Without h2, it answers every request over HTTP/1.1 with "over 1.1". ``trusting``:
    returns a context that trusts it.
    """

    def __init__(self, folder: Path, answer: Callable[[Stream], None], protocols: Sequence[str] = ("h2",)) -> None:
        super().__init__(Peer.wait_for_close)
        certificate, key = _certificate(folder)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate, key)
        self._context.set_alpn_protocols(list(protocols))
        self.trusting = lambda: ssl.create_default_context(cafile=certificate)
        self._answer_stream = answer
        self.url = self.url.replace("http:", "https:")
        self.connections: list[Connection] = []

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(PATIENCE)
        with suppress(OSError), self._context.wrap_socket(request, server_side=True) as network:
            if network.selected_alpn_protocol() == "h2":
                self.connections.append(Connection(network, self._answer_stream))
                self.connections[-1].serve()
            elif network.recv(1 << 16):
                network.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nover 1.1")
                network.recv(1)  # the other side closes, or leaves the connection idle


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a new certificate for this machine, and of its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [needed("openssl", what="OpenSSL's command"), "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


@contextmanager
def _proxied(
    folder: Path, answer: Callable[[Stream], None], protocols: Sequence[str] = ("h2", "http/1.1"), http2: bool = True
) -> Iterator[tuple[Proxied, Http2Upstream]]:
    with Http2Upstream(folder, answer, protocols) as upstream:
        transport = NegotiatingTransport(http2=http2, contexts=upstream.trusting)
        with proxying(upstream.url + "/base", transport=transport) as proxy:
            yield proxy, upstream


def _echo(stream: Stream) -> None:
    stream.start([*_OK, (b"x-request-id", b"r1"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")])
    stream.send(stream.body, end=True)


def _begin(stream: Stream) -> None:
    stream.start(_OK)
    stream.send(b"data: {}\n\n")


def test_an_exchange_over_http_2_is_unchanged(tmp_path: Path) -> None:
    streams: list[Stream] = []  # the connection forgets a stream that is closed

    def answer(stream: Stream) -> None:
        streams.append(stream)
        _echo(stream)

    with _proxied(tmp_path, answer) as (proxy, upstream):
        headers = {"authorization": "Bearer k", "x-twice": "1"}
        response = httpx2.post(f"{proxy.url}/v1/a%2Fb?x=%20+&y", content=_BODY, headers=headers, timeout=PATIENCE)
        request = dict(streams[0].request)
        (judgement,) = proxy.judgements.wait(1)
        of_unknown_length = httpx2.post(proxy.url, content=iter([_BODY, b"end"]), timeout=PATIENCE)
    assert (response.status_code, response.content, of_unknown_length.content) == (200, _BODY, _BODY + b"end")
    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert request[b":path"] == b"/base/v1/a%2Fb?x=%20+&y"
    assert request[b":authority"] == upstream.url.removeprefix("https://").encode()
    assert (request[b"authorization"], request[b"x-twice"]) == (b"Bearer k", b"1")
    assert judgement.ending == "complete"


@pytest.mark.parametrize(("protocols", "http2"), [(["http/1.1"], True), ([], True), (["h2", "http/1.1"], False)])
def test_a_server_without_http_2_or_a_proxy_that_does_not_want_it_gets_http_1_1(
    tmp_path: Path, protocols: Sequence[str], http2: bool
) -> None:
    with _proxied(tmp_path, _echo, protocols, http2) as (proxy, upstream):
        response = httpx2.post(proxy.url, content=b"{}", timeout=PATIENCE)
    assert response.content == b"over 1.1"
    assert upstream.connections == []


def test_a_request_for_a_websocket_uses_http_1_1(tmp_path: Path) -> None:
    with _proxied(tmp_path, _echo) as (proxy, _):
        response = httpx2.get(proxy.url, headers={"connection": "Upgrade", "upgrade": "websocket"}, timeout=PATIENCE)
    assert response.content == b"over 1.1"


def test_a_server_that_is_not_trusted_gets_no_request(tmp_path: Path) -> None:
    with Http2Upstream(tmp_path, _echo) as upstream, proxying(upstream.url) as proxy:
        response = httpx2.post(proxy.url, content=b"{}", timeout=PATIENCE)
    assert (response.status_code, response.headers["x-toolparity-proxy"]) == (502, "upstream-unreachable")
    assert not any(connection.streams for connection in upstream.connections)


async def _all(url: str, count: int) -> list[bytes]:
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        responses = await asyncio.gather(*(client.post(url, content=b"%d" % number * 9999) for number in range(count)))
        return [response.content for response in responses]


def test_streams_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    with _proxied(tmp_path, _echo) as (proxy, upstream):
        bodies = asyncio.run(_all(proxy.url, 80))
        used = [connection for connection in upstream.connections if connection.streams]
    assert bodies == [b"%d" % number * 9999 for number in range(80)]
    assert len(used) < 80


def test_a_client_that_leaves_resets_its_stream_and_no_other(tmp_path: Path) -> None:
    streams: list[Stream] = []

    def answer(stream: Stream) -> None:
        streams.append(stream)
        _begin(stream) if len(streams) == 1 else _echo(stream)

    with _proxied(tmp_path, answer) as (proxy, _):
        with httpx2.stream("POST", proxy.url, content=b"{}", timeout=PATIENCE) as response:
            assert next(response.iter_raw()) == b"data: {}\n\n"
        assert streams[0].reset.wait(PATIENCE)
        assert httpx2.post(proxy.url, content=b"more", timeout=PATIENCE).content == b"more"
        judgements = proxy.judgements.wait(2)
    assert [judgement.ending for judgement in judgements] == ["client-left", "complete"]


def test_a_stream_that_the_upstream_resets_breaks_off_at_the_client(tmp_path: Path) -> None:
    def answer(stream: Stream) -> None:
        _begin(stream)
        stream.state.reset_stream(stream.number, 2)

    with _proxied(tmp_path, answer) as (proxy, _), proxy.posted() as response:
        with pytest.raises(http.client.IncompleteRead):
            response.read()
        (judgement,) = proxy.judgements.wait(1)
    assert judgement.ending == "upstream-broke"


def test_a_client_that_does_not_read_holds_up_its_stream_and_no_other(tmp_path: Path) -> None:
    huge, streams = b"x" * 60_000_000, list[Stream]()

    def answer(stream: Stream) -> None:
        streams.append(stream)
        stream.start(_OK)
        stream.send(huge if len(streams) == 1 else b"small", end=True)

    with _proxied(tmp_path, answer) as (proxy, _), proxy.connection() as connection:
        connection.sendall(POST)
        wait_until(lambda: bool(streams))
        for _ in range(20):
            assert httpx2.post(proxy.url, content=b"{}", timeout=PATIENCE).content == b"small"
        assert streams[0].sent < 30_000_000
