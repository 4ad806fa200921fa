"""The upstream: connections that stay open, pipelined and malformed requests, its stop, and interleaved answers."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from grpc import aio
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from toolparity.conformance.cases.traffic import responses
from toolparity.conformance.gateway import correlation, upstream
from toolparity.conformance.gateway.upstream import Served
from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.model import Response

PIECES = [b"data: 1\n\n", b"", *(b"data: %d\n\n" % number for number in range(2, 30))]
REQUEST = b'{"stream": true}'


def connected(provider: upstream.Upstream) -> socket.socket:
    assert provider.servers is not None
    host, _, port = provider.servers.http_url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=10)


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """A connection to an upstream that answers every request with `PIECES`."""
    with upstream.running() as provider:
        provider.every = upstream.Ticket(Served("openai.chat", True, PIECES))
        with connected(provider) as client:
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
        idle = connected(provider)
        idle.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        until(idle, b"}")
    with idle:
        assert idle.recv(1) == b""


def test_a_malformed_request_gets_400_and_the_end_of_the_connection(connection: socket.socket) -> None:
    connection.sendall(b"what is this?\r\n\r\n")
    assert until(connection, b"}").startswith(b"HTTP/1.1 400 Bad Request")
    assert connection.recv(1) == b""


SCENARIOS = ("hundred-and-thirty-at-once", "thirty-at-once")


async def _streams(target: str, tokens: dict[str, str]) -> tuple[dict[str, Response], list[str]]:
    """Read the streams of all tokens at the same time, on one channel. Also return the order of arrival."""
    arrived: list[str] = []
    async with aio.insecure_channel(target) as channel:
        stub = chat_pb2_grpc.ChatStub(channel)

        async def read(scenario: str, token: str) -> tuple[str, Response]:
            decoder = StreamDecoder("xai.grpc")
            call = stub.GetCompletionChunk(
                chat_pb2.GetCompletionsRequest(model="grok-4"), metadata=((correlation.HEADER, token),)
            )
            async for chunk in call:
                arrived.append(scenario)
                decoder.feed(chunk.SerializeToString())
            return scenario, decoder.finish()

        return dict(await asyncio.gather(*(read(*pair) for pair in tokens.items()))), arrived


def test_answers_that_are_interleaved_on_one_connection_are_each_read_whole() -> None:
    recorded = {scenario: responses(scenario, "xai.grpc", "stream")[0].pieces for scenario in SCENARIOS}
    tokens = {scenario: correlation.new_token() for scenario in SCENARIOS}
    with upstream.running() as provider, ExitStack() as tickets:
        for scenario, token in tokens.items():
            tickets.enter_context(provider.ticket(token, upstream.Served("xai.grpc", True, recorded[scenario])))
        assert provider.servers is not None
        read, arrived = asyncio.run(_streams(provider.servers.grpc_address, tokens))
    changes = sum(one != other for one, other in itertools.pairwise(arrived))
    assert changes > len(SCENARIOS), "the answers arrived one after the other"
    for scenario, pieces in recorded.items():
        alone = StreamDecoder("xai.grpc")
        for piece in pieces:
            alone.feed(piece)
        assert read[scenario] == alone.finish(), scenario
