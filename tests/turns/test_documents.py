"""Examples and flows of the source documents that no other test plays. Each test names document and heading."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from tests.turns.playing import WIRES, Counting, Emulated, Say, at_once, call, only, play, script
from tests.turns.scripted import Recorded
from toolparity import Response, StreamDecoder, select
from toolparity.cassettes.recorder.script_driver import opening as scripted
from toolparity.cassettes.scripts import Refuse, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.demo.tools import ScriptedTools
from toolparity.normalizer import json_codec
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Assistant, ToolResults, User
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.requests import read_request, write_request
from toolparity.turns import events as told
from toolparity.turns.decisions import Final, decision
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.machine.state import RoundState
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.request import opening
from toolparity.turns.turn import Turn

ABC = [call("look", of="A"), call("count", of="B"), call("post", of="C")]


def response_of(wire: str, *parts: Any) -> Response:
    """A model's answer on a wire."""
    provider = Emulated(wire, script(list(parts)))
    request = replace(opening("Go.", provider), model=provider.model, tools=Counting().tools().declared())
    body = write_request(request, wire, provider=provider.name).body

    async def main() -> Response:
        decoder = StreamDecoder(wire, provider=provider.name, request=body)
        async for piece in provider.ask(body):
            decoder.feed(piece)
        return decoder.finish()

    return at_once(main())


def turn_of(wire: str, *rounds: Any, counting: Counting | None = None, **settings: Any) -> tuple[Turn, Emulated]:
    provider = Emulated(wire, script(*rounds))
    return Turn(provider, (counting or Counting()).tools(), **settings), provider


# 000, Tool Call Sequence Handling


def test_000_provider_discrepancies() -> None:
    """000, OpenAI Provider, Anthropic Provider, xAI Provider, Option 3, Recommendation: `first` is the same on all."""
    kept = {wire: [ref.name for ref in select(response_of(wire, *ABC), "first").kept] for wire in WIRES}
    assert list(kept.values()) == [["look"]] * len(WIRES)


@on_every_wire
def test_000_response_struct(wire: str) -> None:
    """000, Response Struct: all calls of a response, with id, name and input, its text and why it stopped."""
    response = response_of(wire, Say("Let me see."), *ABC)
    assert response.text == "Let me see."
    assert response.choices[0].stop.reason == "tool_calls"
    assert [(one.name, one.arguments) for one in response.calls] == [
        ("look", {"of": "A"}),
        ("count", {"of": "B"}),
        ("post", {"of": "C"}),
    ]
    assert len({one.id for one in response.calls}) == 3


@pytest.mark.parametrize("surface", ["openai.responses", "anthropic.messages", "xai.grpc"])
def test_000_server_side_tools(surface: str) -> None:
    """000, Why It's Acceptable For Now, 4: what the provider searches itself reaches no tool of the caller."""
    played = scripts()["server-search-and-call"]
    returning = ScriptedTools(played)
    turn = Turn(Recorded(played.id, surface), returning.tools)
    request = scripted(played, SURFACES[surface], stream=True)
    blocks = [one.block for one in only(at_once(play(turn, request)), told.TurnBlockStop)]  # type: ignore[arg-type]
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
    """002, Model Decision Output: a refusal is final; what broke off decides nothing."""
    assert decision(response_of("openai.chat", Refuse("I cannot."))) == Final("I cannot.")
    cut = replace(response_of("openai.chat", *ABC), complete=False)
    with pytest.raises(PolicyError):
        decision(cut)
    with pytest.raises(PolicyError):
        decision(response_of("openai.chat", Say("x")), choice=3)


# 003, Sequential Tool Calling Implementation Plans


@on_every_wire
def test_003_round_and_conversation_state_tracking(wire: str) -> None:
    """003, Round and Conversation State Tracking: number, tools, results, answer and why each round ended."""
    turn, _ = turn_of(wire, [Say("Let me see."), call("look", at=1), call("count", of="x")], [Say("Done.")])
    at_once(turn.run("Go."))
    first, second = turn.state.rounds
    assert isinstance(first, RoundState)
    assert (first.round_number, second.round_number) == (1, 2)
    assert (first.tools_used, second.tools_used) == (["look", "count"], [])
    assert [one.name for one in first.tool_results] == ["look", "count"]
    plan = ["Reasoning"] * (wire == "cohere.chat")
    assert [type(one).__name__ for one in first.ai_response_content] == [*plan, "Text", "ToolCall", "ToolCall"]
    assert (first.termination_reason, second.termination_reason) == (None, "natural_completion")
    if wire != "openai.chat":  # whose streams report the usage only on request
        assert first.usage is not None
        assert second.usage is not None
        assert first.usage.input_tokens is not None
        assert second.usage.input_tokens is not None
        assert turn.state.usage is not None
        assert turn.state.usage.input_tokens == first.usage.input_tokens + second.usage.input_tokens


# 004, Tool Execution Flow


def test_004_tool_result_propagation() -> None:
    """004, Tool Result Propagation, 5. Executor Continues LLM Stream: the message history after a tool ran."""
    provider = Emulated(
        "anthropic.messages",
        script(
            [Say("Let me read the file."), call("read_file", path="file.txt")],
            [Say("Based on the file…")],
            tools=["read_file"],
        ),
    )
    turn = Turn(provider, [Tool(name="read_file", function=lambda **_: "file contents")])
    at_once(turn.run("Go."))
    id = turn.state.rounds[0].calls[0].id
    messages = provider.bodies[1]["messages"]
    messages[1]["content"][1].pop("caller", None)  # the provider says today who called
    assert messages == [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me read the file."},
                {"type": "tool_use", "id": id, "name": "read_file", "input": {"path": "file.txt"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "file contents"}]},
    ]


def test_004_tool_timeout() -> None:
    """004, Tool Timeout: the work ends, and the result states the timeout. 30 seconds are the default."""
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    assert Tool(name="look", function=hang).timeout == 30.0
    provider = Emulated("openai.chat", script([call("look")], [Say("It took too long.")], tools=["look"]))
    turn = Turn(provider, [Tool(name="look", function=hang, timeout=0.05)])
    events = at_once(play(turn, "Go."))
    [block] = [one.block for one in only(events, told.TurnBlockStop) if one.block.block_type == "tool_result"]
    assert block.content["content"] == "Tool execution timed out after 0.05s."
    assert block.content["is_error"] is True
    assert ended == ["ended"]


def test_004_llm_requests_tool() -> None:
    """004, 1. LLM Requests Tool, and 4. Executor Creates tool_result Block: the blocks as JSON."""
    provider = Emulated(
        "anthropic.messages", script([call("read_file", path="/path/to/file.txt")], [Say("Done.")], tools=["read_file"])
    )
    turn = Turn(provider, [Tool(name="read_file", function=lambda **_: "File content here...")])
    events = at_once(play(turn, "Go."))
    id = turn.state.rounds[0].calls[0].id
    asked, returned, _ = [json_codec.decode(json_codec.encode(one.block)) for one in only(events, told.TurnBlockStop)]
    assert (asked["block_type"], asked["content"]) == (
        "tool_use",
        {"tool_use_id": id, "tool_name": "read_file", "input": {"path": "/path/to/file.txt"}},
    )
    assert (returned["block_type"], returned["content"]) == (
        "tool_result",
        {"tool_use_id": id, "content": "File content here...", "is_error": False},
    )


