"""Listeners that prevent, change or extend each phase of a turn."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.turns.playing import WIRES, Say, at_once, call, only, rows, script
from toolparity.normalizer.conversation import Request, TextPart, ToolResults, User
from toolparity.turns import events as turn_events
from toolparity.turns.log import Log
from toolparity.turns.machine.state import TurnState
from toolparity.turns.orchestration import (
    Add,
    Change,
    Coordinator,
    FinalPhase,
    Phase,
    ReasoningPhase,
    Recovery,
    Steering,
    SynthesisPhase,
    ToolExecutionPhase,
    Veto,
    record,
    replay,
    rerun,
)
from toolparity.turns.orchestration.steering import NOTE

from .staging import LONG, Counting, Sequenced, directed, spoken

#: The rounds of `LONG`: look and count, then post and look, then "All done.".
FIRST = ["look", "count"]


def when(kind: type[Phase], decision: Any, round: int = 1) -> Callable[[Phase, TurnState], Any]:
    """A listener that makes this decision on one phase. ``decision``: it, or a function that returns it."""

    def listener(phase: Phase, state: TurnState) -> Any:
        if not isinstance(phase, kind) or phase.round != round:
            return None
        return decision(phase, state) if callable(decision) else decision

    return listener


def steered(wire: str, *listeners: Any, counting: Counting | None = None, **options: Any) -> tuple[Any, ...]:
    """The coordinator, its provider, its tools and its events. The recording of the turn can be replayed."""
    file = io.BytesIO()
    recorder = record(file)
    provider, counting = Sequenced(wire, LONG), counting or Counting()
    coordinator = Coordinator(
        provider, counting.tools(), listeners=listeners, observers=[recorder], telemetry=recorder.boundary, **options
    )
    events = directed(coordinator)
    recorder.close()
    assert replay(file.getvalue()).difference is None

    def again(provider: Any, **more: Any) -> Coordinator:
        tools = Counting(**(counting.functions if counting else {})).tools()
        return Coordinator(provider, tools, listeners=listeners, **{**options, **more})

    assert at_once(rerun(file.getvalue(), again)).difference is None
    return coordinator, provider, counting, events


def results(provider: Sequenced, number: int = 1) -> list[Any]:
    """The texts of the last tool results in a request."""
    messages = [message for message in provider.asked(number).messages if isinstance(message, ToolResults)]
    return [part.text for result in messages[-1].results for part in result.parts if isinstance(part, TextPart)]


def texts(request: Request) -> list[str]:
    return [
        part.text
        for message in request.messages
        if isinstance(message, User)
        for part in message.parts
        if isinstance(part, TextPart)
    ]


# tool_execution


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_veto_of_an_execution_prevents_its_calls_and_gives_the_reason_to_the_model(wire: str) -> None:
    """003, Key Differentiators from Linear Approaches: a listener can prevent each phase."""
    coordinator, provider, counting, events = steered(wire, when(ToolExecutionPhase, Veto("not at night")))
    assert counting.names == ["post", "look"]
    assert results(provider) == ["This call was not executed: not at night."] * 2
    assert not [event for event in only(events, turn_events.CallStarted) if event.round == 1]
    assert coordinator.orchestrated.answer == "All done."
    assert spoken(events, Steering) == [Steering(1, "tool_execution", "veto", "not at night")]


@pytest.mark.parametrize("policy", ["all", "batch"])
def test_a_veto_of_some_calls_lets_the_others_run(policy: str) -> None:
    def some(phase: ToolExecutionPhase, state: TurnState) -> Veto:
        return Veto("no counting", calls=[id for id, name in phase.calls if name == "count"])

    _, provider, counting, _ = steered("openai.chat", when(ToolExecutionPhase, some), policy=policy)
    assert counting.names == ["look", "post", "look"]
    assert results(provider) == ["look ran", "This call was not executed: no counting."]


def test_a_call_that_a_listener_prevented_is_not_counted_and_asks_for_no_approval() -> None:
    asked: list[str] = []

    def approve(block: Any) -> bool:
        asked.append(block.name)
        return True

    counting = Counting()
    tools = counting.tools(look={"approval": True})
    coordinator = Coordinator(
        Sequenced("openai.chat", LONG), tools, listeners=[when(ToolExecutionPhase, Veto())], approve=approve
    )
    directed(coordinator)
    assert asked == ["look"]  # of the second round
    assert coordinator._meter.calls == 2


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_the_arguments_of_a_call_can_be_changed_before_it_runs(wire: str) -> None:
    """003, Key Differentiators from Linear Approaches: a listener can change each phase."""

    def change(phase: ToolExecutionPhase, state: TurnState) -> Change:
        return Change(arguments={id: {"at": 7} for id, name in phase.calls if name == "look"})

    coordinator, _, counting, events = steered(wire, when(ToolExecutionPhase, change))
    assert counting.ran[:2] == [("look", {"at": 7}), ("count", {"of": "ducks"})]
    [look, _] = coordinator.orchestrated.session.rounds[0].calls
    assert look.label == 'look({"at":7})'
    [row] = [row for row in rows(events) if row[1] == "tool_use" and row[3]["tool_name"] == "look"][:1]
    assert row[3]["input"] == {"at": 7}  # what the user sees is what ran


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_calls_can_be_added_to_an_execution(wire: str) -> None:
    """003, Key Differentiators from Linear Approaches: a listener can add to each phase."""
    added = Add(calls=[("post", {"text": "extra"})])
    _, provider, counting, events = steered(wire, when(ToolExecutionPhase, added))
    assert counting.names == ["look", "count", "post", "post", "look"]
    assert results(provider) == ["look ran", "count ran", "post ran"]
    shown = [row[3]["tool_name"] for row in rows(events) if row[1] == "tool_use"]
    assert shown[:3] == ["look", "count", "post"]


def test_changed_and_added_calls_need_the_approval_of_their_tools() -> None:
    asked: list[Any] = []

    def approve(block: Any) -> bool:
        asked.append(block.arguments)
        return False

    def change(phase: ToolExecutionPhase, state: TurnState) -> Change:
        return Change(arguments={phase.calls[0][0]: {"at": 99}})

    counting = Counting()
    tools = counting.tools(look={"approval": lambda arguments: arguments.get("at", 0) > 50}, post={"approval": True})
    listeners = [when(ToolExecutionPhase, change), when(ToolExecutionPhase, Add(calls=[("post", {"text": "x"})]))]
    directed(Coordinator(Sequenced("openai.chat", LONG), tools, listeners=listeners, approve=approve))
    assert asked[:2] == [{"at": 99}, {"text": "x"}]
    assert counting.names == ["count", "look"]


# synthesis


@pytest.mark.parametrize("decision", [Veto(), False])
def test_a_veto_of_a_synthesis_makes_the_next_answer_the_last_one(decision: Any) -> None:
    coordinator, provider, counting, _ = steered("openai.chat", when(SynthesisPhase, decision))
    assert counting.names == FIRST
    assert len(provider.bodies) == len(coordinator.turn.state.rounds)
    assert coordinator.turn.state.rounds[1].last


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_results_can_be_changed_before_the_model_gets_them(wire: str) -> None:
    def change(phase: SynthesisPhase, state: TurnState) -> Change:
        return Change(results=dict.fromkeys(phase.found, "[redacted]"))

    coordinator, provider, _, events = steered(wire, when(SynthesisPhase, change))
    assert results(provider) == ["[redacted]", "[redacted]"]
    assert set(coordinator.orchestrated.session.discovered_facts.values()) >= {"[redacted]"}
    shown = [row[3]["content"] for row in rows(events) if row[1] == "tool_result"]
    assert shown[:2] == ["[redacted]", "[redacted]"]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_message_to_the_model_can_follow_the_results(wire: str) -> None:
    coordinator, provider, _, _ = steered(wire, when(SynthesisPhase, Add("Be short.")))
    assert NOTE + "Be short." in "".join(texts(provider.asked(1)))
    assert NOTE + "Be short." in "".join(texts(provider.asked(2)))  # it is in the conversation
    assert coordinator.orchestrated.answer == "All done."


# reasoning


def test_a_veto_of_a_request_ends_the_turn_with_the_results_so_far() -> None:
    coordinator, provider, counting, events = steered("openai.chat", when(ReasoningPhase, Veto("enough spent"), 2))
    assert (len(provider.bodies), counting.names) == (1, FIRST)
    done = coordinator.orchestrated
    assert (done.level, done.written) == ("assembled", False)
    assert "look ran" in done.answer
    assert done.outcome.error is not None
    assert done.outcome.error.type == "PhaseVetoed"
    assert [recovery.level for recovery in spoken(events, Recovery)] == ["assembled"]
    assert coordinator.breakers.state("provider", "openai") == "closed"


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_one_request_can_be_changed_and_extended(wire: str) -> None:
    def without_post(request: Request) -> Request:
        return replace(request, tools=[tool for tool in request.tools if tool.name != "post"])

    listeners = when(ReasoningPhase, Change(request=without_post)), when(ReasoningPhase, Add("Look first."))
    _, provider, _, _ = steered(wire, *listeners)
    first, second, *_ = (provider.asked(number) for number in range(3))
    assert [tool.name for tool in first.tools] == FIRST
    assert NOTE + "Look first." in "".join(texts(first))
    assert [tool.name for tool in second.tools] == ["look", "count", "post"]
    assert NOTE not in "".join(texts(second))


def test_a_change_of_a_request_that_raises_leaves_it_as_it_is() -> None:
    def fails(request: Request) -> Request:
        raise ValueError("no such tool")

    coordinator, *_ = steered("openai.chat", when(ReasoningPhase, Change(request=fails)))
    assert coordinator.orchestrated.answer == "All done."


# final_response


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_veto_of_the_final_response_asks_the_model_again_at_most_twice(wire: str) -> None:
    coordinator, provider, _, events = steered(
        wire, lambda phase, state: Veto("cite a source") if isinstance(phase, FinalPhase) else None
    )
    assert len(provider.bodies) == 5
    assert "".join(texts(provider.asked(4))).count(NOTE + "cite a source") == 2
    assert coordinator.orchestrated.outcome.termination == "natural_completion"
    assert [steering.phase for steering in spoken(events, Steering)] == ["final_response"] * 2


@pytest.mark.thorough(keep=2, per="{text}")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("decision", "text"),
    [(Change(text="It is done."), "It is done."), (Add("No warranty."), "All done.\n\nNo warranty.")],
)
def test_the_answer_can_be_changed_and_extended(wire: str, decision: Any, text: str) -> None:
    seen: list[str] = []

    def final(phase: FinalPhase, state: TurnState) -> Any:
        seen.append(phase.text)
        return decision

    coordinator, _, _, events = steered(wire, when(FinalPhase, final, 3))
    assert seen == ["All done."] * 2  # of the turn and of its repetition
    assert (coordinator.orchestrated.answer, coordinator.turn.outcome.text) == (text, text)
    assert only(events, turn_events.TurnComplete)[-1].text == text
    assert [row[2] for row in rows(events) if row[1] == "text"][-1] == text
    [final_phase] = spoken(events, FinalPhase)
    assert final_phase.text == text


def test_the_log_contains_what_the_listeners_decided(tmp_path: Path) -> None:
    """Its rows and its recording, from which the turn is replayed and repeated."""

    def change(phase: Phase, state: TurnState) -> Any:
        if isinstance(phase, ToolExecutionPhase) and phase.round == 1:
            return Change(arguments={phase.calls[0][0]: {"at": 7}})
        if isinstance(phase, SynthesisPhase) and phase.round == 1:
            return Change(results={phase.found[0]: "[redacted]"})
        return Add("No warranty.") if isinstance(phase, FinalPhase) else None

    listeners = [change, when(SynthesisPhase, Add("Be short.")), when(ToolExecutionPhase, Veto("not now"), 2)]

    async def main() -> tuple[bytes, list[Any]]:
        with Log(tmp_path / "turns.db") as log:
            async with log.record() as recorder:
                coordinator = Coordinator(
                    Sequenced("anthropic.messages", LONG), Counting().tools(), listeners=listeners, observers=[recorder]
                )
                await coordinator.run("Go.")
            turn = recorder.turn or ""
            events = [row.event for row in (await log.events(turn)).events]
            return await log.recording(turn), events

    recording, events = at_once(main())
    assert replay(recording).difference is None
    shown = [row[3] for row in rows(events) if row[1] in ("tool_use", "tool_result")]
    assert [content.get("input") for content in shown[:2]] == [{"at": 7}, {"of": "ducks"}]
    results = [content["content"] for content in shown if "content" in content]
    assert results == ["[redacted]", "count ran", *["This call was not executed: not now."] * 2]
    assert only(events, turn_events.TurnComplete)[-1].text == "All done.\n\nNo warranty."

    def again(provider: Any, **options: Any) -> Coordinator:
        return Coordinator(provider, Counting().tools(), listeners=listeners, **options)

    assert at_once(rerun(recording, again)).difference is None


def test_several_listeners_decide_in_their_order_and_one_that_fails_counts_as_silent() -> None:
    def fails(phase: Phase, state: TurnState) -> Any:
        raise RuntimeError("no opinion")

    async def later(phase: Phase, state: TurnState) -> Any:
        return Add("Second.") if isinstance(phase, FinalPhase) else None

    def wrong(phase: Phase, state: TurnState) -> Any:
        return "yes"

    coordinator, *_ = steered("openai.chat", fails, wrong, when(FinalPhase, Add("First."), 3), later)
    assert coordinator.orchestrated.answer == "All done.\n\nFirst.\n\nSecond."


def test_a_listener_that_decides_nothing_changes_nothing() -> None:
    played = script([call("look", at=1)], [Say("Done.")])
    provider = Sequenced("openai.chat", played)
    events = directed(Coordinator(provider, Counting().tools(), listeners=[lambda phase, state: True], id="t"))
    plain = directed(Coordinator(Sequenced("openai.chat", played), Counting().tools(), id="t"))
    assert events == plain
