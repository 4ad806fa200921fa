"""The ways to call a method: blocking, as a future, streamed, in asyncio; each gives what the client sees of a call."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, NamedTuple

import grpc
from google.protobuf.wrappers_pb2 import StringValue

from .servers import text

#: A separate channel for each call: grpc keeps one to each address, and its pause before the next attempt to connect.
OPTIONS = [("grpc.use_local_subchannel_pool", 1)]


class Outcome(NamedTuple):
    """What the client sees of a call: messages, their bytes, the status, metadata, and the class of the exception."""

    messages: list[Any]
    bytes: list[bytes]
    code: Any
    details: Any
    initial: Any
    trailing: Any
    raised: str


Way = Callable[..., Outcome]


def of(channel: Any, kind: str, method: str) -> Any:
    serializers = {"request_serializer": StringValue.SerializeToString, "response_deserializer": StringValue.FromString}
    return getattr(channel, kind)(f"/test.Shop/{method}", **serializers)


def unary(channel: Any, method: str) -> Any:
    return of(channel, "unary_unary", method)


def stream(channel: Any, method: str) -> Any:
    return of(channel, "unary_stream", method)


def _outcome(messages: list[Any], responses: Any, raised: str = "") -> Outcome:
    ended = (responses.code(), responses.details())
    metadata = (list(responses.initial_metadata()), list(responses.trailing_metadata()))
    return Outcome(messages, [m.SerializeToString() for m in messages], *ended, *metadata, raised)


def _read(responses: Any, after: Callable[[], Any] = lambda: None) -> Outcome:
    """The outcome of a blocking stream; ``after``: called after each message."""
    messages, raised = [], ""
    try:
        for message in responses:
            messages.append(message)
            after()
    except grpc.RpcError as error:
        raised = type(error).__name__
    return _outcome(messages, responses, raised)


def call(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    with grpc.insecure_channel(target, OPTIONS) as channel:
        try:
            answer, responses = unary(channel, method).with_call(text(values), **more)
        except grpc.RpcError as error:
            return _outcome([], error, type(error).__name__)
        return _outcome([answer], responses)


def _awaited_future(responses: Any) -> Outcome:
    try:
        return _outcome([responses.result(timeout=20)], responses)
    except grpc.RpcError as error:
        return _outcome([], responses, type(error).__name__)


def future(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    with grpc.insecure_channel(target, OPTIONS) as channel:
        return _awaited_future(unary(channel, method).future(text(values), **more))


def iterate(target: str, method: str, values: str = "x", options: Any = (), **more: Any) -> Outcome:
    with grpc.insecure_channel(target, [*OPTIONS, *options]) as channel:
        return _read(stream(channel, method)(text(values), **more))


def iterate_on_one_thread(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    """The option that xai-sdk sets."""
    return iterate(target, method, values, [(grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1)], **more)


def _in_asyncio(target: str, start: Callable[[Any], Any], read: Callable[[Any], AsyncIterator[Any]]) -> Outcome:
    """The outcome of the call that ``start`` starts on a channel and whose messages ``read`` returns."""

    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            responses = start(channel)
            messages, raised = [], ""
            try:
                async for message in read(responses):
                    messages.append(message)
            except grpc.aio.AioRpcError as error:
                raised = type(error).__name__
            ended = (await responses.code(), await responses.details())
            metadata = (list(await responses.initial_metadata()), list(await responses.trailing_metadata()))
            return Outcome(messages, [m.SerializeToString() for m in messages], *ended, *metadata, raised)

    return asyncio.run(main())


async def _only(responses: Any) -> AsyncIterator[Any]:
    yield await responses


async def _reads(responses: Any) -> AsyncIterator[Any]:
    while (message := await responses.read()) is not grpc.aio.EOF:
        yield message


def awaited(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    return _in_asyncio(target, lambda channel: unary(channel, method)(text(values), **more), _only)


def async_for(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    return _in_asyncio(target, lambda channel: stream(channel, method)(text(values), **more), aiter)


def reads(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    return _in_asyncio(target, lambda channel: stream(channel, method)(text(values), **more), _reads)


UNARY: list[Way] = [call, future, awaited]
STREAM: list[Way] = [iterate, iterate_on_one_thread, async_for, reads]


# Calls with a stream of requests


def with_call(target: str, method: str, words: list[str]) -> Outcome:
    with grpc.insecure_channel(target) as channel:
        try:
            answer, responses = of(channel, "stream_unary", method).with_call(map(text, words))
        except grpc.RpcError as error:
            return _outcome([], error, type(error).__name__)
        return _outcome([answer], responses)


def upload_future(target: str, method: str, words: list[str]) -> Outcome:
    with grpc.insecure_channel(target) as channel:
        return _awaited_future(of(channel, "stream_unary", method).future(map(text, words)))


def aio_iterator(target: str, method: str, words: list[str]) -> Outcome:
    async def requests() -> AsyncIterator[StringValue]:
        for word in words:
            yield text(word)

    return _in_asyncio(target, lambda channel: of(channel, "stream_unary", method)(requests()), _only)


def aio_writes(target: str, method: str, words: list[str]) -> Outcome:
    async def read(responses: Any) -> AsyncIterator[Any]:
        for word in words:
            await responses.write(text(word))
        await responses.done_writing()
        yield await responses

    return _in_asyncio(target, lambda channel: of(channel, "stream_unary", method)(), read)


def chat(target: str, method: str, words: list[str]) -> Outcome:
    """Say the next word only after the answer to the last one."""
    with grpc.insecure_channel(target) as channel:
        waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        rest = iter(words)

        def proceed() -> None:
            waiting.put(next(rest, None))

        responses = of(channel, "stream_stream", method)(map(text, iter(waiting.get, None)))
        proceed()
        seen = _read(responses, proceed)
        waiting.put(None)
        return seen


def all_at_once(target: str, method: str, words: Iterable[str]) -> Outcome:
    with grpc.insecure_channel(target) as channel:
        return _read(of(channel, "stream_stream", method)(map(text, words)))


def aio_chat(target: str, method: str, words: list[str]) -> Outcome:
    async def read(responses: Any) -> AsyncIterator[Any]:
        for word in words:
            await responses.write(text(word))
            yield await responses.read()
        await responses.done_writing()
        async for message in _reads(responses):
            yield message

    return _in_asyncio(target, lambda channel: of(channel, "stream_stream", method)(), read)


def aio_for(target: str, method: str, words: list[str]) -> Outcome:
    return _in_asyncio(target, lambda channel: of(channel, "stream_stream", method)(map(text, words)), aiter)


UPLOADS: list[Way] = [with_call, upload_future, aio_iterator, aio_writes]
CHATS: list[Way] = [chat, all_at_once, aio_chat, aio_for]
