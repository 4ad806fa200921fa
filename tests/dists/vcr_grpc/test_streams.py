"""Streams while they run: no one waits for the recorder, leaving early is recorded as that, many at once stay apart."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import vcr

from toolparity.cassettes import vcr_grpc

from .callers import STREAM, iterate, stream, unary
from .conftest import Gone, Use
from .servers import Shop, text

pytestmark = pytest.mark.service("dists/vcrpy-grpc")


@pytest.mark.parametrize("options", [(), [(grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1)]])
def test_the_first_message_is_there_while_the_second_is_not_sent_yet(shop: Shop, use: Use, options: Any) -> None:
    with use() as cassette, grpc.insecure_channel(shop.target, options) as channel:
        responses = stream(channel, "Held")(text("x"))
        assert next(responses).value == "x"
        assert len(cassette) == 0
        shop.service.hold.set()  # only now can the service send the second
        assert next(responses).value == "x"
        assert next(responses, None) is None
        assert len(cassette) == 1


def test_an_asyncio_server_and_client_in_one_loop_take_turns_while_recording(use: Use) -> None:
    async def main() -> None:
        taken = asyncio.Event()

        async def serve(request: bytes, context: Any) -> AsyncIterator[bytes]:
            yield request
            await taken.wait()
            yield request

        handlers = {"Turns": grpc.unary_stream_rpc_method_handler(serve)}
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Shop", handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            responses = stream(channel, "Turns")(text("x"))
            assert (await responses.read()).value == "x"
            taken.set()  # only now can the service send the second
            assert (await responses.read()).value == "x"
            assert await responses.read() is grpc.aio.EOF
        await server.stop(None)

    with use() as cassette:
        asyncio.run(main())
    assert len(cassette) == 1


@pytest.mark.parametrize("way", STREAM)
def test_a_stream_that_the_server_cuts_is_recorded_with_what_had_come(
    shop: Shop, use: Use, unreachable: Gone, way: Any
) -> None:
    with use() as cassette:
        recorded = way(shop.target, "Cut")
    assert (len(recorded.messages), recorded.code) == (1, grpc.StatusCode.UNAVAILABLE)
    assert len(cassette) == 1
    with unreachable(shop), use(record_mode="none"):
        assert way(shop.target, "Cut") == recorded


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("leave", ["cancel", "drop", "keep"])
@pytest.mark.parametrize("read", [0, 1])
def test_a_stream_that_is_left_is_recorded_as_far_as_it_was_read(
    shop: Shop, use: Use, unreachable: Gone, tmp_path: Path, leave: str, read: int
) -> None:
    def go() -> list[Any]:
        channel = grpc.insecure_channel(shop.target)
        responses = stream(channel, "Held")(text("x"))
        assert [next(responses).value for _ in range(read)] == ["x"] * read
        if leave == "keep":  # the channel as well, or its end would end the stream
            return [responses.cancel, channel.close]
        if leave == "cancel":
            assert responses.cancel()
            assert responses.cancelled()
            assert responses.code() is grpc.StatusCode.CANCELLED
            with pytest.raises(grpc.RpcError) as raised:
                next(responses)
            assert raised.value is responses
            del raised
        del responses
        gc.collect()
        return [channel.close]

    with use() as cassette:
        after = go()
    for end in after:
        end()
    (response,) = cassette.responses
    assert response["grpc"] == {"left_by_caller": True, "stream": True}
    assert response["headers"].get("greeting", []) == ["hello", "again"] * read
    assert len(json.loads(response["body"]["string"])["messages"]) == read
    shop.service.hold.set()
    with use(tmp_path / "whole.yaml"):
        assert len(iterate(shop.target, "Held").messages) == 2
    with unreachable(shop):
        for path in (None, tmp_path / "whole.yaml"):
            with use(path, record_mode="none") as cassette:
                after = go()
            assert cassette.all_played
            for end in after:
                end()


def test_reading_on_where_the_recording_was_left_is_an_error_that_says_so(shop: Shop, use: Use) -> None:
    async def proceed() -> None:
        async with grpc.aio.insecure_channel(shop.target) as channel:
            responses = stream(channel, "Held")(text("x"))
            await responses.read()
            await responses.read()

    with use(), grpc.insecure_channel(shop.target) as channel:
        responses = stream(channel, "Held")(text("x"))
        next(responses)
        responses.cancel()
    with use(record_mode="none", allow_playback_repeats=True), grpc.insecure_channel(shop.target) as channel:
        responses = stream(channel, "Held")(text("x"))
        next(responses)
        with pytest.raises(vcr_grpc.LeftEarly, match="left this stream after 1 messages"):
            next(responses)
        with pytest.raises(vcr_grpc.LeftEarly):
            asyncio.run(proceed())


@pytest.mark.parametrize("by", ["read", "iteration"])
def test_an_asyncio_stream_that_is_left_is_recorded_as_far_as_it_was_read(
    shop: Shop, use: Use, unreachable: Gone, tmp_path: Path, by: str
) -> None:
    async def go() -> list[Any]:
        async with grpc.aio.insecure_channel(shop.target) as channel:
            responses = stream(channel, "Held")(text("x"))
            take = responses.read if by == "read" else aiter(responses).__anext__
            first = await take()
            left = [responses.cancel(), responses.cancel()]
            with pytest.raises(asyncio.CancelledError):
                await take()
            return [first, *left, responses.cancelled(), await responses.code(), await responses.details()]

    with use() as cassette:
        recorded = asyncio.run(go())
    (response,) = cassette.responses
    assert response["grpc"] == {"left_by_caller": True, "stream": True}
    assert response["headers"]["greeting"] == ["hello", "again"]
    shop.service.hold.set()
    with use(tmp_path / "whole.yaml"):
        assert len(iterate(shop.target, "Held").messages) == 2
    with unreachable(shop):
        for path in (None, tmp_path / "whole.yaml"):
            with use(path, record_mode="none"):
                assert asyncio.run(go()) == recorded


def test_an_answer_that_the_client_did_not_wait_for_is_not_recorded(shop: Shop, use: Use) -> None:
    with use() as cassette, grpc.insecure_channel(shop.target) as channel:
        running = unary(channel, "Hang").future(text("x"))
    assert len(cassette) == 0
    assert running.done()


def _values(target: str, values: str) -> tuple[str, list[str]]:
    with grpc.insecure_channel(target) as channel:
        answer = unary(channel, "Say")(text(values)).value
        return answer, [message.value for message in stream(channel, "Count")(text(values))]


async def _aio_values(channel: Any, values: str) -> tuple[str, list[str]]:
    answer = await unary(channel, "Say")(text(values))
    return answer.value, [message.value async for message in stream(channel, "Count")(text(values))]


def test_many_threads_and_tasks_on_one_cassette_keep_each_calls_messages_together(
    shop: Shop, use: Use, unreachable: Gone
) -> None:
    async def tasks() -> list[Any]:
        async with grpc.aio.insecure_channel(shop.target) as channel:
            return await asyncio.gather(*(_aio_values(channel, f"task {n}") for n in range(16)))

    together = threading.Barrier(8)

    def number(_: int) -> str:
        with grpc.insecure_channel(shop.target) as channel:
            together.wait()
            return str(unary(channel, "Number")(text("x")).value)

    def go() -> list[Any]:
        with ThreadPoolExecutor(8) as threads:
            assert sorted(threads.map(number, range(8))) == list("12345678")  # equal calls: an answer for each
            found = list(threads.map(lambda n: _values(shop.target, f"thread {n}"), range(16)))
        return found + asyncio.run(tasks())

    with use() as cassette:
        recorded = go()
    assert len(cassette) == 72
    assert [values for _, many in recorded for values in many] == [
        f"{kind} {n} {m}" for kind in ("thread", "task") for n in range(16) for m in range(4)
    ]
    with unreachable(shop), use(record_mode="none") as cassette:
        assert go() == recorded
    assert cassette.all_played


def test_finding_an_answer_and_marking_it_played_is_one_step(shop: Shop, use: Use, tmp_path: Path) -> None:
    """While one thread takes the only answer, another one asks the same: it waits, and learns that none is left."""
    over = threading.Event()
    others: list[threading.Thread] = []
    got: list[tuple[bool, str]] = []  # whether the other thread got it
    looks: list[Any] = []

    def ask() -> None:
        is_other = threading.current_thread() in others
        with grpc.insecure_channel(shop.target) as channel:
            try:
                got.append((is_other, unary(channel, "Number")(text("x")).value))
            except Exception as error:
                got.append((is_other, type(error).__name__))
        if is_other:
            over.set()

    def same(request: Any, recorded: Any) -> bool:
        looks.append(request)
        if len(looks) == 2:  # found; about to be marked
            others.append(threading.Thread(target=ask))
            others[0].start()
            over.wait(0.5)  # in vain, as it should be
        return True

    with use():
        ask()
    my_vcr = vcr.VCR(custom_patches=vcr_grpc.custom_patches(), record_mode="none", match_on=("same",))
    my_vcr.register_matcher("same", same)
    with my_vcr.use_cassette(tmp_path / "c.yaml"):
        ask()
        others[0].join()
    assert sorted(got) == [(False, "1"), (False, "1"), (True, "CallNotRecorded")]
