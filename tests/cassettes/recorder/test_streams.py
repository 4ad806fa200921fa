"""A caller gets a stream while it is recorded; the recording is the whole body, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.cassettes.fixture.servers import Server
from toolparity.cassettes.recorder.vcr import recording

FIRST = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}\n\n'
LAST = b"data: [DONE]\n\n: behind the end\n\n"
WHOLE = [FIRST + FIRST + LAST]
QUESTION: Any = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "stream": True}


@pytest.fixture
def slow() -> Iterator[Server]:
    """A server that sends the first event, and the rest only on demand."""
    running = Server([FIRST, FIRST, LAST])
    yield running
    running.stop()


def client(slow: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{slow.url}/v1", api_key="k", max_retries=0, timeout=20)


def bodies(cassette: Any) -> list[bytes]:
    return [response["body"]["string"] for _, response in cassette.data]


def test_the_first_event_does_not_wait_for_the_last(slow: Server) -> None:
    addresses = {f"{slow.url}/v1": "https://api.example.com/v1"}
    with recording(addresses) as cassette, client(slow) as sdk, sdk.chat.completions.create(**QUESTION) as stream:
        assert next(stream).id == "c"  # the server has not sent more than this
        assert not slow.release.is_set()
        assert len(cassette) == 0
        slow.release.set()
        assert len(list(stream)) == 1
    assert [request.uri for request, _ in cassette.data] == ["https://api.example.com/v1/chat/completions"]
    assert bodies(cassette) == WHOLE
    with client(slow) as sdk:
        assert len(list(sdk.chat.completions.create(**QUESTION))) == 2
    assert len(cassette.data) == 1, "nothing is recorded after the recording"


def test_the_first_event_does_not_wait_in_asyncio_or_in_another_sdk(slow: Server) -> None:
    async def talk() -> list[str]:
        sdk = openai.AsyncOpenAI(base_url=f"{slow.url}/v1", api_key="k", max_retries=0, timeout=20)
        async with sdk, await sdk.chat.completions.create(**QUESTION) as stream:
            ids = [(await anext(aiter(stream))).id]
            assert not slow.release.is_set()
            slow.release.set()
            return ids + [chunk.id async for chunk in stream]

    with recording({}) as cassette:
        assert asyncio.run(talk()) == ["c", "c"]
        slow.release.clear()
        question = {**QUESTION, "model": "claude-sonnet-4-6", "max_tokens": 9}
        sdk = anthropic.Anthropic(base_url=slow.url, api_key="k", max_retries=0, timeout=20)
        with sdk, sdk.messages.create(**question) as stream:
            assert not slow.release.is_set()
            slow.release.set()
            assert list(stream) == []  # these are not events of this SDK's
    assert bodies(cassette) == WHOLE * 2


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
@pytest.mark.parametrize("breaks", [False, True])
def test_a_caller_that_leaves_or_fails_leaves_a_whole_body_or_none(slow: Server, breaks: bool, error: Any) -> None:
    slow.breaks = breaks
    with recording({}) as cassette, client(slow) as sdk:
        with suppress(ZeroDivisionError), sdk.chat.completions.create(**QUESTION) as stream:
            next(stream)
            slow.release.set()
            if error:
                raise error
        if breaks:
            with sdk.chat.completions.create(**QUESTION) as stream, pytest.raises(openai.APIConnectionError):
                list(stream)
        assert bodies(cassette) == ([] if breaks else WHOLE)


def test_a_body_that_breaks_off_is_not_recorded_even_if_the_caller_keeps_what_came(slow: Server) -> None:
    async def talk() -> None:
        async with httpx2.AsyncHTTPTransport() as transport:
            request = httpx2.Request("POST", f"{slow.url}/v1/chat/completions", json=QUESTION)
            response = await transport.handle_async_request(request)
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            with suppress(httpx2.RemoteProtocolError):
                assert [part async for part in response.stream] == []  # not reached: the body has no end
            await response.stream.aclose()

    slow.breaks = True
    slow.release.set()
    with recording({}) as cassette, httpx2.HTTPTransport() as transport:
        asyncio.run(talk())
        response = transport.handle_request(httpx2.Request("POST", f"{slow.url}/v1/chat/completions", json=QUESTION))
        assert isinstance(response.stream, httpx2.SyncByteStream)
        with suppress(httpx2.RemoteProtocolError):
            assert list(response.stream) == []  # not reached, either
        response.stream.close()
        assert cassette.data == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_an_interrupted_caller_does_not_wait_for_the_rest(slow: Server, error: type[BaseException]) -> None:
    def interrupt(sdk: openai.OpenAI) -> None:
        with sdk.chat.completions.create(**QUESTION) as stream:
            next(stream)
            raise error

    with recording({}) as cassette, client(slow) as sdk:
        with pytest.raises(error):
            interrupt(sdk)
        assert not slow.release.is_set()
        assert cassette.data == []
