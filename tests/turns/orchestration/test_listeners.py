"""Listeners that prevent, change or extend each phase of a turn."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.turns.playing import WIRES, at_once, only, rows
from toolparity.normalizer.conversation import Request, TextPart, ToolResults, User
from toolparity.turns import events as turn_events
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

from .staging import LOOKED, Counting, Ran, notes

pytestmark = pytest.mark.thorough(keep=3)

#: The rounds of `LONG`: look and count, then post and look, then "All done.".
FIRST = ["look", "count"]


def when(kind: type[Phase], decision: Any, round: int = 1) -> Callable[[Phase, TurnState], Any]:
    """A listener that makes this decision on one phase. ``decision``: it, or a function that returns it."""

    def listener(phase: Phase, state: TurnState) -> Any:
        if not isinstance(phase, kind) or phase.round != round:
            return None
        return decision(phase, state) if callable(decision) else decision

    return listener


def steered(wire: str, *listeners: Any, **options: Any) -> Ran:
    """A turn with listeners. Its recording can be replayed, and it can be repeated."""
    file = io.BytesIO()
    recorder = record(file)
    ran = Ran(wire=wire, listeners=listeners, observers=[recorder], telemetry=recorder.boundary, **options)
    recorder.close()
    assert replay(file.getvalue()).difference is None

    def again(provider: Any, **more: Any) -> Coordinator:
        return Coordinator(provider, Counting().tools(), listeners=listeners, **{**options, **more})

    assert at_once(rerun(file.getvalue(), again)).difference is None
    return ran


def results(ran: Ran, number: int = 1) -> list[Any]:
    """The texts of the last tool results in a request."""
    messages = [message for message in ran.provider.asked(number).messages if isinstance(message, ToolResults)]
    return [part.text for result in messages[-1].results for part in result.parts if isinstance(part, TextPart)]


def asked(ran: Ran, number: int) -> str:
    """The texts of the user in a request."""
    users = [message for message in ran.provider.asked(number).messages if isinstance(message, User)]
    return "".join(part.text for message in users for part in message.parts if isinstance(part, TextPart))


def shown(ran: Ran, kind: str, member: str) -> list[Any]:
    """A member of the content of the blocks of a kind."""
    return [row[3][member] for row in rows(ran.events) if row[1] == kind]


@pytest.mark.parametrize("wire", WIRES)
def test_a_veto_of_an_execution_prevents_its_calls_and_gives_the_reason_to_the_model(wire: str) -> None:
    """003, Key Differentiators from Linear Approaches: a listener can prevent each phase."""
    ran = steered(wire, when(ToolExecutionPhase, Veto("not at night")))
    assert ran.counting.names == ["post", "look"]
    assert results(ran) == ["This call was not executed: not at night."] * 2
    assert not [event for event in only(ran.events, turn_events.CallStarted) if event.round == 1]
    assert ran.done.answer == "All done."
    assert notes(ran.events, Steering) == [Steering(1, "tool_execution", "veto", "not at night")]


@pytest.mark.parametrize("policy", ["all", "batch"])
def test_a_veto_of_some_calls_lets_the_others_run(policy: str) -> None:
    def some(phase: ToolExecutionPhase, state: TurnState) -> Veto:
        return Veto("no counting", calls=[id for id, name in phase.calls if name == "count"])

    ran = steered("openai.chat", when(ToolExecutionPhase, some), policy=policy)
    assert ran.counting.names == ["look", "post", "look"]
    assert results(ran) == ["look ran", "This call was not executed: no counting."]


@pytest.mark.parametrize("wire", WIRES)
def test_the_arguments_of_a_call_can_be_changed_before_it_runs(wire: str) -> None:
    """003, Key Differentiators from Linear Approaches: a listener can change each phase."""

    def change(phase: ToolExecutionPhase, state: TurnState) -> Change:
        return Change(arguments={id: {"at": 7} for id, name in phase.calls if name == "look"})

    ran = steered(wire, when(ToolExecutionPhase, change))
    assert ran.counting.ran[:2] == [("look", {"at": 7}), ("count", {"of": "ducks"})]
    assert ran.first_calls[0].label == 'look({"at":7})'
    assert shown(ran, "tool_use", "input")[0] == {"at": 7}  # what the user sees is what ran


@pytest.mark.parametrize("wire", WIRES)
def test_calls_can_be_added_to_an_execution(wire: str) -> None:
    """003, Key Differentiators from Linear Approaches: a listener can add to each phase."""
    ran = steered(wire, when(ToolExecutionPhase, Add(calls=[("post", {"text": "extra"})])))
    assert ran.counting.names == ["look", "count", "post", "post", "look"]
    assert results(ran) == ["look ran", "count ran", "post ran"]
    assert shown(ran, "tool_use", "tool_name")[:3] == ["look", "count", "post"]


def test_calls_need_approval_as_they_are_after_the_listeners() -> None:
    """Changed and added calls do; one that a listener prevented does not, and is not counted."""
    approved: list[Any] = []

    def approve(block: Any) -> bool:
        approved.append(block.arguments)
        return False

    def change(phase: ToolExecutionPhase, state: TurnState) -> Change:
        return Change(arguments={phase.calls[0][0]: {"at": 99}})

    tools: Any = {"look": {"approval": lambda given: given.get("at", 0) > 50}, "post": {"approval": True}}
    listeners = [when(ToolExecutionPhase, change), when(ToolExecutionPhase, Add(calls=[("post", {"text": "x"})]))]
    ran = Ran(tools=tools, listeners=listeners, approve=approve)
    assert approved[:2] == [{"at": 99}, {"text": "x"}]
    assert ran.counting.names == ["count", "look"]
    approved.clear()
    tools = {"look": {"approval": True}}
    ran = Ran(tools=tools, listeners=[when(ToolExecutionPhase, Veto())], approve=approve)
    assert approved == [{"at": 2}]  # of the second round
    assert ran.coordinator._meter.calls == 1


@pytest.mark.parametrize("decision", [Veto(), False])
def test_a_veto_of_a_synthesis_makes_the_next_answer_the_last_one(decision: Any) -> None:
    ran = steered("openai.chat", when(SynthesisPhase, decision))
    assert ran.counting.names == FIRST
    assert len(ran.provider.bodies) == len(ran.state.rounds) == 2
    assert ran.state.rounds[1].last


@pytest.mark.parametrize("wire", WIRES)
def test_results_can_be_changed_and_followed_by_a_message_before_the_model_gets_them(wire: str) -> None:
    def change(phase: SynthesisPhase, state: TurnState) -> Change:
        return Change(results=dict.fromkeys(phase.found, "[redacted]"))

    ran = steered(wire, when(SynthesisPhase, change), when(SynthesisPhase, Add("Be short.")))
    assert results(ran) == ["[redacted]"] * 2
    assert set(ran.done.session.discovered_facts.values()) >= {"[redacted]"}
    assert shown(ran, "tool_result", "content")[:2] == ["[redacted]"] * 2
    assert NOTE + "Be short." in asked(ran, 1)
    assert NOTE + "Be short." in asked(ran, 2)  # it is in the conversation
    assert ran.done.answer == "All done."


def test_a_veto_of_a_request_ends_the_turn_with_the_results_so_far() -> None:
    ran = steered("openai.chat", when(ReasoningPhase, Veto("enough spent"), 2))
    assert (len(ran.provider.bodies), ran.counting.names) == (1, FIRST)
    assert (ran.done.level, ran.done.written) == ("assembled", False)
    assert "look ran" in ran.done.answer
    assert getattr(ran.done.outcome.error, "type", None) == "PhaseVetoed"
    assert [recovery.level for recovery in notes(ran.events, Recovery)] == ["assembled"]
    assert ran.coordinator.breakers.state("provider", "openai") == "closed"


@pytest.mark.parametrize("wire", WIRES)
def test_one_request_can_be_changed_and_extended(wire: str) -> None:
    def without_post(request: Request) -> Request:
        return replace(request, tools=[tool for tool in request.tools if tool.name != "post"])

    changed = when(ReasoningPhase, Change(request=without_post))
    ran = steered(wire, changed, when(ReasoningPhase, Add("Look first.")))
    declared = [[tool.name for tool in ran.provider.asked(number).tools] for number in range(2)]
    assert declared == [FIRST, ["look", "count", "post"]]
    assert NOTE + "Look first." in asked(ran, 0)
    assert NOTE not in asked(ran, 1)


@pytest.mark.parametrize("wire", WIRES)
def test_a_veto_of_the_final_response_asks_the_model_again_at_most_twice(wire: str) -> None:
    veto = Veto("cite a source")
    ran = steered(wire, lambda phase, state: veto if isinstance(phase, FinalPhase) else None)
    assert len(ran.provider.bodies) == 5
    assert asked(ran, 4).count(NOTE + "cite a source") == 2
    assert ran.termination == "natural_completion"
    assert [steering.phase for steering in notes(ran.events, Steering)] == ["final_response"] * 2


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

    ran = steered(wire, when(FinalPhase, final, 3))
    assert seen == ["All done."] * 2  # of the turn and of its repetition
    [final_phase] = notes(ran.events, FinalPhase)
    last = only(ran.events, turn_events.TurnComplete)[-1]
    texts = [row[2] for row in rows(ran.events) if row[1] == "text"]
    assert {ran.done.answer, ran.done.outcome.text, last.text, texts[-1], final_phase.text} == {text}


def test_several_listeners_decide_in_their_order_and_one_that_fails_counts_as_silent() -> None:
    """So does a change of a request that raises."""

    def fails(*_: Any) -> Any:
        raise RuntimeError("no opinion")

    async def later(phase: Phase, state: TurnState) -> Any:
        return Add("Second.") if isinstance(phase, FinalPhase) else None

    raises = when(ReasoningPhase, Change(request=fails))
    ran = steered("openai.chat", fails, raises, lambda *_: "yes", when(FinalPhase, Add("First."), 3), later)
    assert ran.done.answer == "All done.\n\nFirst.\n\nSecond."


def test_a_listener_that_decides_nothing_changes_nothing() -> None:
    assert Ran(LOOKED, listeners=[lambda phase, state: True], id="t").events == Ran(LOOKED, id="t").events
