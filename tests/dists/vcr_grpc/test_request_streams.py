"""Calls with a stream of requests, blocking and asyncio: recorded, and played in the recorded order."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from toolparity.cassettes import vcr_grpc

from .callers import text
from .conftest import Use
from .routes import (
    Outcome,
    Running,
    Way,
    aio_chat,
    aio_for,
    aio_iterator,
    aio_writes,
    all_at_once,
    chat,
    future,
    of,
    with_call,
)

UPLOADS: list[Way] = [with_call, future, aio_iterator, aio_writes]
CHATS: list[Way] = [chat, all_at_once, aio_chat, aio_for]
CASES = [
    *((way, method) for way in UPLOADS for method in ("RecordRoute", "Refuse")),
    *((way, method) for way in CHATS for method in ("RouteChat", "Break")),
]


@pytest.mark.parametrize(("way", "method"), CASES)
def test_a_played_call_gives_what_the_recorded_one_gave(route: Running, use: Use, way: Way, method: str) -> None:
    words = ["one"] if method == "Break" else ["one", "two", "three"]
    with use():
        recorded = way(route.target, method, words)
    route.stop()
    with use(record_mode="none") as cassette:
        assert way(route.target, method, words) == recorded
        assert cassette.all_played
    assert route.service.calls == [method]


@pytest.mark.parametrize("record", [chat, aio_chat])
@pytest.mark.parametrize("play", [chat, aio_chat])
def test_blocking_and_asyncio_play_each_other_s_recordings(route: Running, use: Use, record: Way, play: Way) -> None:
    with use():
        recorded = record(route.target, "RouteChat", ["one", "two"])
    route.stop()
    with use(record_mode="none"):
        assert play(route.target, "RouteChat", ["one", "two"]) == recorded


OTHERS = [["one", "three"], ["one"], ["one", "two", "three"], []]


@pytest.mark.thorough(keep=8)
@pytest.mark.parametrize(
    ("way", "words"),
    [(way, words) for way in [*UPLOADS, *CHATS] for words in OTHERS if words or way is not chat],  # a chat has a word
)
def test_other_requests_raise_and_reach_no_server(route: Running, use: Use, way: Way, words: list[str]) -> None:
    method = "RecordRoute" if way in UPLOADS else "RouteChat"
    with use():
        way(route.target, method, ["one", "two"])
    route.stop()
    with use(record_mode="none") as cassette:
        # A call raises; one that already reads its answers ends with a status.
        with contextlib.suppress(vcr_grpc.CallNotRecorded):
            assert grpc.StatusCode.INTERNAL in (values := way(route.target, method, words))
            assert any("nothing was sent" in str(each) for each in values)
        assert not cassette.all_played or method == "RouteChat"  # a chat had its first answer before it differed


def test_an_answer_waits_for_the_requests_that_preceded_it(route: Running, use: Use) -> None:
    with use():
        chat(route.target, "RouteChat", ["one", "two"])
    with use(record_mode="none"), grpc.insecure_channel(route.target) as channel:
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


def test_the_cassette_holds_both_streams_and_their_order(route: Running, use: Use, tmp_path: Path) -> None:
    with use():
        chat(route.target, "RouteChat", ["one", "two"])
    (interaction,) = yaml.safe_load((tmp_path / "c.yaml").read_text())["interactions"]
    assert '"message": "one"' in interaction["request"]["body"]
    assert interaction["response"]["grpc"]["requests"] == {"after": [0, 1], "closed_after": 2}


def test_without_the_body_in_match_on_other_requests_of_the_same_number_play(route: Running, use: Use) -> None:
    with use():
        recorded = chat(route.target, "RouteChat", ["one", "two"])
    with use(record_mode="none", match_on=("method", "uri")):
        assert chat(route.target, "RouteChat", ["three", "four"]) == recorded


def test_two_calls_that_begin_alike_differ_by_what_follows(route: Running, use: Use) -> None:
    with use():
        first = with_call(route.target, "RecordRoute", ["one", "two"])
        second = with_call(route.target, "RecordRoute", ["one", "three"])
    with use(record_mode="none") as cassette:
        assert with_call(route.target, "RecordRoute", ["one", "three"]) == second
        assert with_call(route.target, "RecordRoute", ["one", "two"]) == first
        assert cassette.all_played


def cancelled_future(target: str, method: str) -> Outcome:
    kind = "unary_unary" if method == "Hang" else "stream_unary"
    with grpc.insecure_channel(target) as channel:
        call = of(channel, kind, method).future(text("x") if kind == "unary_unary" else iter([text("x")]))
        threading.Event().wait(0.2)
        assert call.cancel()
        with pytest.raises(grpc.FutureCancelledError):
            call.result()
        return [call.cancelled(), call.code()]


def cancelled_task(target: str, method: str) -> Outcome:
    kind = "unary_unary" if method == "Hang" else "stream_unary"

    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, kind, method)(text("x") if kind == "unary_unary" else iter([text("x")]))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call, 0.3)
            return [call.cancelled(), await call.code()]

    return asyncio.run(main())


@pytest.mark.parametrize("way", [cancelled_future, cancelled_task])
@pytest.mark.parametrize("method", ["Hang", "HangUp"])
def test_a_call_that_the_client_cancels_is_recorded_and_played_as_such(
    route: Running, use: Use, way: Any, method: str
) -> None:
    with use() as cassette:
        recorded = way(route.target, method)
        assert len(cassette) == 1
    route.stop()
    with use(record_mode="none") as cassette:
        assert way(route.target, method) == recorded == [True, grpc.StatusCode.CANCELLED]
        assert cassette.all_played or method == "HangUp"
    assert route.service.calls in ([method], [])  # the cancellation may be faster than the server
