"""A service with all four kinds of calls, and the ways to call its methods with a stream of requests."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
from google.protobuf.wrappers_pb2 import StringValue

from .callers import text


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
            "Linger": grpc.stream_stream_rpc_method_handler,
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

    def _linger(self, requests: Iterator[Any], context: Any) -> Iterator[StringValue]:
        self.calls.append("Linger")
        yield text(f"first {next(requests).value}")
        self.hold.wait(30)


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


Outcome = list[Any]
Way = Callable[[str, str, list[str]], Outcome]


def of(channel: Any, kind: str, method: str) -> Any:
    made = getattr(channel, kind)
    return made(
        f"/example.Route/{method}",
        request_serializer=StringValue.SerializeToString,
        response_deserializer=StringValue.FromString,
    )


def outcome(call: Any, values: list[Any]) -> Outcome:
    return [*[message.value for message in values], call.code(), call.details(), dict(call.trailing_metadata())]


def with_call(target: str, method: str, words: list[str]) -> Outcome:
    with grpc.insecure_channel(target) as channel:
        try:
            answer, call = of(channel, "stream_unary", method).with_call(map(text, words))
        except grpc.RpcError as error:
            return outcome(error, [])
        return [*outcome(call, [answer]), dict(call.initial_metadata())]


def future(target: str, method: str, words: list[str]) -> Outcome:
    with grpc.insecure_channel(target) as channel:
        call = of(channel, "stream_unary", method).future(map(text, words))
        try:
            answer = call.result(timeout=20)
        except grpc.RpcError:
            return outcome(call, [])
        return [*outcome(call, [answer]), dict(call.initial_metadata())]


def aio_iterator(target: str, method: str, words: list[str]) -> Outcome:
    async def main() -> Outcome:
        async def requests() -> AsyncIterator[StringValue]:
            for word in words:
                yield text(word)

        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_unary", method)(requests())
            return await aio_unary_outcome(call)

    return asyncio.run(main())


def aio_writes(target: str, method: str, words: list[str]) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_unary", method)()
            for word in words:
                await call.write(text(word))
            await call.done_writing()
            return await aio_unary_outcome(call)

    return asyncio.run(main())


async def aio_unary_outcome(call: Any) -> Outcome:
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return outcome(error, [])
    values = [answer.value, await call.code(), await call.details(), dict(await call.trailing_metadata())]
    return [*values, dict(await call.initial_metadata())]


def chat(target: str, method: str, words: list[str]) -> Outcome:
    """Say the next word only after the answer to the last one."""
    with grpc.insecure_channel(target) as channel:
        waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        call = of(channel, "stream_stream", method)(map(text, iter(waiting.get, None)))
        values = []
        rest = iter(words)
        waiting.put(next(rest))
        try:
            for message in call:
                values.append(message)
                waiting.put(next(rest, None))
        except grpc.RpcError:
            waiting.put(None)
        return outcome(call, values)


def all_at_once(target: str, method: str, words: list[str]) -> Outcome:
    with grpc.insecure_channel(target) as channel:
        call = of(channel, "stream_stream", method)(map(text, words))
        values = []
        try:
            for message in call:
                values.append(message)
        except grpc.RpcError:
            pass
        return outcome(call, values)


async def aio_outcome(call: Any, messages: list[Any]) -> Outcome:
    """The outcome of a call of asyncio: its messages and its status."""
    code, details = await call.code(), await call.details()
    return [*[m.value for m in messages], code, details, dict(await call.trailing_metadata())]


def aio_chat(target: str, method: str, words: list[str]) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_stream", method)()
            values = []
            try:
                for word in words:
                    await call.write(text(word))
                    values.append(await call.read())
                await call.done_writing()
                while (message := await call.read()) is not grpc.aio.EOF:
                    values.append(message)
            except grpc.aio.AioRpcError:
                pass
            return await aio_outcome(call, values)

    return asyncio.run(main())


def aio_for(target: str, method: str, words: list[str]) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target) as channel:
            call = of(channel, "stream_stream", method)(map(text, words))
            values = []
            try:
                async for message in call:
                    values.append(message)
            except grpc.aio.AioRpcError:
                pass
            return await aio_outcome(call, values)

    return asyncio.run(main())
