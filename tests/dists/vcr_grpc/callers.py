"""The ways to call a method, each given as one `Outcome`, so that two runs can be compared object by object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
from google.protobuf.wrappers_pb2 import StringValue

OPTIONS = [("grpc.enable_retries", 0)]


class Outcome(NamedTuple):
    """What a caller saw. ``raised``: the class of the exception, by name; ``bytes``: each message as it was."""

    messages: list[Any]
    bytes: list[bytes]
    code: Any
    details: Any
    initial: Any
    trailing: Any
    raised: str


def text(value: str) -> StringValue:
    return StringValue(value=value)


def unary(channel: Any, method: str) -> Any:
    return channel.unary_unary(
        f"/test.Shop/{method}",
        request_serializer=StringValue.SerializeToString,
        response_deserializer=StringValue.FromString,
    )


def stream(channel: Any, method: str) -> Any:
    return channel.unary_stream(
        f"/test.Shop/{method}",
        request_serializer=StringValue.SerializeToString,
        response_deserializer=StringValue.FromString,
    )


def call(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    with grpc.insecure_channel(target, OPTIONS) as channel:
        try:
            answer, responses = unary(channel, method).with_call(text(values), **more)
        except grpc.RpcError as error:
            return _outcome([], error, type(error).__name__)
        return _outcome([answer], responses)


def future(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    with grpc.insecure_channel(target, OPTIONS) as channel:
        responses = unary(channel, method).future(text(values), **more)
        try:
            answer = responses.result()
        except grpc.RpcError as error:
            return _outcome([], responses, type(error).__name__)
        return _outcome([answer], responses)


def iterate(target: str, method: str, values: str = "x", options: Any = (), **more: Any) -> Outcome:
    with grpc.insecure_channel(target, [*OPTIONS, *options]) as channel:
        responses = stream(channel, method)(text(values), **more)
        messages = []
        try:
            for message in responses:
                messages.append(message)
        except grpc.RpcError as error:
            return _outcome(messages, responses, type(error).__name__)
        return _outcome(messages, responses)


def iterate_on_one_thread(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    return iterate(target, method, values, [(grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1)], **more)


def awaited(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            responses = unary(channel, method)(text(values), **more)
            messages, raised = [], ""
            try:
                messages.append(await responses)
            except grpc.aio.AioRpcError as error:
                raised = type(error).__name__
            return await _aio_outcome(messages, responses, raised)

    return asyncio.run(main())


def async_for(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            responses = stream(channel, method)(text(values), **more)
            messages, raised = [], ""
            try:
                async for message in responses:
                    messages.append(message)
            except grpc.aio.AioRpcError as error:
                raised = type(error).__name__
            return await _aio_outcome(messages, responses, raised)

    return asyncio.run(main())


def reads(target: str, method: str, values: str = "x", **more: Any) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            responses = stream(channel, method)(text(values), **more)
            messages, raised = [], ""
            try:
                while (message := await responses.read()) is not grpc.aio.EOF:
                    messages.append(message)
            except grpc.aio.AioRpcError as error:
                raised = type(error).__name__
            return await _aio_outcome(messages, responses, raised)

    return asyncio.run(main())


UNARY: list[Callable[..., Outcome]] = [call, future, awaited]
STREAM: list[Callable[..., Outcome]] = [iterate, iterate_on_one_thread, async_for, reads]


def _outcome(messages: list[Any], responses: Any, raised: str = "") -> Outcome:
    return Outcome(
        messages,
        [message.SerializeToString() for message in messages],
        responses.code(),
        responses.details(),
        sorted(responses.initial_metadata()),
        sorted(responses.trailing_metadata()),
        raised,
    )


async def _aio_outcome(messages: list[Any], responses: Any, raised: str) -> Outcome:
    return Outcome(
        messages,
        [message.SerializeToString() for message in messages],
        await responses.code(),
        await responses.details(),
        sorted(await responses.initial_metadata()),
        sorted(await responses.trailing_metadata()),
        raised,
    )
