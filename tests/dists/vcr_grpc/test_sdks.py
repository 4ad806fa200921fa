"""The official SDKs, unpatched: xai-sdk over gRPC, openai and anthropic over HTTP beside it in the same cassette."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import grpc
import openai
import pytest
from xai_sdk import AsyncClient, Client
from xai_sdk.chat import user

from toolparity.cassettes import vcr_grpc

from .conftest import Use
from .providers import UNKNOWN_FIELD, GrpcServer, HttpServer
from .servers import Listener

pytestmark = pytest.mark.service("dists/vcrpy-grpc")

KEY = "key-of-nobody"
MESSAGES: Any = [{"role": "user", "content": "hi"}]


@pytest.fixture
def xai() -> Iterator[GrpcServer]:
    server = GrpcServer()
    yield server
    server.stop()


def client(target: str) -> Client:
    return Client(api_key=KEY, api_host=target, use_insecure_channel=True)


def async_client(target: str) -> AsyncClient:
    return AsyncClient(api_key=KEY, api_host=target, use_insecure_channel=True)


def seen(error: Any) -> tuple[Any, ...]:
    return type(error), error.code(), error.details(), [(name, value) for name, value in error.trailing_metadata()]


def blocking(xai: Client) -> list[Any]:
    """Everything that the SDK does with a chat; messages as their bytes, errors as what they report."""
    found: list[Any] = []
    chat = xai.chat.create(model="grok", messages=[user("hi")])
    found.append(chat.sample().proto)
    found += [responses.proto for pair in chat.stream() for responses in pair]
    found.append(chat.defer(interval=datetime.timedelta(milliseconds=1)).proto)
    refused = xai.chat.create(model="bad", messages=[user("hi")])
    with pytest.raises(grpc.RpcError) as raised:
        refused.sample()
    found.append(seen(raised.value))
    with pytest.raises(grpc.RpcError) as raised:
        found.extend(chunk.proto for _, chunk in refused.stream())
    found.append(seen(raised.value))
    return [entry if isinstance(entry, tuple) else (entry, entry.SerializeToString()) for entry in found]


async def drain(stream: Any, into: list[Any]) -> None:
    async for _, chunk in stream:
        into.append(chunk.proto)


async def concurrent(xai: AsyncClient) -> list[Any]:
    """The same with the other client."""
    found: list[Any] = []
    chat = xai.chat.create(model="grok", messages=[user("hi")])
    found.append((await chat.sample()).proto)
    found += [responses.proto async for pair in chat.stream() for responses in pair]
    found.append((await chat.defer(interval=datetime.timedelta(milliseconds=1))).proto)
    refused = xai.chat.create(model="bad", messages=[user("hi")])
    with pytest.raises(grpc.RpcError) as raised:
        await refused.sample()
    found.append(seen(raised.value))
    with pytest.raises(grpc.RpcError) as raised:
        await drain(refused.stream(), found)
    found.append(seen(raised.value))
    return [entry if isinstance(entry, tuple) else (entry, entry.SerializeToString()) for entry in found]


def run_blocking(target: str) -> list[Any]:
    with client(target) as xai:
        return blocking(xai)


def run_concurrent(target: str) -> list[Any]:
    async def main() -> list[Any]:
        async with async_client(target) as xai:
            return await concurrent(xai)

    return asyncio.run(main())


@pytest.mark.parametrize("run", [run_blocking, run_concurrent])
def test_xai_sdk_gets_from_the_cassette_what_it_got_from_the_server(
    xai: GrpcServer, use: Use, run: Callable[[str], list[Any]]
) -> None:
    with use() as cassette:
        recorded = run(xai.target)
    assert recorded[0][1].endswith(UNKNOWN_FIELD)
    assert [entry[1] for entry in recorded if entry[0] is not None and isinstance(entry[1], grpc.StatusCode)] == [
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    ]
    methods = [request.path.rpartition("/")[2] for request in cassette.requests]
    assert methods.count("GetDeferredCompletion") == 3
    xai.stop()
    listener = Listener(xai.port)
    with use(record_mode="none") as cassette:
        assert run(xai.target) == recorded
    assert cassette.all_played
    assert listener.visits == 0
    listener.close()


def test_a_client_made_before_the_cassette_is_recorded_as_well(xai: GrpcServer, use: Use) -> None:
    with client(xai.target) as made_before:
        chat = made_before.chat.create(model="grok", messages=[user("hi")])
        with use() as cassette:
            chat.sample()
            list(chat.stream())
        chat.sample()
    assert len(cassette) == 2


def test_under_none_an_unknown_question_of_xai_sdk_is_an_error_and_nothing_is_sent(xai: GrpcServer, use: Use) -> None:
    async def ask() -> None:
        async with async_client(xai.target) as asking:
            await asking.chat.create(model="grok", messages=[user("other")]).sample()

    with use(), client(xai.target) as asking:
        asking.chat.create(model="grok", messages=[user("hi")]).sample()
    xai.stop()
    listener = Listener(xai.port)
    with use(record_mode="none"), client(xai.target) as asking:
        chat = asking.chat.create(model="grok", messages=[user("other")])
        differs = r'messages\[0\]\.content\[0\]\.text: recorded "hi", now "other"'
        with pytest.raises(vcr_grpc.CallNotRecorded, match=differs):
            chat.sample()
        with pytest.raises(vcr_grpc.CallNotRecorded):
            list(chat.stream())
        with pytest.raises(vcr_grpc.CallNotRecorded):
            asyncio.run(ask())
    assert listener.visits == 0
    listener.close()


def _everything(http: str, grpc_target: str) -> list[Any]:
    """Three SDKs, synchronous and asyncio, plain and streamed."""
    found: list[Any] = []
    with (
        openai.OpenAI(base_url=f"{http}/v1", api_key=KEY, max_retries=0) as o,
        anthropic.Anthropic(base_url=http, api_key=KEY, max_retries=0) as a,
        client(grpc_target) as x,
    ):
        found.append(o.chat.completions.create(model="m", messages=MESSAGES))
        found += list(o.chat.completions.create(model="m", messages=MESSAGES, stream=True))
        found.append(a.messages.create(model="m", max_tokens=9, messages=MESSAGES))
        found += list(a.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True))
        found += blocking(x)

    async def main() -> None:
        async with (
            openai.AsyncOpenAI(base_url=f"{http}/v1", api_key=KEY, max_retries=0) as o,
            anthropic.AsyncAnthropic(base_url=http, api_key=KEY, max_retries=0) as a,
            async_client(grpc_target) as x,
        ):
            found.append(await o.chat.completions.create(model="m", messages=MESSAGES))
            found.extend([e async for e in await o.chat.completions.create(model="m", messages=MESSAGES, stream=True)])
            found.append(await a.messages.create(model="m", max_tokens=9, messages=MESSAGES))
            found.extend(
                [e async for e in await a.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True)]
            )
            found.extend(await concurrent(x))

    asyncio.run(main())
    return found


def test_one_cassette_serves_openai_anthropic_and_xai_sdk_with_the_servers_down(xai: GrpcServer, use: Use) -> None:
    http = HttpServer()
    with use() as cassette:
        recorded = _everything(http.url, xai.target)
    http.stop()
    xai.stop()
    assert {request.scheme for request in cassette.requests} == {"http", "grpc"}
    listeners = [Listener(http.port), Listener(xai.port)]
    with use(record_mode="none") as cassette:
        assert _everything(http.url, xai.target) == recorded
    assert cassette.all_played
    assert [listener.visits for listener in listeners] == [0, 0]
    for listener in listeners:
        listener.close()
