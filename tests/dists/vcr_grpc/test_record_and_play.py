"""A played call is the recorded one: messages, status, details, metadata, classes of exceptions and call objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from toolparity.cassettes import vcr_grpc

from . import callers
from .callers import STREAM, UNARY, stream, unary
from .conftest import Gone, Use
from .servers import INITIAL, TRAILING, UNKNOWN_FIELD, Shop, text

X = text("x").SerializeToString()
COUNTED = [text(f"x {n}").SerializeToString() for n in range(4)]
OK, FRAME = grpc.StatusCode.OK, (list(INITIAL), list(TRAILING))
#: What the service sends: messages, status, metadata before and after them.
SENT: dict[str, tuple[Any, ...]] = {
    "Say": ([X], OK, "", [], []),
    "Metadata": ([X], OK, "", *FRAME),
    "Fail": ([], grpc.StatusCode.NOT_FOUND, "nö such thing", *FRAME),
    "Unknown": ([X + UNKNOWN_FIELD], OK, "", [], []),
    "Count": (COUNTED, OK, "", *FRAME),
    "CountNone": ([], OK, "", [], list(TRAILING)),
    "CountFail": (COUNTED, grpc.StatusCode.DATA_LOSS, "the rest is gone", *FRAME),
}
CALLS = [(way, method) for way in UNARY for method in ("Say", "Metadata", "Fail", "Unknown")]
CALLS += [(way, method) for way in STREAM for method in ("Count", "CountNone", "CountFail")]


@pytest.mark.parametrize(("way", "method"), CALLS)
def test_a_call_is_played_as_it_was_recorded(shop: Shop, use: Use, unreachable: Gone, way: Any, method: str) -> None:
    live = way(shop.target, method)
    settings = {"serializer": "json" if way in (callers.call, callers.iterate) else "yaml"}
    with use(**settings) as cassette:
        recorded = way(shop.target, method)
        assert len(cassette) == 1  # written by the end of the call, not only by that of the cassette
    assert recorded == live
    assert recorded[1:6] == SENT[method]
    with unreachable(shop), use(record_mode="none", **settings) as cassette:
        assert way(shop.target, method) == recorded
    assert cassette.all_played


def test_a_call_object_of_a_played_answer_is_grpcs_own(shop: Shop, use: Use, unreachable: Gone) -> None:
    def go() -> list[Any]:
        seen: list[Any] = []
        with grpc.insecure_channel(shop.target) as channel:
            responses = unary(channel, "Metadata").future(text("x"), timeout=1000)
            seen.append(responses.result().value)
            seen += [type(responses), responses.done(), responses.running(), responses.cancelled()]
            seen += [responses.cancel(), responses.is_active()]
            seen += [responses.exception(), responses.traceback(), 0 < responses.time_remaining() <= 1000]
            responses.add_done_callback(lambda done: seen.append(done is responses))
            seen.append(responses.add_callback(lambda: None))
            failed = unary(channel, "Fail").future(text("x"))
            seen += [type(failed.exception()), failed.traceback() is not None]
        return seen

    with use():
        recorded = go()
    with unreachable(shop), use(record_mode="none"):
        assert go() == recorded


def test_a_call_object_of_a_played_stream_is_grpcs_own(shop: Shop, use: Use, unreachable: Gone) -> None:
    def go() -> list[Any]:
        seen: list[Any] = []
        with grpc.insecure_channel(shop.target) as channel:
            responses = stream(channel, "Count")(text("x"), timeout=1000)
            seen += [type(responses), responses.is_active(), responses.done(), list(responses.initial_metadata())]
            seen.append(responses.add_callback(lambda: seen.append("over")))
            seen += [next(responses).value for _ in range(4)]
            seen += [responses.code(), responses.details(), next(responses, None), responses.is_active()]
            seen += [responses.add_callback(print), responses.cancel()]
        return seen

    def ordered(seen: list[Any]) -> list[Any]:
        """grpc's own thread calls back, at any time after the last message."""
        return [entry for entry in seen if entry != "over"] + ["over"] * seen.count("over")

    with use():
        recorded = go()
    assert recorded.count("over") == 1
    with unreachable(shop), use(record_mode="none"):
        assert ordered(go()) == ordered(recorded)


def test_a_played_aio_call_is_grpcs_own(shop: Shop, use: Use, unreachable: Gone) -> None:
    async def go() -> list[Any]:
        seen: list[Any] = []
        async with grpc.aio.insecure_channel(shop.target) as channel:
            responses = unary(channel, "Metadata")(text("x"), timeout=1000)
            responses.add_done_callback(lambda done: seen.append(done is responses))
            await responses.wait_for_connection()
            seen += [(await responses).value, (await responses).value, type(responses), responses.done()]
            seen += [responses.cancelled(), responses.cancel(), 0 < (responses.time_remaining() or 0) <= 1000]
            stream_call = stream(channel, "Count")(text("x"))
            watcher = asyncio.ensure_future(stream_call.code())
            seen += [type(stream_call), stream_call.done(), [m.value async for m in stream_call]]
            seen += [await watcher, stream_call.done(), await stream_call.details()]
        return seen

    with use():
        recorded = asyncio.run(go())
    with unreachable(shop), use(record_mode="none"):
        assert asyncio.run(go()) == recorded


def test_a_closed_channel_is_closed_in_a_cassette_too(shop: Shop, use: Use) -> None:
    async def go() -> None:
        channel = grpc.aio.insecure_channel(shop.target)
        say, count = unary(channel, "Say"), stream(channel, "Count")
        await channel.close()
        with pytest.raises(grpc.aio.UsageError):
            await say(text("x"))
        with pytest.raises(grpc.aio.UsageError):
            await count(text("x")).read()

    with use() as cassette:
        asyncio.run(go())
        with grpc.insecure_channel(shop.target) as channel:
            pass
        for method in (unary(channel, "Say"), unary(channel, "Say").future, stream(channel, "Count")):
            with pytest.raises(ValueError, match="closed"):
                method(text("x"))
    assert len(cassette) == 0
    with use() as cassette:
        callers.awaited(shop.target, "Say")
        callers.reads(shop.target, "Count")
    with use(record_mode="none"):
        asyncio.run(go())


def test_stubs_made_before_inside_and_after_a_cassette_go_through_the_one_that_is_open(
    shop: Shop, use: Use, tmp_path: Any
) -> None:
    with grpc.insecure_channel(shop.target) as channel:
        before = unary(channel, "Number")
        with use(tmp_path / "outer.yaml") as outer:
            inside = unary(channel, "Number")
            assert [before(text("a")).value, inside(text("b")).value] == ["1", "2"]
            with use(tmp_path / "inner.yaml") as inner:
                assert before(text("c")).value == "3"
            assert inside(text("d")).value == "4"
        assert inside(text("e")).value == "5"
        assert (len(outer), len(inner)) == (3, 1)


class _Stamp(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    def _stamped(self, proceed: Any, details: Any, request: Any) -> Any:
        return proceed(details._replace(metadata=[*(details.metadata or []), ("stamp", "s")]), request)

    intercept_unary_unary = intercept_unary_stream = _stamped


class _AioStamp(grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, proceed: Any, details: Any, request: Any) -> Any:
        return await proceed(details._replace(metadata=[*(details.metadata or []), ("stamp", "s")]), request)


class _AioStreamStamp(grpc.aio.UnaryStreamClientInterceptor):
    intercept_unary_stream = _AioStamp.intercept_unary_unary


def test_what_interceptors_add_is_recorded_and_they_run_when_played(shop: Shop, use: Use, unreachable: Gone) -> None:
    async def aio(word: str, streamed: bool) -> list[str]:
        stamps = [_AioStamp(), _AioStreamStamp()]
        async with grpc.aio.insecure_channel(shop.target, interceptors=stamps) as channel:
            if streamed:
                return [message.value async for message in stream(channel, "Count")(text(word))]
            return [(await unary(channel, "Number")(text(word))).value]

    def tried(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except vcr_grpc.CallNotRecorded as error:
            return type(error)

    def go(word: str) -> list[Any]:
        with grpc.insecure_channel(shop.target) as plain:
            channel = grpc.intercept_channel(plain, _Stamp())
            count = stream(channel, "Count")
            calls: list[Callable[[], Any]] = [
                lambda: unary(channel, "Number")(text(word)).value,
                lambda: unary(channel, "Number").future(text(word)).result().value,
                lambda: [message.value for message in count(text(word), metadata=(("own", "o"),))],
                lambda: asyncio.run(aio(word, streamed=False)),
                lambda: asyncio.run(aio(word, streamed=True)),
            ]
            return [tried(call) for call in calls]

    with use() as cassette:
        recorded = go("known")
    assert [request.headers["stamp"] for request in cassette.requests] == ["s"] * 5
    assert cassette.requests[2].headers["own"] == "o"
    with unreachable(shop), use(record_mode="none", match_on=("uri", "body", "headers")) as cassette:
        assert go("other") == [vcr_grpc.CallNotRecorded] * 5
        assert go("known") == recorded
    assert cassette.all_played


@pytest.mark.parametrize("way", [*UNARY, *STREAM])
def test_a_deadline_that_passed_is_recorded_as_it_came(shop: Shop, use: Use, unreachable: Gone, way: Any) -> None:
    method = "Hang" if way in UNARY else "Held"
    with use():
        recorded = way(shop.target, method, timeout=0.2)
    assert recorded.code is grpc.StatusCode.DEADLINE_EXCEEDED
    with unreachable(shop), use(record_mode="none"):
        assert way(shop.target, method, timeout=0.2) == recorded


@pytest.mark.parametrize("way", [*UNARY, *STREAM])
def test_where_no_server_answers_nothing_is_recorded(shop: Shop, use: Use, tmp_path: Any, way: Any) -> None:
    shop.stop()
    with use() as cassette:
        seen = way(shop.target, "Count" if way in STREAM else "Say")
    assert seen.code is grpc.StatusCode.UNAVAILABLE
    assert len(cassette) == 0
    assert not (tmp_path / "c.yaml").exists()
