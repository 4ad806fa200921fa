"""The official SDKs, unpatched: xai-sdk over gRPC, openai and anthropic over HTTP beside it in the same cassette."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
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


def test_a_client_made_before_the_cassette_is_recorded_and_another_question_reaches_no_server(
    xai: GrpcServer, use: Use
) -> None:
    async def ask() -> None:
        async with async_client(xai.target) as asking:
            await asking.chat.create(model="grok", messages=[user("other")]).sample()

    with client(xai.target) as early:
        known = early.chat.create(model="grok", messages=[user("hi")])
        with use() as cassette:
            known.sample()
            list(known.stream())
        known.sample()
    assert len(cassette) == 2
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
    methods = [request.path.rpartition("/")[2] for request in cassette.requests]
    assert methods.count("GetDeferredCompletion") == 6
    codes = [entry[1] for entry in recorded if isinstance(entry, tuple) and isinstance(entry[1], grpc.StatusCode)]
    assert codes == [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED] * 2
    sent = [entry[1] for entry in recorded if isinstance(entry, tuple) and isinstance(entry[1], bytes)]
    assert any(data.endswith(UNKNOWN_FIELD) for data in sent)
    listeners = [Listener(http.port), Listener(xai.port)]
    with use(record_mode="none") as cassette:
        assert _everything(http.url, xai.target) == recorded
    assert cassette.all_played
    assert [listener.visits for listener in listeners] == [0, 0]
    for listener in listeners:
        listener.close()
