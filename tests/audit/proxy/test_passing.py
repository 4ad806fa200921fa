"""What passes through the proxy is unchanged, piece by piece, whatever either side does."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from tests.audit.proxy.conftest import PATIENCE, POST, UPGRADE, Peer, Proxied, ScriptedUpstream, proxying, wait_until
from tests.support.thoroughness import is_thorough
from toolparity.audit.proxy.server import Addresses

_STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _received(proxy: Proxied, request: bytes) -> tuple[bytes, bytes]:
    """Return header section and body of a response, as bytes."""
    head, _, body = proxy.raw(request).partition(b"\r\n\r\n")
    return head, body


def test_status_headers_and_body_of_a_response_are_unchanged() -> None:
    body = bytes(range(256)) * 10
    fields = [b"x-request-id: r1", b"set-cookie: a=1", b"set-cookie: b=2", b"retry-after: 3"]
    fields += [b"date: Mon, 23 Nov 2026 00:00:00 GMT", b"server: them", b"content-encoding: br"]
    fields += [b"content-length: %d" % len(body)]
    response = b"\r\n".join([b"HTTP/1.1 529 Overloaded", *fields, b"", body])
    with ScriptedUpstream(partial(Peer.send, data=response)) as upstream, proxying(upstream.url) as proxy:
        head, received = _received(proxy, POST)
    status, *others = head.split(b"\r\n")
    assert (status.split(b" ")[1], received) == (b"529", body)
    assert others == [*fields, b"Connection: close"]  # of the connection to the client, which asked for it


def _sent(request: bytes, path: str = "") -> tuple[list[bytes], bytes]:
    """Return the lines of the header section that the upstream gets for a request, without its host, and the body."""
    peers: list[Peer] = []

    def answer(peer: Peer) -> None:
        peers.append(peer)
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url + path) as proxy:
        assert proxy.raw(request).endswith(b"\r\n\r\nok")
        host = b"host: " + upstream.url.removeprefix("http://").encode()
    (peer,) = peers
    first, second, *others = peer.head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    assert second == host
    return [first, *others], peer.body


def test_path_query_headers_and_body_of_a_request_are_unchanged() -> None:
    fields = [b"authorization: Bearer k", b"x-twice: 1", b"x-twice: 2", b"accept-encoding: br"]
    hop = b"connection: close, x-mine\r\nx-mine: 1\r\nte: trailers\r\nkeep-alive: 5\r\nexpect: 100-continue"
    first = b"PATCH /v1/a%2Fb;c//d?x=%20+&y&x=%zz HTTP/1.1"
    lines = [first, b"host: localhost", *fields, hop, b"content-length: 3", b"", b"\x00\xff\n"]
    sent, body = _sent(b"\r\n".join(lines), "/base/")
    assert sent == [first.replace(b"/v1", b"/base/v1"), *fields, b"content-length: 3"]
    assert body == b"\x00\xff\n"
    for method, field in ((b"DELETE", b"x-a: 1"), (b"POST", b"x-a: 1"), (b"GET", b"x-title: Jos\xe9")):
        start = method + b" /x?y=%zz HTTP/1.1"
        sent, _ = _sent(start + b"\r\nhost: localhost\r\nconnection: close\r\n" + field + b"\r\n\r\n")
        assert sent == [start, field], "no field is added or encoded again"


def test_a_request_body_of_unknown_length_stays_chunked() -> None:
    request = b"POST /x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    (_, *fields), body = _sent(request + _chunk(b"one ") + _chunk(b"two") + b"0\r\n\r\n")
    assert [field.lower() for field in fields] == [b"transfer-encoding: chunked"]
    assert body.replace(b"\r\n", b"") in (b"4one 3two0", b"7one two0")


def test_each_piece_of_a_stream_passes_before_the_next_one_exists() -> None:
    step = threading.Semaphore(0)
    pieces = [b"data: %d\n\n" % number for number in range(20)]

    def answer(peer: Peer) -> None:
        peer.send(_STREAM)
        for piece in pieces:
            peer.send(_chunk(piece))
            assert step.acquire(timeout=PATIENCE)
        peer.send(b"0\r\n\r\n")

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy:
        with proxy.posted() as response:
            for piece in pieces:
                assert response.read1() == piece
                step.release()
            assert response.read() == b""
        (judgement,) = proxy.judgements.wait(1)
    assert judgement.ending == "complete"


@pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])
def test_an_upstream_that_breaks_off_breaks_off_at_the_client(resets: bool) -> None:
    received: list[bytes] = []

    def answer(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345" if resets else _STREAM + _chunk(b"12345"))
        wait_until(lambda: bool(received))
        if resets:
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy:
        with proxy.posted() as response:
            received.append(response.read1())
            with pytest.raises(http.client.IncompleteRead):
                response.read()
        (judgement,) = proxy.judgements.wait(1)
    assert (received, judgement.ending) == ([b"12345"], "upstream-broke")


@pytest.mark.parametrize("begun", [True, False], ids=["in a response", "before a response"])
def test_a_client_that_leaves_closes_the_connection_to_the_upstream(begun: bool) -> None:
    reached, closed = threading.Event(), threading.Event()

    def answer(peer: Peer) -> None:
        if begun:
            peer.send(_STREAM + _chunk(b"data: {}\n\n"))
        reached.set()
        peer.wait_for_close()  # and sends nothing meanwhile
        closed.set()

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy:
        with proxy.connection() as connection:
            connection.sendall(POST)
            assert connection.recv(1) if begun else reached.wait(PATIENCE)
        assert closed.wait(PATIENCE)
        (judgement,) = proxy.judgements.wait(1)
        wait_until(lambda: proxy.server.forwarder.open == 0)
    assert judgement.ending == "client-left"
    assert begun or judgement.unjudged == "no-answer"


def test_a_client_that_leaves_in_the_middle_of_its_request_closes_the_connection_to_the_upstream() -> None:
    closed = threading.Event()

    class HalfRequest(ScriptedUpstream):
        def finish_request(self, request: Any, client_address: Any) -> None:
            request.settimeout(PATIENCE)
            while request.recv(1 << 16):
                pass
            closed.set()

    with HalfRequest(_refuse) as upstream, proxying(upstream.url) as proxy:
        with proxy.connection() as connection:
            connection.sendall(POST.replace(b"length: 2", b"length: 9"))
        assert closed.wait(PATIENCE)
        (judgement,) = proxy.judgements.wait(1)
    assert judgement.ending == "client-left"


def test_a_large_body_passes_in_both_directions_and_is_not_judged() -> None:
    piece = bytes(range(256)) * 4096
    count = 100 if is_thorough() else 20  # pieces of a megabyte

    def answer(peer: Peer) -> None:
        assert peer.body == piece * count
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(piece) * count))
        for _ in range(count):
            peer.send(piece)

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy:
        client = http.client.HTTPConnection("127.0.0.1", int(proxy.url.rpartition(":")[2]), timeout=PATIENCE)
        client.request("POST", "/x", (piece for _ in range(count)), {"content-length": str(len(piece) * count)})
        response = client.getresponse()
        for _ in range(count):
            assert response.read(len(piece)) == piece
        assert response.read() == b""
        client.close()
        (judgement,) = proxy.judgements.wait(1)
        assert proxy.observer.budget.used == 0
    assert (judgement.ending, judgement.unjudged) == ("complete", "too-large")


@pytest.mark.parametrize(("sent_first", "status"), [(POST, b"200 OK"), (UPGRADE, b"101 Switching Protocols")])
def test_the_proxy_reads_no_more_from_the_upstream_than_the_client_takes(sent_first: bytes, status: bytes) -> None:
    sent, held_up, piece = 0, threading.Event(), b"x" * (1 << 16)

    def answer(peer: Peer) -> None:
        nonlocal sent
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        peer.send(b"HTTP/1.1 " + status + b"\r\n\r\n")
        peer.socket.settimeout(1.0)
        with suppress(TimeoutError):
            for _ in range(2000):
                peer.send(piece)
                sent += len(piece)
        held_up.set()

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy, proxy.connection() as connection:
        connection.sendall(sent_first)
        connection.recv(1)
        assert held_up.wait(PATIENCE)
    assert sent < 30_000_000  # what the buffers of both connections hold


@pytest.mark.parametrize(("method", "status"), [(b"HEAD", b"200 OK"), (b"GET", b"304 Not Modified")])
def test_a_response_without_a_body_keeps_its_length_field(method: bytes, status: bytes) -> None:
    response = b"HTTP/1.1 " + status + b'\r\netag: "1"\r\ncontent-length: 1000\r\n\r\n'
    request = method + b" /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    with ScriptedUpstream(partial(Peer.send, data=response)) as upstream, proxying(upstream.url) as proxy:
        head, body = _received(proxy, request)
    assert (b"content-length: 1000" in head, body) == (True, b"")


def test_an_unreachable_upstream_gives_an_error_of_the_proxy() -> None:
    with ScriptedUpstream(_refuse) as gone:
        url = gone.url
    with proxying(url) as proxy:
        head, body = _received(proxy, POST)
        (judgement,) = proxy.judgements.wait(1)
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"x-toolparity-proxy: upstream-unreachable" in head
    assert url.encode() in body
    assert (judgement.ending, judgement.status) == ("unreached", None)


def _refuse(peer: Peer) -> None:
    raise AssertionError("the request must not reach the upstream")


def test_a_target_in_absolute_form_becomes_a_path_and_one_without_a_path_is_refused() -> None:
    for target, path in (
        (b"http://127.0.0.1/v1/x?a=b", b"/v1/x?a=b"),
        (b"http://127.0.0.1", b"/"),
        (b"HTTP://other.example/x", b"/x"),
        (b"//a/b", b"//a/b"),
    ):
        (first, *_), _ = _sent(b"GET " + target + b" HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        assert first == b"GET " + path + b" HTTP/1.1"
    with ScriptedUpstream(_refuse) as upstream, proxying(upstream.url) as proxy:
        for target in (b"*", b"x", b"@other.example/x", b".other.example/x", b"9/x", b"ftp://a/x"):
            received = proxy.raw(b"OPTIONS " + target + b" HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            assert received.startswith(b"HTTP/1.1 400 "), target
            assert b"x-toolparity-proxy: unsupported-target" in received


def test_a_foreign_host_name_is_refused_because_it_may_be_rebound() -> None:
    named = Addresses(names=frozenset(["gateway.internal"]))
    answer = partial(Peer.send, data=b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    with ScriptedUpstream(answer) as upstream, proxying(upstream.url, addresses=named) as proxy:
        for host, status in ((b"evil.example", b"421"), (b"gateway.internal:80", b"200")):
            head, _ = _received(proxy, POST.replace(b"localhost", host))
            assert head.startswith(b"HTTP/1.1 " + status)
