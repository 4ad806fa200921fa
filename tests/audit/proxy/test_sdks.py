"""The official SDKs play the scenarios through the proxy as they do without it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from tests.audit.proxy.conftest import PATIENCE, Judgements, Proxied, proxying
from tests.support.thoroughness import sampled, spread
from toolparity.audit.proxy.observer import Observer
from toolparity.audit.proxy.transport import AsyncObservedTransport, ObservedTransport
from toolparity.cassettes.emulated.rpc import EmulatedChat
from toolparity.cassettes.emulated.servers import Servers, running, serving
from toolparity.cassettes.library import find, load
from toolparity.cassettes.recorder.script_driver import play
from toolparity.cassettes.recorder.sdks import Link
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import ToolparityError

pytestmark = pytest.mark.service("audit/proxy")

_ASKED: Any = [{"role": "user", "content": scripts()["parallel-three"].ask}]
_HTTP = [surface for surface in SURFACES.values() if not surface.by_messages]
#: Cassettes whose bodies pass byte for byte in the plain run.
_CASSETTES = 60
#: Some scripts of each surface and form. The bodies of cassettes pass byte for byte in a test below.
_PLAYED = [
    pytest.param(surface.name, script.id, stream, id=f"{surface.name}-{script.id}-{'stream' if stream else 'plain'}")
    for surface in _HTTP
    for stream in (False, True)
    for script in spread([script for script in scripts().values() if surface.plays(script)], 12)
]


@pytest.fixture(scope="module")
def providers() -> Iterator[Servers]:
    """The emulated providers."""
    with running() as servers:
        yield servers


@pytest.fixture(scope="module")
def proxied(providers: Servers) -> Iterator[Proxied]:
    """A proxy in front of the emulated providers."""
    with proxying(providers.http_url) as proxy:
        yield proxy


def _responses(base: str, surface: str, script: str, stream: bool) -> list[Any]:
    """Return what the SDK makes of the responses, or of an error."""
    responses: list[Any] = []
    try:
        for received in play(scripts()[script], SURFACES[surface], Link(base, "a-key"), stream=stream):
            responses.append(received.response)
    except Exception as error:  # an SDK's error class, for instance when the connection breaks
        responses.append(str(error) if isinstance(error, ToolparityError) else type(error).__name__)
    return responses


@pytest.mark.thorough(keep=1, per="{surface}")
@pytest.mark.parametrize(("surface", "script", "stream"), _PLAYED)
def test_a_sdk_reads_through_the_proxy_what_it_reads_without(
    providers: Servers, proxied: Proxied, surface: str, script: str, stream: bool
) -> None:
    path = SURFACES[surface].base_path
    direct = _responses(providers.http_url + path, surface, script, stream)
    assert _responses(proxied.url + path, surface, script, stream) == direct
    assert direct


async def _body(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request with its body as a stream, in pieces."""
    body = await Request(scope, receive).body()

    async def pieces() -> Any:
        for start in range(0, len(body), 97):
            yield body[start : start + 97]

    await StreamingResponse(pieces(), headers={"content-type": "text/event-stream"})(scope, receive, send)


def test_the_bodies_of_cassettes_pass_byte_for_byte() -> None:
    responses = [response for place in sampled(list(find()), _CASSETTES) for response in load(place.path).responses]
    texts = [response["body"].get("string") for response in responses if "grpc" not in response]
    bodies = [text.encode() if isinstance(text, str) else text for text in texts if text]
    assert len(bodies) > 60
    with (
        serving(_body, EmulatedChat()) as servers,
        proxying(servers.http_url) as proxy,
        httpx2.Client(timeout=PATIENCE) as client,
    ):
        for body in bodies:
            with client.stream("POST", proxy.url, content=body) as response:
                assert b"".join(response.iter_raw()) == body


async def _ask_async(observer: Observer, base: str) -> None:
    async with (
        httpx2.AsyncClient(transport=AsyncObservedTransport(observer)) as http_client,
        anthropic.AsyncAnthropic(base_url=base, api_key="a-key", http_client=http_client) as client,
        client.messages.stream(model="claude-haiku-4-5", max_tokens=100, messages=_ASKED) as stream,
    ):
        await stream.get_final_message()


def test_a_sdk_with_a_transport_is_judged_without_a_proxy(providers: Servers) -> None:
    chat, messages = (providers.base(SURFACES[name]) for name in ("openai.chat", "anthropic.messages"))
    judgements = Judgements()
    with Observer([judgements]) as observer:
        with (
            httpx2.Client(transport=ObservedTransport(observer)) as http_client,
            openai.OpenAI(base_url=chat, api_key="a-key", http_client=http_client) as client,
        ):
            client.chat.completions.create(model="gpt-5-mini", messages=_ASKED)
        asyncio.run(_ask_async(observer, messages))
        found = [(one.wire, one.stream, one.unjudged, len(one.calls)) for one in judgements.wait(2)]
    assert found == [("openai.chat", False, None, 3), ("anthropic.messages", True, None, 3)]
