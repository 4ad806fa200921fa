"""The official SDKs play the scenarios through the proxy as they do without it."""

from __future__ import annotations

import asyncio
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
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.library import find, load
from toolparity.cassettes.recorder.script_driver import play
from toolparity.cassettes.recorder.sdks import Link
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import ToolparityError

pytestmark = pytest.mark.service("audit/proxy")

_THREE_CALLS = scripts()["parallel-three"].ask
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


def _responses(base: str, surface: str, script: str, stream: bool) -> list[Any]:
    """Return what the SDK makes of the responses, or of an error."""
    responses: list[Any] = []
    try:
        for received in play(scripts()[script], SURFACES[surface], Link(base, "a-key"), stream=stream):
            responses.append(received.response)
    except ToolparityError as error:
        responses.append(str(error))
    except Exception as error:  # an SDK's error class, for instance when the connection breaks
        responses.append(type(error).__name__)
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


class _Recorded:
    """A server of the library's responses: /N gives the body of the Nth response, in pieces."""

    def __init__(self) -> None:
        self.bodies = [
            response["body"]["string"]
            for place in sampled(list(find()), _CASSETTES)
            for response in load(place.path).responses
            if "grpc" not in response and response["body"].get("string")
        ]
        self.bodies = [body.encode() if isinstance(body, str) else body for body in self.bodies]
        assert len(self.bodies) > 60

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = self.bodies[int(scope["path"].removeprefix("/"))]
        await Request(scope, receive).body()

        async def pieces() -> Any:
            for start in range(0, len(body), 97):
                yield body[start : start + 97]

        await StreamingResponse(pieces(), headers={"content-type": "text/event-stream"})(scope, receive, send)


def test_the_bodies_of_cassettes_pass_byte_for_byte() -> None:
    server = _Recorded()
    with (
        serving(server, EmulatedChat()) as servers,
        proxying(servers.http_url) as proxy,
        httpx2.Client(timeout=PATIENCE) as client,
    ):
        for number, body in enumerate(server.bodies):
            with client.stream("POST", f"{proxy.url}/{number}", content=b"{}") as response:
                assert b"".join(response.iter_raw()) == body


def test_a_sdk_with_the_transport_is_judged_without_a_proxy(providers: Servers) -> None:
    judgements = Judgements()
    with (
        Observer([judgements]) as observer,
        httpx2.Client(transport=ObservedTransport(observer)) as http_client,
        openai.OpenAI(
            base_url=providers.base(SURFACES["openai.chat"]), api_key="a-key", http_client=http_client
        ) as client,
    ):
        messages: Any = [{"role": "user", "content": _THREE_CALLS}]
        client.chat.completions.create(model="gpt-5-mini", messages=messages)
        (judgement,) = judgements.wait(1)
    assert (judgement.unjudged, len(judgement.calls)) == (None, 3)


async def _ask_async(observer: Observer, base: str) -> None:
    messages: Any = [{"role": "user", "content": _THREE_CALLS}]
    async with (
        httpx2.AsyncClient(transport=AsyncObservedTransport(observer)) as http_client,
        anthropic.AsyncAnthropic(base_url=base, api_key="a-key", http_client=http_client) as client,
        client.messages.stream(model="claude-haiku-4-5", max_tokens=100, messages=messages) as stream,
    ):
        await stream.get_final_message()


def test_an_asynchronous_sdk_with_the_transport_is_judged_without_a_proxy(providers: Servers) -> None:
    judgements = Judgements()
    with Observer([judgements]) as observer:
        asyncio.run(_ask_async(observer, providers.base(SURFACES["anthropic.messages"])))
        (judgement,) = judgements.wait(1)
    assert (judgement.wire, judgement.stream, len(judgement.calls)) == ("anthropic.messages", True, 3)
