"""What the official SDK reads of every script over the emulated HTTP endpoints of OpenAI and xAI."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import openai
import pytest

from tests.cassettes.emulated.callers import SURFACES_HERE, opening, refused, resource, spoken, talk
from tests.cassettes.emulated.extra import WHOLE
from tests.cassettes.emulated.fidelity import payloads
from tests.cassettes.emulated.sdk_models import sdk_models
from tests.support.thoroughness import spread
from toolparity import Response
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.scripts import Round, Script, scripts
from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer.model import Refusal, ServerToolCall

Sdk = Callable[[Surface], openai.OpenAI]

PLAYED = [
    pytest.param(surface, script, id=f"{surface.name}-{script.id}")
    for surface in SURFACES_HERE
    for script in (*scripts().values(), *WHOLE.values())
    if surface.plays(script) and not any(round.fault for round in script.rounds)
]
EXCEPTIONS = tomllib.loads((Path(__file__).parent / "lacking.toml").read_text())


def expected_stop(round: Round) -> str:
    if round.ending is not None:
        return {"length": "max_tokens", "content_filter": "content_filter", "pause": "pause"}[round.ending]
    return "tool_calls" if round.calls else "refusal" if refused(round) else "end_turn"


@pytest.mark.thorough(keep=4, per="{surface.name}")
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_a_script_comes_out_as_it_is_written(sdk: Sdk, surface: Surface, script: Script, stream: bool) -> None:
    rounds = list(talk(sdk(surface), surface, script, stream=stream))
    assert len(rounds) == len(script.rounds)
    for round, answer in rounds:
        choice = answer.response.choices[0]
        assert [(call.name, call.arguments_text) for call in choice.calls] == [(c.tool, c.text) for c in round.calls]
        assert choice.text == spoken(round)
        assert "".join(block.text for block in choice.blocks if isinstance(block, Refusal)) == refused(round)
        assert choice.stop.reason == expected_stop(round)
        assert answer.response.complete
        assert answer.response.error is None
        assert answer.response.usage is not None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # code
        return text


def by_value(response: Response) -> Any:
    """All but the spelling of JSON that is an object on the wire, which plain OpenAI bodies indent."""
    blocks = [
        (block.id, block.tool, _value(block.arguments_text), block.status, block.extra)
        if isinstance(block, ServerToolCall)
        else block
        for block in response.choices[0].blocks
    ]
    return response.id, response.model, response.usage, response.choices[0].stop, blocks


@pytest.mark.thorough(keep=3, per="{surface.name}")
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_plain_and_streamed_answers_are_one(sdk: Sdk, surface: Surface, script: Script) -> None:
    plain = [by_value(answer.response) for _, answer in talk(sdk(surface), surface, script, stream=False)]
    streamed = [by_value(answer.response) for _, answer in talk(sdk(surface), surface, script, stream=True)]
    assert streamed == plain


def objects(value: Any, path: str) -> Iterator[dict[str, Any]]:
    """What is at a path, "*" being every item of a list."""
    if not path:
        if isinstance(value, dict):
            yield value
        return
    step, _, rest = path.partition(".")
    if step == "*":
        for item in value if isinstance(value, list) else ():
            yield from objects(item, rest)
    elif isinstance(value, dict) and step in value:
        yield from objects(value[step], rest)


def completed(surface: Surface, event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with the members that the real wire lacks, too, and without what the types do not know."""
    whole = payload.get("response", payload)
    for lacking in EXCEPTIONS["lacking"]:
        if surface.name in lacking["surfaces"] and lacking.get("event") in (None, event):
            for place in objects(payload if "event" in lacking else whole, lacking["at"]):
                if place.get("type") == lacking.get("type", place.get("type")):
                    place.setdefault(lacking["member"], lacking["give"])
    for foreign in EXCEPTIONS["foreign"]:
        if surface.name in foreign["surfaces"]:
            above, _, member = foreign["at"].rpartition(".")
            for place in objects(whole, above):
                if isinstance(place.get(member), list):
                    place[member] = [one for one in place[member] if one.get("type") != foreign["type"]]
    return payload


@pytest.mark.thorough(keep=4, per="{surface.name}")
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_the_sdks_types_hold_strictly(sdk: Sdk, surface: Surface, script: Script, stream: bool) -> None:
    models = sdk_models(surface.wire)
    more = {"include": ["reasoning.encrypted_content"]} if surface.wire == "openai.responses" else {}
    for _, answer in talk(sdk(surface), surface, script, stream=stream, **more):
        for event, payload in payloads(answer.data) if stream else [("body", json.loads(answer.data))]:
            models[event].model_validate(completed(surface, event, payload))


@pytest.mark.thorough(keep=3, per="{surface.name}")
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_the_sdk_reads_streams_to_their_end(sdk: Sdk, surface: Surface, script: Script) -> None:
    events = list(resource(sdk(surface), surface).create(**opening(surface, script, stream=True)))
    if surface.wire == "openai.chat":
        assert events[-1].usage.total_tokens > 0
    else:
        assert events[-1].response.usage.total_tokens > 0
        assert [event.sequence_number for event in events] == list(range(len(events)))


@pytest.mark.thorough(keep=2, per="{surface.name}")
@pytest.mark.parametrize(("surface", "script"), spread(PLAYED, 60))
def test_the_same_request_is_answered_with_the_same_bytes(sdk: Sdk, surface: Surface, script: Script) -> None:
    first = [answer.data for _, answer in talk(sdk(surface), surface, script, stream=True)]
    assert [answer.data for _, answer in talk(sdk(surface), surface, script, stream=True)] == first


@pytest.mark.parametrize("surface", SURFACES_HERE, ids=lambda surface: surface.name)
def test_what_is_sent_does_not_depend_on_the_hour(sdk: Sdk, surface: Surface) -> None:
    _, answer = next(talk(sdk(surface), surface, scripts()["text-only"], stream=False))
    body = msgspec.json.decode(answer.data)
    created = body.get("created", body.get("created_at"))
    assert 1_767_225_600 <= created < 1_767_225_600 + 86_400


async def _async_text(servers: Servers, surface: Surface, script: Script) -> str:
    async with openai.AsyncOpenAI(base_url=servers.base(surface), api_key="any", max_retries=0) as sdk:
        text = ""
        async for event in await resource(sdk, surface).create(**opening(surface, script, stream=True)):
            if surface.wire == "openai.chat":
                text += "".join(choice.delta.content or "" for choice in event.choices)
            elif event.type == "response.output_text.delta":
                text += event.delta
        return text


@pytest.mark.parametrize("surface", SURFACES_HERE, ids=lambda surface: surface.name)
def test_the_asynchronous_sdk_reads_the_streams_too(servers: Servers, surface: Surface) -> None:
    script = scripts()["text-only"]
    assert asyncio.run(_async_text(servers, surface, script)) == spoken(script.rounds[0])
