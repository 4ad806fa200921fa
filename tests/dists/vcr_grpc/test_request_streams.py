"""Calls with a stream of requests, blocking and asyncio: recorded, and played in the recorded order."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from toolparity.cassettes import vcr_grpc

from .callers import CHATS, UPLOADS, Way, aio_chat, async_for, chat, iterate, of, reads, with_call
from .conftest import Use
from .servers import Shop, text

CASES = [
    *((way, method) for way in UPLOADS for method in ("RecordRoute", "Refuse")),
    *((way, method) for way in CHATS for method in ("RouteChat", "Break")),
]


@pytest.mark.parametrize(("way", "method"), CASES)
def test_a_played_call_gives_what_the_recorded_one_gave(shop: Shop, use: Use, way: Way, method: str) -> None:
    words = ["one"] if method == "Break" else ["one", "two", "three"]
    with use():
        recorded = way(shop.target, method, words)
    shop.stop()
    with use(record_mode="none") as cassette:
        assert way(shop.target, method, words) == recorded
        assert cassette.all_played
    assert shop.service.calls == [method]


@pytest.mark.parametrize(
    ("record", "play"), [(chat, aio_chat), (aio_chat, chat), (iterate, async_for), (reads, iterate)]
)
def test_blocking_and_asyncio_play_each_other_s_recordings(shop: Shop, use: Use, record: Way, play: Way) -> None:
    call: tuple[Any, ...] = (shop.target, "RouteChat", ["one", "two"]) if record in CHATS else (shop.target, "Count")
    with use():
        recorded = record(*call)
    shop.stop()
    with use(record_mode="none"):
        assert play(*call) == recorded


OTHERS = [["one", "three"], ["one"], ["one", "two", "three"], []]


@pytest.mark.thorough(keep=8)
@pytest.mark.parametrize(
    ("way", "words"),
    [(way, words) for way in [*UPLOADS, *CHATS] for words in OTHERS if words or way is not chat],  # a chat has a word
)
def test_other_requests_raise_and_reach_no_server(shop: Shop, use: Use, way: Way, words: list[str]) -> None:
    method = "RecordRoute" if way in UPLOADS else "RouteChat"
    with use():
        way(shop.target, method, ["one", "two"])
    shop.stop()
    with use(record_mode="none") as cassette:
        # A call raises; one that already reads its answers ends with a status.
        with contextlib.suppress(vcr_grpc.CallNotRecorded):
            seen = way(shop.target, method, words)
            assert seen.code is grpc.StatusCode.INTERNAL
            assert "nothing was sent" in seen.details
        assert not cassette.all_played or method == "RouteChat"  # a chat had its first answer before it differed


def test_an_answer_waits_for_the_requests_that_preceded_it(shop: Shop, use: Use) -> None:
    with use():
        chat(shop.target, "RouteChat", ["one", "two"])
    with use(record_mode="none"), grpc.insecure_channel(shop.target) as channel:
        waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        call = of(channel, "stream_stream", "RouteChat")(map(text, iter(waiting.get, None)))
        read: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=lambda: [read.put(message.value) for message in call], daemon=True).start()
        with pytest.raises(queue.Empty):
            read.get(timeout=0.2)
        waiting.put("one")
        assert read.get(timeout=20) == "you said one"
        with pytest.raises(queue.Empty):
            read.get(timeout=0.2)
        waiting.put("two")
        assert read.get(timeout=20) == "you said two"
        waiting.put(None)
        assert read.get(timeout=20) == "goodbye"


def test_the_cassette_holds_both_streams_and_without_the_body_in_match_on_other_requests_play(
    shop: Shop, use: Use, tmp_path: Path
) -> None:
    with use():
        recorded = chat(shop.target, "RouteChat", ["one", "two"])
    (interaction,) = yaml.safe_load((tmp_path / "c.yaml").read_text())["interactions"]
    assert '"message": "one"' in interaction["request"]["body"]
    assert interaction["response"]["grpc"]["requests"] == {"after": [0, 1], "closed_after": 2}
    with use(record_mode="none", match_on=("method", "uri")):
        assert chat(shop.target, "RouteChat", ["three", "four"]) == recorded


def test_two_calls_that_begin_alike_differ_by_what_follows(shop: Shop, use: Use) -> None:
    with use():
        first = with_call(shop.target, "RecordRoute", ["one", "two"])
        second = with_call(shop.target, "RecordRoute", ["one", "three"])
    with use(record_mode="none") as cassette:
        assert with_call(shop.target, "RecordRoute", ["one", "three"]) == second
        assert with_call(shop.target, "RecordRoute", ["one", "two"]) == first
        assert cassette.all_played


#: A call that the client cancels, of each kind of request.
CANCELLED: dict[str, tuple[str, Callable[[], Any]]] = {
    "Hang": ("unary_unary", lambda: text("x")),
    "HangUp": ("stream_unary", lambda: iter([text("x")])),
}


def cancelled_future(target: str, method: str) -> list[Any]:
    kind, request = CANCELLED[method]
    with grpc.insecure_channel(target) as channel:
        call = of(channel, kind, method).future(request())
        threading.Event().wait(0.2)
        assert call.cancel()
        with pytest.raises(grpc.FutureCancelledError):
            call.result()
        return [call.cancelled(), call.code()]


def cancelled_task(target: str, method: str) -> list[Any]:
    kind, request = CANCELLED[method]

    async def main() -> list[Any]:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, kind, method)(request())
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call, 0.3)
            return [call.cancelled(), await call.code()]

    return asyncio.run(main())


@pytest.mark.parametrize("way", [cancelled_future, cancelled_task])
@pytest.mark.parametrize("method", CANCELLED)
def test_a_call_that_the_client_cancels_is_recorded_and_played_as_such(
    shop: Shop, use: Use, way: Any, method: str
) -> None:
    with use() as cassette:
        recorded = way(shop.target, method)
        assert len(cassette) == 1
    shop.stop()
    with use(record_mode="none") as cassette:
        assert way(shop.target, method) == recorded == [True, grpc.StatusCode.CANCELLED]
        assert cassette.all_played or method == "HangUp"
    assert shop.service.calls in ([method], [])  # the cancellation may be faster than the server
