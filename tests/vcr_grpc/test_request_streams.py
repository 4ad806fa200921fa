"""Calls with a stream of requests, blocking and asyncio: recorded, and played in the recorded order."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from google.protobuf.wrappers_pb2 import StringValue

from toolparity.cassettes import vcr_grpc

from .callers import text
from .conftest import Use


class Route(grpc.GenericRpcHandler):
    """A service with all four kinds of calls, after grpc's example "route guide"; it counts its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.hold = threading.Event()

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        make = {
            "GetFeature": grpc.unary_unary_rpc_method_handler,
            "Hang": grpc.unary_unary_rpc_method_handler,
            "ListFeatures": grpc.unary_stream_rpc_method_handler,
            "RecordRoute": grpc.stream_unary_rpc_method_handler,
            "Refuse": grpc.stream_unary_rpc_method_handler,
            "HangUp": grpc.stream_unary_rpc_method_handler,
            "RouteChat": grpc.stream_stream_rpc_method_handler,
            "Break": grpc.stream_stream_rpc_method_handler,
        }[name]
        return make(getattr(self, f"_{name.lower()}"), StringValue.FromString, StringValue.SerializeToString)

    def _getfeature(self, request: Any, context: Any) -> StringValue:
        self.calls.append("GetFeature")
        return text(f"at {request.value}")

    def _hang(self, request: Any, context: Any) -> StringValue:
        self.calls.append("Hang")
        self.hold.wait(30)
        return text("too late")

    def _listfeatures(self, request: Any, context: Any) -> Iterator[StringValue]:
        self.calls.append("ListFeatures")
        for number in range(3):
            yield text(f"{request.value} {number}")

    def _recordroute(self, requests: Iterator[Any], context: Any) -> StringValue:
        self.calls.append("RecordRoute")
        context.send_initial_metadata((("road", "long"),))
        context.set_trailing_metadata((("cost", "3"),))
        return text(" - ".join(request.value for request in requests))

    def _refuse(self, requests: Iterator[Any], context: Any) -> StringValue:
        self.calls.append("Refuse")
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"not {[request.value for request in requests]}")
        raise AssertionError

    def _hangup(self, requests: Iterator[Any], context: Any) -> StringValue:
        self.calls.append("HangUp")
        self.hold.wait(30)
        return text("too late")

    def _routechat(self, requests: Iterator[Any], context: Any) -> Iterator[StringValue]:
        self.calls.append("RouteChat")
        for request in requests:
            yield text(f"you said {request.value}")
        yield text("goodbye")

    def _break(self, requests: Iterator[Any], context: Any) -> Iterator[StringValue]:
        self.calls.append("Break")
        yield text(f"first {next(requests).value}")
        assert not list(requests)
        context.abort(grpc.StatusCode.DATA_LOSS, "the rest is gone")


class Running:
    def __init__(self) -> None:
        self.service = Route()
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((self.service,))
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self.service.hold.set()
        self._server.stop(0).wait()


@pytest.fixture
def route() -> Iterator[Running]:
    running = Running()
    yield running
    running.stop()


Said = list[Any]
Way = Callable[[str, str, list[str]], Said]


def of(channel: Any, kind: str, method: str) -> Any:
    made = getattr(channel, kind)
    return made(
        f"/example.Route/{method}",
        request_serializer=StringValue.SerializeToString,
        response_deserializer=StringValue.FromString,
    )


def outcome(call: Any, said: list[Any]) -> Said:
    return [*[message.value for message in said], call.code(), call.details(), dict(call.trailing_metadata())]


def with_call(target: str, method: str, words: list[str]) -> Said:
    with grpc.insecure_channel(target) as channel:
        try:
            answer, call = of(channel, "stream_unary", method).with_call(map(text, words))
        except grpc.RpcError as error:
            return outcome(error, [])
        return [*outcome(call, [answer]), dict(call.initial_metadata())]


def future(target: str, method: str, words: list[str]) -> Said:
    with grpc.insecure_channel(target) as channel:
        call = of(channel, "stream_unary", method).future(map(text, words))
        try:
            answer = call.result(timeout=20)
        except grpc.RpcError:
            return outcome(call, [])
        return [*outcome(call, [answer]), dict(call.initial_metadata())]


def aio_iterator(target: str, method: str, words: list[str]) -> Said:
    async def main() -> Said:
        async def requests() -> AsyncIterator[StringValue]:
            for word in words:
                yield text(word)

        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_unary", method)(requests())
            return await aio_unary_outcome(call)

    return asyncio.run(main())


def aio_writes(target: str, method: str, words: list[str]) -> Said:
    async def main() -> Said:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_unary", method)()
            for word in words:
                await call.write(text(word))
            await call.done_writing()
            return await aio_unary_outcome(call)

    return asyncio.run(main())


async def aio_unary_outcome(call: Any) -> Said:
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return outcome(error, [])
    said = [answer.value, await call.code(), await call.details(), dict(await call.trailing_metadata())]
    return [*said, dict(await call.initial_metadata())]


def chat(target: str, method: str, words: list[str]) -> Said:
    """Say the next word only after the answer to the last one."""
    with grpc.insecure_channel(target) as channel:
        waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        call = of(channel, "stream_stream", method)(map(text, iter(waiting.get, None)))
        said = []
        rest = iter(words)
        waiting.put(next(rest))
        try:
            for message in call:
                said.append(message)
                waiting.put(next(rest, None))
        except grpc.RpcError:
            waiting.put(None)
        return outcome(call, said)


def all_at_once(target: str, method: str, words: list[str]) -> Said:
    with grpc.insecure_channel(target) as channel:
        call = of(channel, "stream_stream", method)(map(text, words))
        said = []
        try:
            for message in call:
                said.append(message)
        except grpc.RpcError:
            pass
        return outcome(call, said)


def aio_chat(target: str, method: str, words: list[str]) -> Said:
    async def main() -> Said:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_stream", method)()
            said = []
            try:
                for word in words:
                    await call.write(text(word))
                    said.append(await call.read())
                await call.done_writing()
                while (message := await call.read()) is not grpc.aio.EOF:
                    said.append(message)
            except grpc.aio.AioRpcError:
                pass
            code, details = await call.code(), await call.details()
            return [*[m.value for m in said], code, details, dict(await call.trailing_metadata())]

    return asyncio.run(main())


def aio_for(target: str, method: str, words: list[str]) -> Said:
    async def main() -> Said:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_stream", method)(map(text, words))
            said = []
            try:
                async for message in call:
                    said.append(message)
            except grpc.aio.AioRpcError:
                pass
            code, details = await call.code(), await call.details()
            return [*[m.value for m in said], code, details, dict(await call.trailing_metadata())]

    return asyncio.run(main())


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
            assert grpc.StatusCode.INTERNAL in (said := way(route.target, method, words))
            assert any("nothing was sent" in str(each) for each in said)
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


def test_two_calls_that_begin_alike_are_told_apart_by_what_follows(route: Running, use: Use) -> None:
    with use():
        first = with_call(route.target, "RecordRoute", ["one", "two"])
        second = with_call(route.target, "RecordRoute", ["one", "three"])
    with use(record_mode="none") as cassette:
        assert with_call(route.target, "RecordRoute", ["one", "three"]) == second
        assert with_call(route.target, "RecordRoute", ["one", "two"]) == first
        assert cassette.all_played


def cancelled_future(target: str, method: str) -> Said:
    kind = "unary_unary" if method == "Hang" else "stream_unary"
    with grpc.insecure_channel(target) as channel:
        call = of(channel, kind, method).future(text("x") if kind == "unary_unary" else iter([text("x")]))
        threading.Event().wait(0.2)
        assert call.cancel()
        with pytest.raises(grpc.FutureCancelledError):
            call.result()
        return [call.cancelled(), call.code()]


def cancelled_task(target: str, method: str) -> Said:
    kind = "unary_unary" if method == "Hang" else "stream_unary"

    async def main() -> Said:
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


class Stop(BaseException):
    """Not an Exception, as sys.exit's is not."""


@pytest.mark.parametrize("error", [ValueError, Stop])
@pytest.mark.parametrize("way", [future])  # in both directions, the error can reach the client, whose channel it closes
def test_a_hook_that_raises_does_not_end_the_thread_of_the_channel(
    route: Running, use: Use, way: Way, error: type[BaseException]
) -> None:
    raises = iter([True])

    def hook(response: Any) -> Any:
        if next(raises, False):
            raise error("refused by the hook")
        return response

    method = "RecordRoute" if way is future else "RouteChat"
    raised = None
    try:
        with use(before_record_response=hook), grpc.insecure_channel(route.target) as channel:
            said = way(route.target, method, ["one"])
            assert of(channel, "unary_unary", "GetFeature")(text("home"), timeout=20).value == "at home"
    except (ValueError, Stop) as caught:
        raised = caught
    # The status carries the text, unless the client had it already: then closing the cassette raises.
    assert any("refused by the hook" in str(each) for each in said) != (raised is not None)
