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


def call(target: str, method: str, said: str = "x", **more: Any) -> Outcome:
    with grpc.insecure_channel(target, OPTIONS) as channel:
        try:
            answer, told = unary(channel, method).with_call(text(said), **more)
        except grpc.RpcError as error:
            return _outcome([], error, type(error).__name__)
        return _outcome([answer], told)


def future(target: str, method: str, said: str = "x", **more: Any) -> Outcome:
    with grpc.insecure_channel(target, OPTIONS) as channel:
        told = unary(channel, method).future(text(said), **more)
        try:
            answer = told.result()
        except grpc.RpcError as error:
            return _outcome([], told, type(error).__name__)
        return _outcome([answer], told)


def iterate(target: str, method: str, said: str = "x", options: Any = (), **more: Any) -> Outcome:
    with grpc.insecure_channel(target, [*OPTIONS, *options]) as channel:
        told = stream(channel, method)(text(said), **more)
        messages = []
        try:
            for message in told:
                messages.append(message)
        except grpc.RpcError as error:
            return _outcome(messages, told, type(error).__name__)
        return _outcome(messages, told)


def iterate_on_one_thread(target: str, method: str, said: str = "x", **more: Any) -> Outcome:
    return iterate(target, method, said, [(grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1)], **more)


def awaited(target: str, method: str, said: str = "x", **more: Any) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            told = unary(channel, method)(text(said), **more)
            messages, raised = [], ""
            try:
                messages.append(await told)
            except grpc.aio.AioRpcError as error:
                raised = type(error).__name__
            return await _aio_outcome(messages, told, raised)

    return asyncio.run(main())


def async_for(target: str, method: str, said: str = "x", **more: Any) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            told = stream(channel, method)(text(said), **more)
            messages, raised = [], ""
            try:
                async for message in told:
                    messages.append(message)
            except grpc.aio.AioRpcError as error:
                raised = type(error).__name__
            return await _aio_outcome(messages, told, raised)

    return asyncio.run(main())


def reads(target: str, method: str, said: str = "x", **more: Any) -> Outcome:
    async def main() -> Outcome:
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            told = stream(channel, method)(text(said), **more)
            messages, raised = [], ""
            try:
                while (message := await told.read()) is not grpc.aio.EOF:
                    messages.append(message)
            except grpc.aio.AioRpcError as error:
                raised = type(error).__name__
            return await _aio_outcome(messages, told, raised)

    return asyncio.run(main())


UNARY: list[Callable[..., Outcome]] = [call, future, awaited]
STREAM: list[Callable[..., Outcome]] = [iterate, iterate_on_one_thread, async_for, reads]


def _outcome(messages: list[Any], told: Any, raised: str = "") -> Outcome:
    return Outcome(
        messages,
        [message.SerializeToString() for message in messages],
        told.code(),
        told.details(),
        sorted(told.initial_metadata()),
        sorted(told.trailing_metadata()),
        raised,
    )


async def _aio_outcome(messages: list[Any], told: Any, raised: str) -> Outcome:
    return Outcome(
        messages,
        [message.SerializeToString() for message in messages],
        await told.code(),
        await told.details(),
        sorted(await told.initial_metadata()),
        sorted(await told.trailing_metadata()),
        raised,
    )
