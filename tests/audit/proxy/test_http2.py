"""An upstream on TLS: HTTP/2 if it offers that, and the same promises as over HTTP/1.1."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.audit.proxy.conftest import PATIENCE, Proxied, proxying, wait_until
from tests.audit.proxy.http2_upstream import Http2Upstream, Stream
from toolparity.audit.proxy.negotiation import NegotiatingTransport

pytestmark = pytest.mark.service("audit/proxy")

_OK = [(b":status", b"200"), (b"content-type", b"text/event-stream")]
_BODY = bytes(range(256)) * 1000


@contextmanager
def _proxied(
    folder: Path,
    answer: Callable[[Stream], None],
    protocols: tuple[str, ...] = ("h2", "http/1.1"),
    *,
    http2: bool = True,
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
    with _proxied(tmp_path, _echo) as (proxy, upstream):
        headers = {"authorization": "Bearer k", "x-twice": "1"}
        response = httpx2.post(f"{proxy.url}/v1/a%2Fb?x=%20+&y", content=_BODY, headers=headers, timeout=PATIENCE)
        request = dict(upstream.connections[-1].streams[1].request)
        (judgement,) = proxy.judgements.wait(1)
    assert (response.status_code, response.content) == (200, _BODY)
    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert request[b":path"] == b"/base/v1/a%2Fb?x=%20+&y"
    assert request[b":authority"] == upstream.url.removeprefix("https://").encode()
    assert (request[b"authorization"], request[b"x-twice"]) == (b"Bearer k", b"1")
    assert judgement.ending == "complete"


def test_a_request_body_of_unknown_length_passes_over_http_2(tmp_path: Path) -> None:
    with _proxied(tmp_path, _echo) as (proxy, _):
        response = httpx2.post(proxy.url, content=iter([_BODY, b"end"]), timeout=PATIENCE)
    assert response.content == _BODY + b"end"


@pytest.mark.parametrize(("protocols", "http2"), [(("http/1.1",), True), ((), True), (("h2", "http/1.1"), False)])
def test_a_server_without_http_2_or_a_proxy_that_does_not_want_it_gets_http_1_1(
    tmp_path: Path, protocols: tuple[str, ...], http2: bool
) -> None:
    with _proxied(tmp_path, _echo, protocols, http2=http2) as (proxy, upstream):
        response = httpx2.post(proxy.url, content=b"{}", timeout=PATIENCE)
    assert response.content == b"over 1.1"
    assert upstream.connections == []


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
        stream.break_off()

    with _proxied(tmp_path, answer) as (proxy, _), proxy.connection() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}")
        response = http.client.HTTPResponse(connection)
        response.begin()
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
        connection.sendall(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}")
        wait_until(lambda: bool(streams))
        for _ in range(20):
            assert httpx2.post(proxy.url, content=b"{}", timeout=PATIENCE).content == b"small"
        assert streams[0].sent < 30_000_000
