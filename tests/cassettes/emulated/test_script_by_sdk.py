"""What Anthropic's and xAI's own SDKs, unpatched, read of every script that is shipped."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.recorder.script_driver import conversation
from toolparity.cassettes.recorder.sdks import AsyncCaller, Caller, Link
from toolparity.cassettes.scripts import Refuse, Round, Say, Script, scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.model import Response, ServerToolCall, ToolCall

HERE = [SURFACES["anthropic.messages"], SURFACES["xai.grpc"]]
PLAYED = [
    pytest.param(surface, script, id=f"{surface.name}-{script.id}")
    for surface in HERE
    for script in scripts().values()
    if surface.plays(script) and not any(round.fault for round in script.rounds)
]
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


class Exchange(NamedTuple):
    """``objects``: the SDK's own, in order."""

    body: Any
    objects: list[Any]
    response: Response


@pytest.fixture(autouse=True)
def _telemetry_reads_no_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """xAI's SDK parses the arguments of every call for its telemetry, and fails where they are cut."""
    monkeypatch.setenv("XAI_SDK_DISABLE_SENSITIVE_TELEMETRY_ATTRIBUTES", "1")


def link(servers: Servers, surface: Surface) -> Link:
    return Link(servers.base(surface), "any", secure=False)


def talk(servers: Servers, surface: Surface, script: Script, *, stream: bool) -> list[Exchange]:
    said = conversation(script, surface, stream=stream)
    made = []
    with Caller(surface, link(servers, surface), stream) as caller:
        body = next(said)
        while True:
            heard = caller.send(body)
            made.append(Exchange(body, heard.objects, heard.response))
            try:
                body = said.send(heard.response)
            except StopIteration:
                return made


async def async_talk(servers: Servers, surface: Surface, script: Script, *, stream: bool) -> list[Response]:
    said = conversation(script, surface, stream=stream)
    made = []
    async with AsyncCaller(surface, link(servers, surface), stream) as caller:
        body = next(said)
        while True:
            made.append((await caller.send(body)).response)
            try:
                body = said.send(made[-1])
            except StopIteration:
                return made


def expected_stop(surface: Surface, round: Round) -> str:
    """A refusal in words is an answer like any other on xAI's wire, which has no word for it."""
    if round.ending is not None:
        return {"length": "max_tokens", "pause": "pause"}[round.ending]
    if round.calls:
        return "tool_calls"
    refuses = any(isinstance(part, Refuse) for part in round.parts)
    return "refusal" if refuses and surface.name == "anthropic.messages" else "end_turn"


def _object(text: str) -> Any:
    """The JSON object that a text holds; None where it holds none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@pytest.mark.thorough(keep=15)
@STREAMED
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_a_script_comes_out_as_it_is_written(servers: Servers, surface: Surface, script: Script, stream: bool) -> None:
    rounds = talk(servers, surface, script, stream=stream)
    assert len(rounds) == len(script.rounds)
    for round, (_, _, response) in zip(script.rounds, rounds, strict=True):
        choice = response.choices[0]
        assert [call.name for call in choice.calls] == [call.tool for call in round.calls]
        for call, written in zip(choice.calls, round.calls, strict=True):
            given = _object(written.text)
            if given is not None:
                assert (call.arguments, call.status) == (given, "complete")
            elif round.ending == "length":
                assert (call.arguments, call.status) == (None, "truncated")
            else:
                assert (call.arguments, call.status) == (None, "invalid")
        assert choice.text == "".join(part.text for part in round.parts if isinstance(part, (Say, Refuse)))
        assert choice.stop.reason == expected_stop(surface, round)
        assert response.complete
        assert response.error is None
        assert response.usage is not None


@pytest.mark.thorough(keep=10)
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_plain_and_streamed_answers_are_one(servers: Servers, surface: Surface, script: Script) -> None:
    plain = [exchange.response for exchange in talk(servers, surface, script, stream=False)]
    streamed = [exchange.response for exchange in talk(servers, surface, script, stream=True)]
    for one, other in zip(plain, streamed, strict=True):
        assert [without_text(block) for block in other.choices[0].blocks] == [
            without_text(block) for block in one.choices[0].blocks
        ]
        assert other.choices[0].stop == one.choices[0].stop
        assert (other.id, other.model) == (one.id, one.model)
        assert figures(other) == figures(one)


def without_text(block: Any) -> Any:
    """A call by the value of its arguments: a plain body of Anthropic's holds no text, and nothing of a cut one."""
    if not isinstance(block, (ToolCall, ServerToolCall)):
        return block
    return (type(block), block.id, block.name, block.status, getattr(block, "arguments", None))


def figures(response: Response) -> Any:
    usage = response.usage
    assert usage is not None
    return (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_input_tokens)


@pytest.mark.thorough(keep=10)
@STREAMED
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_the_asynchronous_sdk_hears_the_same(servers: Servers, surface: Surface, script: Script, stream: bool) -> None:
    heard = asyncio.run(async_talk(servers, surface, script, stream=stream))
    assert heard == [exchange.response for exchange in talk(servers, surface, script, stream=stream)]


@pytest.mark.thorough(keep=10)
@STREAMED
@pytest.mark.parametrize(
    "script", [p.values[1] for p in PLAYED if p.values[0].name == "anthropic.messages"], ids=lambda script: script.id
)
def test_anthropics_types_know_all_that_is_sent(servers: Servers, script: Script, stream: bool) -> None:
    for exchange in talk(servers, SURFACES["anthropic.messages"], script, stream=stream):
        for one in exchange.objects:
            type(one).model_validate(one.to_dict(mode="json"), strict=False)
            assert unknown(one) == []


def unknown(model: Any, path: str = "") -> list[str]:
    """Members that the SDK's types do not declare."""
    found = [f"{path}.{name}" for name in model.model_extra or ()]
    for name in type(model).model_fields:
        value = getattr(model, name)
        for one in value if isinstance(value, list) else [value]:
            if hasattr(one, "model_extra"):
                found += unknown(one, f"{path}.{name}")
    return found


@STREAMED
@pytest.mark.parametrize("surface", HERE, ids=lambda surface: surface.name)
def test_the_same_request_is_answered_alike(servers: Servers, surface: Surface, stream: bool) -> None:
    script = scripts()["two-rounds"]
    assert (
        talk(servers, surface, script, stream=stream)[0].response
        == talk(servers, surface, script, stream=stream)[0].response
    )
