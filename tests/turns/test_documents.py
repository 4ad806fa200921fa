"""Examples and flows of the source documents that no other test plays. Each test names document and heading."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity import Response, select
from toolparity.cassettes.recorder.script_driver import opening as scripted
from toolparity.cassettes.scripts import Refuse, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.demo.tools import ScriptedTools
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import PolicyError
from toolparity.turns.decisions import Final, decision
from toolparity.turns.events import TurnBlockStop
from toolparity.turns.execution.tool import Tool
from toolparity.turns.turn import Turn

from .playing import Counting, Emulated, Say, at_once, call, finished, on_every_wire, only, play, script
from .test_parity import Recorded

ABC = [call("look", of="A"), call("count", of="B"), call("post", of="C")]


def response_of(wire: str, *parts: Any) -> Response:
    """A model's answer on a wire."""
    turn = finished(Turn(Emulated(wire, script(list(parts), [Say("Done.")])), Counting().tools()))
    answer = turn.state.rounds[0].answer
    assert answer is not None
    return answer


# 000, Tool Call Sequence Handling


@on_every_wire
def test_000_response_struct(wire: str) -> None:
    """000, Response Struct, OpenAI Provider, Anthropic Provider, xAI Provider, Option 3, Recommendation: all calls."""
    response = response_of(wire, Say("Let me see."), *ABC)
    assert (response.text, response.choices[0].stop.reason) == ("Let me see.", "tool_calls")
    calls = [(one.name, one.arguments) for one in response.calls]
    assert calls == [("look", {"of": "A"}), ("count", {"of": "B"}), ("post", {"of": "C"})]
    assert len({one.id for one in response.calls}) == 3
    assert [ref.name for ref in select(response, "first").kept] == ["look"]


@pytest.mark.parametrize("surface", ["openai.responses", "anthropic.messages", "xai.grpc"])
def test_000_server_side_tools(surface: str) -> None:
    """000, Why It's Acceptable For Now, 4: a search by the provider itself calls no tool of the caller."""
    played = scripts()["server-search-and-call"]
    returning = ScriptedTools(played)
    turn = Turn(Recorded(played.id, surface), returning.tools)
    request = scripted(played, SURFACES[surface], stream=True)
    blocks = [one.block for one in only(at_once(play(turn, request)), TurnBlockStop)]  # type: ignore[arg-type]
    assert "server_tool_use" in [block.block_type for block in blocks]
    assert returning.ran == sum(len(round.calls) for round in played.rounds) > 0


# 002, Multi-Tool Call Architecture


@on_every_wire
def test_002_model_decision_output(wire: str) -> None:
    """002, Model Decision Output, Implementation Steps: an array of calls, or a final text."""
    called = decision(response_of(wire, Say("Let me see."), call("look", of="A"), call("count", of="B")))
    assert json_codec.decode(json_codec.encode(called)) == {
        "type": "tool_calls",
        "calls": [{"toolName": "look", "arguments": {"of": "A"}}, {"toolName": "count", "arguments": {"of": "B"}}],
        "acknowledgement": "Let me see.",
    }
    silent = decision(response_of(wire, call("look")))
    assert "acknowledgement" not in json_codec.decode(json_codec.encode(silent))
    assert decision(response_of(wire, Say("Hello."))) == Final("Hello.")


def test_002_model_decision_output_where_there_is_none() -> None:
    """002, Model Decision Output: a refusal is final; an answer that broke off decides nothing."""
    assert decision(response_of("openai.chat", Refuse("I cannot."))) == Final("I cannot.")
    with pytest.raises(PolicyError):
        decision(replace(response_of("openai.chat", *ABC), complete=False))
    with pytest.raises(PolicyError):
        decision(response_of("openai.chat", Say("x")), choice=3)


# 004, Tool Execution Flow


def test_004_tool_timeout() -> None:
    """004, Tool Timeout: the work ends, and the result states the timeout. 30 seconds are the default."""
    ended: list[bool] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    assert Tool(name="look", function=hang).timeout == 30.0
    provider = Emulated("openai.chat", script([call("look")], [Say("It took too long.")], tools=["look"]))
    turn = Turn(provider, [Tool(name="look", function=hang, timeout=0.05)])
    events = at_once(play(turn, "Go."))
    [block] = [one.block for one in only(events, TurnBlockStop) if one.block.block_type == "tool_result"]
    returned = (block.content["content"], block.content["is_error"])
    assert (returned, ended) == (("Tool execution timed out after 0.05s.", True), [True])
