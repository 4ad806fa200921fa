"""The upstream's HTTP server: connections that stay open, pipelined and malformed requests, and its stop."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from toolparity.conformance.gateway import upstream
from toolparity.conformance.gateway.upstream import Served

PIECES = [b"data: 1\n\n", b"", *(b"data: %d\n\n" % number for number in range(2, 30))]
REQUEST = b'{"stream": true}'


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """A connection to an upstream that answers every request with `PIECES`."""
    with upstream.running() as provider:
        assert provider.servers is not None
        provider.every = upstream.Ticket(Served("openai.chat", True, PIECES))
        host, _, port = provider.servers.http_url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as client:
            yield client


def asked(*headers: str, body: bytes = REQUEST) -> bytes:
    lines = ["POST /v1/chat/completions HTTP/1.1", "host: x", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def until(client: socket.socket, end: bytes, count: int = 1) -> bytes:
    read = b""
    while read.count(end) < count:
        piece = client.recv(1 << 16)
        assert piece, f"the connection ended after {read!r}"
        read += piece
    return read


def test_a_connection_stays_open_and_a_stream_has_one_chunk_for_each_piece(connection: socket.socket) -> None:
    for _ in range(2):
        connection.sendall(asked())
        reply = until(connection, b"0\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        assert reply.count(b"\r\ndata: ") == len(PIECES) - 1


def test_pipelined_and_divided_requests_are_read(connection: socket.socket) -> None:
    request = asked("expect: 100-continue")
    connection.sendall(request[:10])
    connection.sendall(request[10 : -len(REQUEST)])
    assert until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
    connection.sendall(REQUEST)
    assert until(connection, b"0\r\n\r\n").startswith(b"HTTP/1.1 200 OK")
    connection.sendall(asked() + asked("connection: close"))
    assert until(connection, b"0\r\n\r\n", 2).count(b"HTTP/1.1 200 OK") == 2
    assert connection.recv(1) == b""


def test_the_stop_of_the_upstream_ends_open_connections() -> None:
    with upstream.running() as provider:
        assert provider.servers is not None
        host, _, port = provider.servers.http_url.removeprefix("http://").partition(":")
        idle = socket.create_connection((host, int(port)), timeout=10)
        idle.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        until(idle, b"}")
    with idle:
        assert idle.recv(1) == b""


def test_a_malformed_request_gets_400_and_the_end_of_the_connection(connection: socket.socket) -> None:
    connection.sendall(b"what is this?\r\n\r\n")
    assert until(connection, b"}").startswith(b"HTTP/1.1 400 Bad Request")
    assert connection.recv(1) == b""
