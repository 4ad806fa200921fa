"""Rounds: a turn requests, runs calls, returns results and repeats, on every wire, and always ends with an answer."""

from __future__ import annotations

import itertools
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity import Choice, Response, Stop, Text
from toolparity.cassettes.scripts import Refuse, ScriptedCall
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import Request, TextPart, ToolChoice, User
from toolparity.normalizer.requests import read_request, write_request
from toolparity.turns import events as turn_events
from toolparity.turns.turn import Turn

from . import playing
from .playing import Counting, Emulated, Round, Say, Think, at_once, call, finished, on_every_wire, only, rows, script

TWO = script([Say("Let me see."), call("look", at=1), call("count", of="ducks")], [Say("Two ducks.")])


def run(wire: str, played: Any, counting: Counting | None = None, **options: Any) -> tuple[Turn, list[Any], Emulated]:
    provider = Emulated(wire, played)
    turn = Turn(provider, (counting or Counting()).tools(), id="turn-1", **options)
    return turn, at_once(playing.play(turn)), provider


@on_every_wire
def test_a_turn_runs_the_calls_returns_the_results_and_ends_with_the_models_text(wire: str) -> None:
    """003, Round and Conversation State Tracking, Modified `generate_response` Method Structure: number, tools,
    results, answer, usage and why each round ended.
    """
    turn, events, provider = run(wire, TWO)
    plan = "block_stop " * (wire == "cohere.chat")
    assert " ".join(playing.kinds(events)) == (
        f"turn_started round_started {plan}block_stop block_stop block_stop calls_known call_started call_started "
        "block_stop call_finished block_stop call_finished round_finished "
        "round_started block_stop round_finished turn_complete"
    )
    assert (turn.outcome.text, turn.outcome.termination) == ("Two ducks.", "natural_completion")
    assert len(provider.bodies) == 2
    assert [event.seq for event in events] == list(range(len(events)))
    first, second = turn.state.rounds
    assert (first.round_number, first.tools_used, first.termination_reason) == (1, ["look", "count"], None)
    assert (second.round_number, second.tools_used, second.termination_reason) == (2, [], "natural_completion")
    assert [one.name for one in first.tool_results] == ["look", "count"]
    used = [round.usage.input_tokens or 0 for round in turn.state.rounds if round.usage is not None]
    assert turn.outcome.usage is not None
    assert (len(used), turn.outcome.usage.input_tokens) == (2, sum(used))
    thoughts = ["Reasoning"] * (wire == "cohere.chat")
    assert [type(one).__name__ for one in first.ai_response_content] == [*thoughts, "Text", "ToolCall", "ToolCall"]
    playing.assert_legal(turn)


@on_every_wire
def test_each_request_contains_the_whole_history_and_all_tools(wire: str) -> None:
    """000, Gateway Loop; 003, Current Problem, Core Architecture Changes, Context Preservation Between API Calls,
    Modified `generate_response` Method Structure, Testing Strategy; 004, Tool Result Propagation: a second call can
    follow, the first is remembered.
    """
    played = script([Think("I should look."), call("look", at=1)], [call("count", of="x")], [Say("Done.")])
    provider = Emulated(wire, played)
    turn = Turn(provider, Counting().tools())
    at_once(turn.run(playing.opening(played, wire)))  # which asks for reasoning
    assert turn.state.history()[1].response is turn.state.rounds[0].answer  # type: ignore[union-attr]
    requests = [provider.asked(number) for number in range(len(provider.bodies))]
    assert [len(request.messages) for request in requests] == [1, 3, 5]
    assert all([tool.name for tool in request.tools] == ["look", "count", "post"] for request in requests)
    for before, after in itertools.pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages


def test_a_prepare_function_can_shorten_the_request_but_not_the_history() -> None:
    """The request contains a shortened history, but the turn keeps all of it."""
    seen: list[int] = []

    def brief(request: Request) -> Request:
        seen.append(len(request.messages))
        kept = request.messages[-2:] if len(request.messages) > 3 else []
        return replace(request, messages=[User([TextPart("Go.")]), *kept] if kept else request.messages)

    played = script([call("look", at=1)], [call("look", at=2)], [Say("Done.")])
    provider = Emulated("anthropic.messages", played)
    turn = finished(Turn(provider, Counting().tools(), prepare=brief, max_rounds=2))
    assert seen == [1, 3, 5]
    assert [len(body["messages"]) for body in provider.bodies] == [1, 3, 3]
    assert len(turn.state.history()) == 5


@on_every_wire
def test_after_the_last_round_the_model_must_answer_without_calls(wire: str) -> None:
    played = script([call("look", at=1)], [call("look", at=2)], [Say("That is all I found."), call("look", at=3)])
    counting = Counting()
    turn, events, provider = run(wire, played, counting, max_rounds=2)
    last = provider.asked()
    if wire == "ollama.chat":  # without a tool choice, no tool is declared
        assert last.tools == []
    else:  # Converse has no such choice, and demands the tools of its history
        assert last.tool_choice == (None if wire == "bedrock.converse" else ToolChoice("none"))
        assert [tool.name for tool in last.tools] == ["look", "count", "post"]
    assert counting.names == ["look", "look"]
    outcome = turn.outcome
    assert (outcome.termination, outcome.text, outcome.written) == ("max_rounds_reached", "That is all I found.", True)
    assert [event.last for event in only(events, turn_events.RoundStarted)] == [False, False, True]
    playing.assert_legal(turn)


@on_every_wire
def test_calls_in_the_last_answer_are_rejected_with_a_result(wire: str) -> None:
    """The provider ignores `tool_choice: none`. The emulated one does not, so it receives a request without it."""
    played = script([call("look", at=1)], [call("look", at=2)], [Say("Well.")])

    class Stubborn(Emulated):
        async def ask(self, body: Any) -> Any:
            request = read_request(body, wire, provider=self.name)
            if request.tool_choice == ToolChoice("none") and len(self.bodies) < 3:
                request = replace(request, tool_choice=ToolChoice("auto"))
                body = write_request(request, wire, provider=self.name).body
            async for piece in super().ask(body):
                yield piece

    counting = Counting()
    turn = Turn(Stubborn(wire, played), counting.tools(), max_rounds=1)
    events = at_once(playing.play(turn))
    assert counting.names == ["look"]
    [refused] = only(events, turn_events.CallsKnown)[-1].rejected
    assert (refused.name, "at its end" in str(refused.reason)) == ("look", True)
    assert (turn.outcome.text, turn.outcome.termination) == ("Well.", "max_rounds_reached")
    playing.assert_legal(turn)


@on_every_wire
def test_without_final_text_from_the_model_the_answer_consists_of_the_results(wire: str) -> None:
    played = script([call("look", at=1)], [call("look", at=2)], [call("look", at=3)])
    turn, events, _ = run(wire, played, max_rounds=1)
    assert (turn.outcome.termination, turn.outcome.written) == ("max_rounds_reached", False)
    assert "look ran" in turn.outcome.text
    assert isinstance(events[-1], turn_events.TurnComplete)
    playing.assert_legal(turn)


@on_every_wire
def test_if_all_tools_fail_the_turn_ends_with_the_errors_or_the_model_answers(wire: str) -> None:
    """003, Tool Execution and Error Handling: `on_all_failed`."""
    for option, termination, written in (
        ("stop", "all_tools_failed", False),
        ("answer", "all_tools_failed", True),
        ("continue", "natural_completion", True),
    ):
        counting = Counting(look=lambda **_: 1 / 0, count=lambda **_: {}["x"])
        turn, events, provider = run(wire, TWO, counting, on_all_failed=option)
        assert (turn.outcome.termination, turn.outcome.written) == (termination, written)
        assert isinstance(events[-1], turn_events.TurnComplete if written else turn_events.TurnFailed)
        if option == "stop":
            assert turn.outcome.text == "All tools failed:\n- look failed\n- count failed"
            assert len(provider.bodies) == 1
        elif wire == "anthropic.messages":
            assert provider.bodies[-1].get("tool_choice") == ({"type": "none"} if option == "answer" else None)
        playing.assert_legal(turn)


def test_each_outcome_of_a_call_and_each_round_has_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """003, Modified `generate_response`: statistics; 003, Tool Execution and Error Handling: all outcomes."""
    tools = Counting(count=lambda **_: 1 / 0).tools(
        look={"parameters": {"type": "object", "required": ["at"]}}, post={"approval": True}
    )
    calls = [call("look", at=1), call("look"), call("count", of="secret"), call("post"), call("look", at=2)]
    provider = Emulated("anthropic.messages", script(calls, [Say("Done.")]))
    with caplog.at_level(logging.INFO, "toolparity"):
        turn = finished(Turn(provider, tools, limit=4, id="t", approve=lambda _: False))
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("turn t")]
    outcomes = ["returned", "invalid arguments", "raised", "denied"]
    results = [
        f"call {one.id!r} of {one.name!r}: {how}" for one, how in zip(turn.state.rounds[0].calls, outcomes, strict=True)
    ]
    counts = f"5 calls ({', '.join(f'1 {how}' for how in [*outcomes, 'dropped'])})"
    used = [turn.state.usage, *(round.usage for round in turn.state.rounds)]
    total, first, last = (f"{one.input_tokens} + {one.output_tokens} tokens" for one in used if one is not None)
    expected = ["4 of 5 calls kept, dropped: 'look'", *results, f"{counts}, {first}"]
    assert sorted(lines[:6]) == sorted(f"turn t, round 1: {line}" for line in expected)
    ended = f"turn t ended as natural_completion: 2 rounds, {counts}, {total}"
    assert lines[5:] == [f"turn t, round 1: {counts}, {first}", f"turn t, round 2: 0 calls, {last}", ended]


@on_every_wire
def test_the_model_receives_the_error_of_each_failed_tool(wire: str) -> None:
    """003, Tool Execution and Error Handling; 004, Tool Execution Fails: an error result, and the model continues."""
    turn, events, provider = run(wire, TWO, Counting(count=lambda **_: 1 / 0))
    assert turn.outcome.termination == "natural_completion"
    results = provider.asked(1).messages[2].results  # type: ignore[union-attr]
    texts = [(result.is_error, result.parts[0].text) for result in results]
    assert texts[0] == (False, "look ran")
    assert texts[1] == (True, "Tool 'count' failed: ZeroDivisionError: division by zero")
    content = {"content": texts[1][1], "is_error": True}
    assert rows(events)[-2][1:] == ("tool_result", None, {"tool_use_id": turn.state.rounds[0].calls[1].id, **content})


@on_every_wire
def test_a_refused_filtered_or_truncated_answer_ends_the_turn_with_its_text_and_runs_no_calls(wire: str) -> None:
    cases: list[tuple[Any, str, str]] = [(Round([Say("In the year")], ending="length"), "incomplete", "In the year")]
    if "refusal" in SURFACES[wire].able:
        cases.append(([Refuse("I would rather not.")], "refused", "I would rather not."))
    if wire == "openai.chat":
        cases.append((Round([Say("So."), call("look")], ending="content_filter"), "refused", "So."))
    cut = Round([Say("Wait."), ScriptedCall("look", arguments_text='{"at": ')], ending="length")
    if "argument text" not in SURFACES[wire].lacks:
        cases.append((cut, "incomplete", "Wait."))
    for played, termination, text in cases:
        counting = Counting()
        turn, events, _ = run(wire, script(played), counting)
        assert (turn.outcome.termination, turn.outcome.text, counting.ran) == (termination, text, [])
        playing.assert_legal(turn)
        if played is cut:  # the truncated call has a result
            assert [ref.name for ref in only(events, turn_events.CallsKnown)[0].rejected] == ["look"]
            plan = ["thinking"] * (wire == "cohere.chat")
            assert [row[1] for row in rows(events)] == [*plan, "text", "tool_use", "tool_result"]


def test_too_many_pauses_end_the_turn() -> None:
    class Pauses(Emulated):
        async def ask(self, body: Any) -> Any:
            self.bodies.append(body)
            choice = Choice(0, [Text(f"{len(self.bodies)}.")], Stop("pause", "pause_turn"))
            yield Response(self.wire, self.name, "msg", self.model, [choice])

    provider = Pauses("anthropic.messages", TWO)
    turn = finished(Turn(provider))
    assert (turn.outcome.termination, turn.outcome.text) == ("incomplete", "1.2.3.4.5.6.7.8.9.")
    assert len(provider.bodies) == turn.state.settings.max_pauses + 1


@on_every_wire
def test_an_exceeded_budget_ends_the_turn_before_any_further_call(wire: str) -> None:
    counting = Counting()
    turn, events, provider = run(wire, TWO, counting, budget=10)
    assert turn.outcome.usage is not None
    # Chat Completions is streamed without usage, because the request does not ask for it.
    assert bool(turn.outcome.usage.estimated) == (wire == "openai.chat")
    assert (turn.outcome.termination, counting.ran, len(provider.bodies)) == ("budget_exceeded", [], 1)
    assert turn.outcome.text == "Let me see."
    assert all("budget" in str(ref.reason) for ref in only(events, turn_events.CallsKnown)[0].rejected)
    playing.assert_legal(turn)


@pytest.mark.parametrize(
    ("limit", "positions", "ran", "suspected"),
    [(None, [1] * 4, 4, [(3, False), (4, False)]), (2, [1] * 4, 2, [(3, True)]), (2, range(4), 4, [])],
)
def test_repeated_identical_calls_are_reported_and_stopped_at_the_limit(
    limit: int | None, positions: Any, ran: int, suspected: list[Any]
) -> None:
    played = script(*([call("look", at=position)] for position in positions), [Say("Done.")])
    counting = Counting()
    turn, events, provider = run("anthropic.messages", played, counting, loop_limit=limit)
    assert [(event.times, event.stopped) for event in only(events, turn_events.LoopSuspected)] == suspected
    assert len(counting.ran) == ran
    stopped = ran < 4
    assert turn.outcome.termination == ("loop_detected" if stopped else "natural_completion")
    assert provider.bodies[-1].get("tool_choice") == ({"type": "none"} if stopped else None)
    playing.assert_legal(turn)


@on_every_wire
def test_calls_above_the_limit_are_dropped_with_a_warning_and_a_result(
    wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    """000, What Happens Now, Why This Matters, Logging Improvement, Recommendation; 002, Considerations: limits."""
    calls = [call("look", at=n) for n in range(4)]
    counting = Counting()
    with caplog.at_level(logging.WARNING, logger="toolparity"):
        _, events, provider = run(wire, script(calls, [Say("Three.")]), counting, limit=3)
    assert [arguments for _, arguments in counting.ran] == [{"at": 0}, {"at": 1}, {"at": 2}]
    (dropped,) = only(events, turn_events.Dropped)
    assert (dropped.total, len(dropped.processing), len(dropped.dropped)) == (4, 3, 1)
    assert "4 tool calls returned, processing 3, dropped 1" in caplog.text
    assert caplog.text.count("look (") == 4
    results = provider.asked(1).messages[2].results  # type: ignore[union-attr]
    assert len(results) == 4
    assert results[3].parts == [TextPart("This call was not executed: the limit is 3.")]
    assert [row[3]["is_error"] for row in rows(events) if row[1] == "tool_result"] == [False, False, False, True]


@on_every_wire
def test_under_first_one_call_runs_and_the_request_disables_parallel_calls(wire: str) -> None:
    counting = Counting()
    turn, _, provider = run(wire, TWO, counting, policy="first")
    assert counting.names == ["look"]
    has_switch = "single" in SURFACES[wire].able
    assert provider.asked(0).parallel is (False if has_switch else None)
    assert turn.outcome.termination == "natural_completion"
