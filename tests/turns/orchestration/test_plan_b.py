"""The event-driven plan of document 003, heading by heading, as it was written down."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.turns.playing import WIRES, Round, Say, at_once, call, play, script
from toolparity.turns import events as turn_events
from toolparity.turns import orchestration
from toolparity.turns.execution.tool import Fallback
from toolparity.turns.machine.state import TurnState
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits
from toolparity.turns.orchestration.notes import (
    FinalPhase,
    OrchestrationNote,
    ReasoningPhase,
    Recovery,
    SynthesisPhase,
    ToolExecutionPhase,
)
from toolparity.turns.turn import Turn

from .staging import LONG, Counting, Ran, Sequenced, directed, names_of_notes, notes, words

ROUND = ["reasoning", "tool_execution", "synthesis"]
COURSES = {"MCP": "lesson 4 is about servers", "RAG": "lesson 2 is about servers"}
#: The outline of one course, then a search for what it names, as the document's example has it.
COMPARE = script(
    [call("look", course="MCP")],
    [Say("The first has it in lesson 4."), call("look", course="RAG")],
    [Say("Both have a lesson about servers: the fourth, and the second.")],
)


def finding(facts: dict[str, str] = COURSES) -> Counting:
    """Tools of which the first finds the fact about a course."""
    return Counting(look=lambda course: facts[course])


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_003_core_architectural_philosophy(wire: str) -> None:
    """003, Core Architectural Philosophy: discrete phases, each of which leads to the next one; nothing is foreseen."""
    events = Ran(wire=wire).events
    assert names_of_notes(events) == [*ROUND, *ROUND, "reasoning", "final_response"]
    short = Ran(script([Say("At once.")]), wire=wire)
    assert names_of_notes(short.events) == ["reasoning", "final_response"]
    # A phase comes before its events.
    order = [event.note if isinstance(event, turn_events.Noted) else type(event) for event in events]
    # The first phase comes after the event that begins the turn.
    assert order[:3] == [turn_events.TurnStarted, turn_events.RoundStarted, "reasoning"]
    second = order.index(turn_events.RoundStarted, 2)
    assert order.index("synthesis") < order.index("reasoning", 3) < order.index(turn_events.RoundFinished) < second
    assert order.index("tool_execution") < order.index(turn_events.CallsKnown) < order.index(turn_events.CallStarted)
    assert order[-3:] == ["final_response", turn_events.RoundFinished, turn_events.TurnComplete]


def test_003_alternative_api_call_loop_structure() -> None:
    """003, Alternative API Call Loop Structure: each of the five parts does its own work in one turn."""
    ran = Ran(COMPARE, finding(), limits=Limits(rounds=2))
    # Query Coordinator: the limit of rounds holds, and the last question may not be answered with calls.
    assert [event.last for event in notes(ran.events, ReasoningPhase)] == [False, False, True]
    # Reasoning Engine: a question each, the context whole in every one.
    assert len(ran.provider.bodies) == 3
    # Tool Execution Dispatcher: the calls ran, and are reported one by one.
    executed = notes(ran.events, ToolExecutionPhase)
    assert [[name for _, name in event.calls] for event in executed] == [["look"], ["look"]]
    # Context Synthesizer: what was found is there by call.
    assert list(ran.done.session.discovered_facts.values()) == list(COURSES.values())
    # Response Assembler: the model's words, and nothing to be unsure of.
    assert ran.done.text == "Both have a lesson about servers: the fourth, and the second."
    assert ran.done.uncertainty == ""


def test_003_state_management_and_context_preservation() -> None:
    """003, State Management & Context Preservation: four layers, a briefing instead of a replay, decay by age."""
    long = {name: f"{text}. " + f"More of {name}. " * 400 for name, text in COURSES.items()}
    ran = Ran(COMPARE, finding(long), context=ContextBuilder(2400))
    assert ran.coordinator.built is not None
    assert ran.coordinator.built.briefed == [1]
    user, briefing, *last = ran.provider.asked().messages
    assert words(user) == "Go."
    assert 'look({"course":"MCP"}) returned: lesson 4 is about servers' in words(briefing)
    assert len(last) == 2  # the last round, whole
    session = ran.done.session
    assert session.evolving_intent == "Wanted now: Go.\nPursued now: The first has it in lesson 4."
    assert session.search_coverage == {'look({"course":"MCP"})': ["ok"], 'look({"course":"RAG"})': ["ok"]}
    assert session.reasoning_trace[0] == (2, "The first has it in lesson 4.")
    # What the turn keeps is whole: only what is asked is brief.
    assert long["MCP"] in session.discovered_facts.values()


def _fails(**_: Any) -> None:
    raise ValueError("the index is gone")


def test_003_error_handling_strategy() -> None:
    """003, Error Handling Strategy: recovery by level, each further than the one before, and always an answer."""
    levels = ["round", "session", "assembled"]
    for number in range(4):
        ran = Ran(COMPARE, finding(), fails=range(1, number + 1))
        assert [event.level for event in ran.done.recoveries] == levels[:number]
        # User Feedback Loop: the answer shows that the turn recovered from a failure.
        assert ("Note: this answer may be incomplete" in ran.done.text) == (number > 0)
        assert notes(ran.events, Recovery) == ran.done.recoveries
        [final] = notes(ran.events, FinalPhase)
        assert (final.text, final.uncertainty) == (ran.done.text, ran.done.uncertainty)
        if number == 3:  # Partial Response Assembly: of the rounds that went well
            assert COURSES["MCP"] in ran.done.answer
        if number == 2:  # Context Simplification: no calls any more, only what is known
            assert COURSES["MCP"] in words(ran.provider.asked().messages[-1])
    # Tool Substitution: the outline where the search fails, with other arguments.
    counting = Counting(look=_fails, count=lambda title: f"outline of {title}")
    fallback = Fallback("count", lambda given: {"title": given["course"]})
    assert Ran(COMPARE, counting, tools={"look": {"fallback": fallback}}).done.level == "tool"
    assert ("count", {"title": "MCP"}) in counting.ran


def test_003_code_structure_organization() -> None:
    """003, Code Structure Organization: the parts know each other by messages; none but the coordinator knows all."""
    folder = Path(orchestration.__file__).parent
    parts = {"engine", "dispatcher", "context", "assembler", "coordinator", "recording"}
    known: dict[str, set[str]] = {}
    for part in parts:
        tree = ast.parse((folder / f"{part}.py").read_text("utf-8"))
        imports = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1}
        known[part] = {module for module in imports if module in parts}
        importlib.import_module(f"toolparity.turns.orchestration.{part}")
    assert known.pop("coordinator") == {"engine", "dispatcher", "context", "assembler"}
    assert known == {part: set() for part in parts - {"coordinator"}}


@pytest.mark.thorough(keep=2, per="{rounds}")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_003_performance_boundary(wire: str, rounds: int) -> None:
    """003, Testing Approach, 5: at the limit of two rounds, and below it, there is an answer, and nothing more runs."""
    names = enumerate(["MCP", "RAG", "MCP", "RAG"])
    played = script(*(Round([call("look", course=name), Say(f"Round {n}.")]) for n, name in names))
    ran = Ran(played, finding(), wire=wire, limits=Limits(rounds=rounds))
    assert len(ran.counting.ran) == rounds
    assert (ran.done.answer, ran.termination) == (f"Round {rounds}.", "max_rounds_reached")


def test_003_context_compression_testing() -> None:
    """003, Testing Approach, 2, and Context Compression Testing: what a later round needs survives the summary."""
    names = [f"course {number}" for number in range(8)]
    played = script(*([call("look", course=name)] for name in names), [Say("Done.")])
    facts = {name: f"{name} has {number} lessons. " + "Filler. " * 300 for number, name in enumerate(names)}
    ran = Ran(played, finding(facts), context=(context := ContextBuilder(3000)), limits=Limits(rounds=9))
    briefing = words(ran.provider.asked().messages[1])
    assert all(f"{name} has {number} lessons." in briefing for number, name in enumerate(names[3:7], 3))
    assert all(f"Round {number}:" in briefing for number in range(1, 8))  # the oldest at least by what was tried
    weights = [context.weight(ran.provider.asked(number)) for number in range(len(ran.provider.bodies))]
    assert max(weights) <= 3000 < sum(map(len, facts.values())) // 4


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_003_comparative_quality_testing(wire: str) -> None:
    """003, Testing Approach: the same question in one round, in several, and in several with a briefing.

    The scripted model always gives its scripted answers: the test compares the requests of each way.
    """
    long = {name: text + " More." * 2000 for name, text in COURSES.items()}
    whole, brief = ContextBuilder(), ContextBuilder(4000)
    settings = (Limits(rounds=1), whole), (Limits(rounds=4), whole), (Limits(rounds=4), brief)
    ways = [Ran(COMPARE, finding(long), wire=wire, limits=limits, context=context) for limits, context in settings]
    single, several, briefed = (way.done.session.discovered_facts for way in ways)
    assert [len(single), len(several)] == [1, 2]
    assert single.items() < several.items()
    assert briefed == several
    requests = [[way.provider.asked(number) for number in range(len(way.provider.bodies))] for way in ways]
    assert [len(asked) for asked in requests] == [2, 3, 3]
    assert sum(map(whole.weight, requests[2])) < sum(map(whole.weight, requests[1]))
    assert ways[1].done.answer == ways[2].done.answer


def test_003_key_differentiators() -> None:
    """003, Key Differentiators from Linear Approaches: a listener of a phase decides on the next one."""
    phases: list[str] = []
    lasts: list[bool] = []

    def enough(message: OrchestrationNote, state: TurnState) -> bool | None:
        phases.append(str(message.__struct_config__.tag))
        if isinstance(message, ReasoningPhase):
            lasts.append(message.last)
        return False if isinstance(message, SynthesisPhase) and message.found else None

    async def raises(message: OrchestrationNote, state: TurnState) -> None:
        raise RuntimeError("a listener of no use")

    listeners: list[Callable[..., Any]] = [raises, enough]
    played = script([call("look", course="MCP")], [Say("One is enough."), call("look")])
    ran = Ran(played, finding(), listeners=listeners)
    assert phases[:4] == [*ROUND, "reasoning"]
    assert ran.done.answer == "One is enough."
    assert ran.state.rounds[-1].last
    assert lasts == [False, True]


def test_an_orchestrated_turn_without_interventions_yields_the_events_of_a_plain_turn() -> None:
    events = directed(Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), id="t"))
    plain = at_once(play(Turn(Sequenced("openai.chat", LONG), Counting().tools(), id="t")))
    without_notes = [replace(event, seq=0) for event in events if not isinstance(event, turn_events.Noted)]
    assert without_notes == [replace(event, seq=0) for event in plain]
