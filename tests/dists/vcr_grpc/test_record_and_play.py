"""A played call is the recorded one: messages, status, details, metadata, classes of exceptions and call objects."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from . import callers
from .callers import STREAM, UNARY, stream, text, unary
from .conftest import Gone, Use
from .servers import INITIAL, TRAILING, UNKNOWN_FIELD, Shop


@pytest.mark.parametrize("method", ["Say", "Metadata", "Fail", "Unknown"])
@pytest.mark.parametrize("way", UNARY)
def test_an_answer_is_played_as_it_was_recorded(shop: Shop, use: Use, unreachable: Gone, way: Any, method: str) -> None:
    live = way(shop.target, method)
    with use() as cassette:
        recorded = way(shop.target, method)
        assert len(cassette) == 1  # written by the end of the call, not only by that of the cassette
    assert recorded == live
    with unreachable(shop), use(record_mode="none") as cassette:
        assert way(shop.target, method) == recorded
    assert cassette.all_played


@pytest.mark.parametrize("method", ["Count", "CountNone", "CountFail"])
@pytest.mark.parametrize("way", STREAM)
def test_a_stream_is_played_as_it_was_recorded(shop: Shop, use: Use, unreachable: Gone, way: Any, method: str) -> None:
    live = way(shop.target, method)
    with use() as cassette:
        recorded = way(shop.target, method)
        assert len(cassette) == 1  # written by the end of the call, not only by that of the cassette
    assert recorded == live
    with unreachable(shop), use(record_mode="none") as cassette:
        assert way(shop.target, method) == recorded
    assert cassette.all_played


def test_the_recording_equals_what_the_service_sends(shop: Shop, use: Use, unreachable: Gone) -> None:
    """So that the comparisons above do not hold for want of content."""
    with use():
        callers.iterate(shop.target, "CountFail")
        callers.call(shop.target, "Unknown")
        callers.call(shop.target, "Fail")
    with unreachable(shop), use(record_mode="none"):
        streamed = callers.iterate(shop.target, "CountFail")
        unknown = callers.call(shop.target, "Unknown")
        failed = callers.call(shop.target, "Fail")
    assert [message.value for message in streamed.messages] == ["x 0", "x 1", "x 2", "x 3"]
    assert (streamed.code, streamed.details) == (grpc.StatusCode.DATA_LOSS, "the rest is gone")
    assert streamed.initial == sorted(INITIAL)
    assert streamed.raised == "_MultiThreadedRendezvous"
    assert unknown.bytes == [text("x").SerializeToString() + UNKNOWN_FIELD]
    assert (failed.code, failed.details) == (grpc.StatusCode.NOT_FOUND, "nö such thing")
    assert (failed.initial, failed.trailing) == (sorted(INITIAL), sorted(TRAILING))
    assert failed.raised == "_InactiveRpcError"


@pytest.mark.parametrize(
    ("recording", "playing"), [(callers.iterate, callers.async_for), (callers.reads, callers.iterate)]
)
def test_what_one_kind_of_client_recorded_another_plays(
    shop: Shop, use: Use, unreachable: Gone, recording: Any, playing: Any
) -> None:
    with use():
        recorded = recording(shop.target, "Count")
    with unreachable(shop), use(record_mode="none"):
        assert playing(shop.target, "Count") == recorded


def test_a_call_object_of_a_played_answer_is_grpcs_own(shop: Shop, use: Use, unreachable: Gone) -> None:
    def go() -> list[Any]:
        seen: list[Any] = []
        with grpc.insecure_channel(shop.target) as channel:
            responses = unary(channel, "Metadata").future(text("x"), timeout=1000)
            seen.append(responses.result().value)
            seen += [
                type(responses),
                responses.done(),
                responses.running(),
                responses.cancelled(),
                responses.cancel(),
                responses.is_active(),
            ]
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
            seen += [type(responses), responses.is_active(), responses.done(), sorted(responses.initial_metadata())]
            seen.append(responses.add_callback(lambda: seen.append("over")))
            seen += [next(responses).value for _ in range(4)]
            seen += [
                responses.code(),
                responses.details(),
                next(responses, None),
                responses.is_active(),
                responses.add_callback(print),
            ]
            seen.append(responses.cancel())
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
            seen += [
                (await responses).value,
                (await responses).value,
                type(responses),
                responses.done(),
                responses.cancelled(),
                responses.cancel(),
            ]
            seen.append(0 < (responses.time_remaining() or 0) <= 1000)
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


def test_what_interceptors_add_is_recorded_and_they_run_when_played(shop: Shop, use: Use, unreachable: Gone) -> None:
    async def aio() -> str:
        async with grpc.aio.insecure_channel(shop.target, interceptors=[_AioStamp()]) as channel:
            return str((await unary(channel, "Number")(text("aio"))).value)

    def go() -> list[str]:
        with grpc.insecure_channel(shop.target) as plain:
            channel = grpc.intercept_channel(plain, _Stamp())
            values = unary(channel, "Number")(text("now")).value
            later = unary(channel, "Number").future(text("later")).result().value
            many = [message.value for message in stream(channel, "Count")(text("many"), metadata=(("own", "o"),))]
        return [values, later, *many, asyncio.run(aio())]

    with use() as cassette:
        recorded = go()
    assert [request.headers["stamp"] for request in cassette.requests] == ["s"] * 4
    assert cassette.requests[2].headers["own"] == "o"
    with unreachable(shop), use(record_mode="none", match_on=("uri", "body", "headers")) as cassette:
        assert go() == recorded
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
