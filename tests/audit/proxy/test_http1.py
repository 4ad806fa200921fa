"""Responses over HTTP/1.1 in all their forms, and connections that are used again."""

from __future__ import annotations

from functools import partial

import httpx2

from tests.audit.proxy.conftest import PATIENCE, Peer, ScriptedUpstream, proxying

_OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def _post(url: str) -> httpx2.Response:
    return httpx2.post(url, content=b"{}", timeout=PATIENCE)


def test_a_response_of_any_form_passes() -> None:
    for response, body in (
        (b"HTTP/1.1 200 OK\r\n\r\nup to the end", b"up to the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nup to the end", b"up to the end"),
        (b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + _OK, b"ok"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nx-trailer: 1\r\n\r\n", b"ok"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
    ):
        with ScriptedUpstream(partial(Peer.send, data=response)) as upstream, proxying(upstream.url) as proxy:
            received = _post(proxy.url)
            (judgement,) = proxy.judgements.wait(1)
        assert (received.status_code, received.content) == (200, body)
        assert ("link" in received.headers, judgement.ending) == (False, "complete")


def test_a_server_that_does_not_answer_with_a_response_gives_an_error_of_the_proxy() -> None:
    large, cut = b"HTTP/1.1 200 OK\r\nx: " + b"a" * (300 << 10) + b"\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: 1\r\n"
    for response in (b"SSH-2.0-OpenSSH\r\n", large, cut, b""):
        with ScriptedUpstream(partial(Peer.send, data=response)) as upstream, proxying(upstream.url) as proxy:
            received = _post(proxy.url)
        assert (received.status_code, received.headers["x-toolparity-proxy"]) == (502, "upstream-unreachable")


def test_a_connection_carries_one_exchange_after_another() -> None:
    requests: list[bytes] = []

    def answer(peer: Peer) -> None:
        for _ in range(3):
            requests.append(peer.head)
            peer.send(_OK)
            if len(requests) < 3:
                peer = Peer(peer.socket)

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy:
        assert [_post(f"{proxy.url}/{number}").content for number in range(3)] == [b"ok"] * 3
    assert [head.split(b" ")[1] for head in requests] == [b"/0", b"/1", b"/2"]


def test_a_request_with_two_lengths_is_the_last_one_of_its_connection() -> None:
    request = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n"
    request += b"2\r\n{}\r\n0\r\n\r\n"
    with ScriptedUpstream(partial(Peer.send, data=_OK)) as upstream, proxying(upstream.url) as proxy:
        assert proxy.raw(request).endswith(b"ok")  # returns because the connection is closed


def test_a_connection_on_which_the_server_sent_too_much_is_not_used_again() -> None:
    def answer(peer: Peer) -> None:
        peer.send(_OK + b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged")
        peer.wait_for_close()

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy:
        assert [_post(proxy.url).content for _ in range(2)] == [b"ok", b"ok"]
