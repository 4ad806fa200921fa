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


@on_every_wire
def test_000_gateway_loop(wire: str) -> None:
    """000, Gateway Loop: call, result, ask again, until there is no call; then the answer."""
    counting = Counting()
    turn, provider = turn_of(wire, [call("look", at=1)], [call("count", of="x")], [Say("Done.")], counting=counting)
    outcome = at_once(turn.run("Go."))
    assert (counting.names, outcome.text, len(provider.bodies)) == (["look", "count"], "Done.", 3)
    kinds = [type(one).__name__ for one in turn.state.history()]
    assert kinds == ["User", "Assistant", "ToolResults", "Assistant", "ToolResults", "Assistant"]


def test_000_provider_discrepancies() -> None:
    """000, OpenAI Provider, Anthropic Provider, xAI Provider, Option 3, Recommendation: `first` is the same on all."""
    kept = {wire: [ref.name for ref in select(response_of(wire, *ABC), "first").kept] for wire in WIRES}
    assert list(kept.values()) == [["look"]] * len(WIRES)


@on_every_wire
def test_000_what_happens_now(wire: str) -> None:
    """000, What Happens Now, Why This Matters: of three calls none is lost; each has its answer in the history."""
    counting = Counting()
    turn, provider = turn_of(wire, ABC, [Say("Done.")], counting=counting, limit=1)
    at_once(turn.run("Go."))
    assert counting.names == ["look"]
    second = read_request(provider.bodies[1], wire, provider=provider.name)
    _, said, results = second.messages
    assert isinstance(said, Assistant)
    assert isinstance(results, ToolResults)
    assert [one.name for one in said.response.calls] == ["look", "count", "post"]
    assert [one.call_id for one in results.results] == [one.id for one in said.response.calls]


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


@on_every_wire
def test_000_logging_improvement(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    """000, Logging Improvement, Recommendation: dropped calls are warned of, with total, processing and dropped."""
    response = response_of(wire, *ABC)
    with caplog.at_level(logging.WARNING):
        select(response, "first")
    [record] = [one for one in caplog.records if one.levelno == logging.WARNING]
    message = record.getMessage()
    assert message.startswith("3 tool calls returned, processing 1, dropped 2")
    assert message.index("look") < message.index("dropped [") < message.index("count") < message.index("post")


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


@on_every_wire
def test_002_single_tool(wire: str) -> None:
    """002, Single Tool (unchanged behavior): one call, its acknowledgement, the answer."""
    offered = Tools([Tool(name="look", function=lambda: "Tuesday, 2pm", waiting_hint="checking your next appointment")])
    provider = Emulated(wire, script([call("look")], [Say("Your next appointment is Tuesday at 2pm.")], tools=["look"]))
    turn = Turn(provider, offered, acknowledge=acknowledge)
    events = at_once(play(turn, "Go."))
    assert [one.text for one in only(events, told.Acknowledged)] == ["Checking your next appointment."]
    assert turn.outcome.text == "Your next appointment is Tuesday at 2pm."


@pytest.mark.parametrize("number", [3, 4])
def test_002_considerations_limits(number: int) -> None:
    """002, Considerations, Limits: at most three or four calls of one message are run."""
    counting = Counting()
    turn, _ = turn_of(
        "openai.chat", [call("look", at=n) for n in range(6)], [Say("Done.")], counting=counting, limit=number
    )
    events = at_once(play(turn))
    assert len(counting.names) == number
    [dropped] = only(events, told.Dropped)
    assert (dropped.total, len(dropped.processing), len(dropped.dropped)) == (6, number, 6 - number)


# 003, Sequential Tool Calling Implementation Plans


@on_every_wire
def test_003_single_round_completion(wire: str) -> None:
    """003, Testing Strategy: a question that is answered in one round."""
    turn, provider = turn_of(wire, [Say("Four.")], max_rounds=2)
    outcome = at_once(turn.run("Go."))
    assert (outcome.text, outcome.termination, len(provider.bodies)) == ("Four.", "natural_completion", 1)


@on_every_wire
def test_003_two_round_comparison_query(wire: str) -> None:
    """003, Testing Strategy, Modified `generate_response` Method Structure: a comparison takes two searches in turn."""
    counting = Counting()
    rounds = ([call("look", course="A")], [call("look", course="B")], [Say("B goes further.")])
    turn, _ = turn_of(wire, *rounds, counting=counting, max_rounds=2)
    outcome = at_once(turn.run("Go."))
    assert counting.ran == [("look", {"course": "A"}), ("look", {"course": "B"})]
    assert outcome.text == "B goes further."


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


def test_003_tool_execution_and_error_handling() -> None:
    """003, Tool Execution and Error Handling: an error that the model can understand, and the other results."""

    def broken(**_: Any) -> Any:
        raise LookupError("no such course")

    counting = Counting(look=broken)
    turn, provider = turn_of("anthropic.messages", [call("look"), call("count")], [Say("Done.")], counting=counting)
    at_once(turn.run("Go."))
    failed, worked = provider.bodies[1]["messages"][-1]["content"]
    assert (failed["is_error"], failed["content"]) == (True, "Tool 'look' failed: LookupError: no such course")
    assert "is_error" not in worked or worked["is_error"] is False


def test_003_context_preservation_between_api_calls() -> None:
    """003, Context Preservation Between API Calls: each round adds what the model said, and the results."""
    rounds = ([call("look", at=1)], [call("count", of="x")], [Say("Done.")])
    turn, provider = turn_of("anthropic.messages", *rounds)
    at_once(turn.run("Go."))
    roles = [[message["role"] for message in body["messages"]] for body in provider.bodies]
    assert roles == [
        ["user", "assistant", "user"][:1],
        ["user", "assistant", "user"],
        ["user", "assistant"] * 2 + ["user"],
    ]
    assert all(body["tools"] == provider.bodies[0]["tools"] for body in provider.bodies)
    assert isinstance(turn.state.history()[0], User)


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


@on_every_wire
def test_004_tool_execution_fails(wire: str) -> None:
    """004, Tool Execution Fails: a tool_result block all the same, marked as an error, and the model continues."""

    def missing(**_: Any) -> Any:
        raise FileNotFoundError("File not found: /path/to/file.txt")

    turn, _ = turn_of(wire, [call("look")], [Say("There is no such file.")], counting=Counting(look=missing))
    events = at_once(play(turn))
    [block] = [one.block for one in only(events, told.TurnBlockStop) if one.block.block_type == "tool_result"]
    assert block.content == {
        "tool_use_id": turn.state.rounds[0].calls[0].id,
        "is_error": True,
        "content": "Tool 'look' failed: FileNotFoundError: File not found: /path/to/file.txt",
    }
    assert turn.outcome.text == "There is no such file."


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


def test_000_option_1_aggregates_in_order() -> None:
    """000, Option 1: each call with its result, in sequence."""
    response = response_of("openai.chat", *ABC)
    turns = answer(response, select(response, "batch"), {one.id: f"{one.name} ran" for one in response.calls})
    results = turns[1]
    assert isinstance(results, ToolResults)
    assert [one.name for one in results.results] == ["look", "count", "post"]
