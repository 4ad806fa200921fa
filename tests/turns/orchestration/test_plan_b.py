"""The event-driven plan of document 003, heading by heading, as it was written down."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.turns.playing import WIRES, Round, Say, call, script
from toolparity.turns import events as turn_events
from toolparity.turns import orchestration
from toolparity.turns.execution.tool import Fallback
from toolparity.turns.machine.state import TurnState
from toolparity.turns.machine.table import step
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits
from toolparity.turns.orchestration.notes import (
    FinalPhase,
    OrchestrationNote,
    ReasoningPhase,
    Recovery,
    SynthesisPhase,
    ToolExecutionPhase,
)

from .comparing import compared
from .staging import LONG, Counting, Sequenced, directed, messages, spoken, words

PIPELINE = [
    "reasoning",
    "tool_execution",
    "synthesis",
    "reasoning",
    "tool_execution",
    "synthesis",
    "reasoning",
    "final_response",
]
COURSES = {"MCP": "lesson 4 is about servers", "RAG": "lesson 2 is about servers"}
#: The outline of one course, then a search for what it names, as the document's example has it.
COMPARE = script(
    [call("look", course="MCP")],
    [Say("The first has it in lesson 4."), call("look", course="RAG")],
    [Say("Both have a lesson about servers: the fourth, and the second.")],
)


def _find(course: str) -> str:
    return COURSES[course]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_003_core_architectural_philosophy(wire: str) -> None:
    """003, Core Architectural Philosophy: discrete phases, each of which leads to the next one; nothing is foreseen."""
    events = directed(Coordinator(Sequenced(wire, LONG), Counting().tools()))
    assert messages(events) == PIPELINE
    short = directed(Coordinator(Sequenced(wire, script([Say("At once.")])), Counting().tools()))
    assert messages(short) == ["reasoning", "final_response"]
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
    counting = Counting(look=_find)
    provider = Sequenced("openai.chat", COMPARE)
    coordinator = Coordinator(provider, counting.tools(), limits=Limits(rounds=2))
    events = directed(coordinator)
    done = coordinator.orchestrated
    # Query Coordinator: the limit of rounds holds, and the last question may not be answered with calls.
    reasoned = spoken(events, ReasoningPhase)
    assert [event.last for event in reasoned] == [False, False, True]
    # Reasoning Engine: a question each, the context whole in every one.
    assert len(provider.bodies) == 3
    # Tool Execution Dispatcher: the calls ran, and are reported one by one.
    executed = spoken(events, ToolExecutionPhase)
    assert [[name for _, name in event.calls] for event in executed] == [["look"], ["look"]]
    # Context Synthesizer: what was found is there by call.
    assert list(done.session.discovered_facts.values()) == list(COURSES.values())
    # Response Assembler: the model's words, and nothing to be unsure of.
    assert (done.text, done.uncertainty) == ("Both have a lesson about servers: the fourth, and the second.", "")


def test_003_state_management_and_context_preservation() -> None:
    """003, State Management & Context Preservation: four layers, a briefing instead of a replay, decay by age."""
    long = {name: f"{text}. " + f"More of {name}. " * 400 for name, text in COURSES.items()}
    provider = Sequenced("openai.chat", COMPARE)
    context = ContextBuilder(2400)
    coordinator = Coordinator(provider, Counting(look=lambda course: long[course]).tools(), context=context)
    directed(coordinator, "Compare MCP and RAG.")
    assert coordinator.built is not None
    assert coordinator.built.briefed == [1]
    user, briefing, *last = provider.asked().messages
    assert words(user) == "Compare MCP and RAG."
    assert 'look({"course":"MCP"}) returned: lesson 4 is about servers' in words(briefing)
    assert len(last) == 2  # the last round, whole
    session = coordinator.orchestrated.session
    assert session.evolving_intent == "Wanted now: Compare MCP and RAG.\nPursued now: The first has it in lesson 4."
    assert session.search_coverage == {'look({"course":"MCP"})': ["ok"], 'look({"course":"RAG"})': ["ok"]}
    assert session.reasoning_trace[0] == (2, "The first has it in lesson 4.")
    # What the turn keeps is whole: only what is asked is brief.
    assert long["MCP"] in session.discovered_facts.values()


def _fails(**_: Any) -> None:
    raise ValueError("the index is gone")


def test_003_error_handling_strategy() -> None:
    """003, Error Handling Strategy: recovery by level, each further than the one before, and always an answer."""
    gone = RuntimeError("gone")
    levels: dict[str, list[str]] = {}
    for name, failing in {"none": [], "round": [1], "session": [1, 2], "assembled": [1, 2, 3]}.items():
        provider = Sequenced("openai.chat", COMPARE, fails=dict.fromkeys(failing, gone))
        coordinator = Coordinator(provider, Counting(look=_find).tools())
        events = directed(coordinator)
        levels[name] = [event.level for event in coordinator.orchestrated.recoveries]
        # User Feedback Loop: the answer shows that the turn recovered from a failure.
        assert ("Note: this answer may be incomplete" in coordinator.orchestrated.text) == bool(failing)
        assert spoken(events, Recovery) == coordinator.orchestrated.recoveries
        [final] = spoken(events, FinalPhase)
        assert (final.text, final.uncertainty) == (coordinator.orchestrated.text, coordinator.orchestrated.uncertainty)
        if name == "assembled":  # Partial Response Assembly: of the rounds that went well
            assert COURSES["MCP"] in coordinator.orchestrated.answer
        if name == "session":  # Context Simplification: no calls any more, only what is known
            assert COURSES["MCP"] in words(provider.asked().messages[-1])
    assert levels == {
        "none": [],
        "round": ["round"],
        "session": ["round", "session"],
        "assembled": ["round", "session", "assembled"],
    }
    # Tool Substitution: the outline where the search fails, with other arguments.
    counting = Counting(look=_fails, count=lambda title: f"outline of {title}")
    tools = counting.tools(look={"fallback": Fallback("count", lambda given: {"title": given["course"]})})
    coordinator = Coordinator(Sequenced("openai.chat", COMPARE), tools)
    directed(coordinator)
    assert coordinator.orchestrated.level == "tool"
    assert ("count", {"title": "MCP"}) in counting.ran


def test_003_code_structure_organization() -> None:
    """003, Code Structure Organization: the parts know each other by messages; none but the coordinator knows all."""
    folder = Path(orchestration.__file__).parent
    parts = {"engine", "dispatcher", "context", "assembler", "coordinator", "recording"}
    known: dict[str, set[str]] = {}
    for part in parts:
        tree = ast.parse((folder / f"{part}.py").read_text("utf-8"))
        froms = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1}
        known[part] = {module for module in froms if module in parts}
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
    counting = Counting(look=_find)
    coordinator = Coordinator(Sequenced(wire, played), counting.tools(), limits=Limits(rounds=rounds))
    directed(coordinator)
    assert len(counting.ran) == rounds
    assert coordinator.orchestrated.answer == f"Round {rounds}."
    assert coordinator.orchestrated.outcome.termination == "max_rounds_reached"


def test_003_context_compression_testing() -> None:
    """003, Testing Approach, 2, and Context Compression Testing: what a later round needs survives the summary."""
    names = [f"course {number}" for number in range(8)]
    played = script(*([call("look", course=name)] for name in names), [Say("Done.")])
    facts = {name: f"{name} has {number} lessons. " + "Filler. " * 300 for number, name in enumerate(names)}
    provider = Sequenced("openai.chat", played)
    context = ContextBuilder(3000)
    coordinator = Coordinator(
        provider, Counting(look=lambda course: facts[course]).tools(), context=context, limits=Limits(rounds=9)
    )
    directed(coordinator)
    briefing = words(provider.asked().messages[1])
    for number, name in enumerate(names[3:7], 3):
        assert f"{name} has {number} lessons." in briefing
    for number in range(1, 8):  # the oldest at least by what was tried
        assert f"Round {number}:" in briefing
    weights = [context.weight(provider.asked(number)) for number in range(len(provider.bodies))]
    assert max(weights) <= 3000 < sum(map(len, facts.values())) // 4


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_003_comparative_quality_testing(wire: str) -> None:
    """003, Testing Approach: the same question in one round, in several, and in several with a briefing.

    The scripted model always gives its scripted answers: the test compares the requests of each way.
    """
    long = {name: text + " More." * 2000 for name, text in COURSES.items()}
    tools = Counting(look=lambda course: long[course]).tools()
    single, several, briefed = compared(
        wire,
        COMPARE,
        tools,
        (Limits(rounds=1), ContextBuilder()),
        (Limits(rounds=4), ContextBuilder()),
        (Limits(rounds=4), ContextBuilder(4000)),
    )
    assert [len(way.found) for way in (single, several, briefed)] == [1, 2, 2]
    assert single.found.items() < several.found.items()
    assert briefed.found == several.found
    assert [way.requests for way in (single, several, briefed)] == [2, 3, 3]
    assert briefed.asked < several.asked
    assert several.result.answer == briefed.result.answer


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

    provider = Sequenced("openai.chat", script([call("look", course="MCP")], [Say("One is enough."), call("look")]))
    listeners: list[Callable[..., Any]] = [raises, enough]
    coordinator = Coordinator(provider, Counting(look=_find).tools(), listeners=listeners)
    directed(coordinator)
    assert phases[:4] == ["reasoning", "tool_execution", "synthesis", "reasoning"]
    assert coordinator.orchestrated.answer == "One is enough."
    assert coordinator.turn.state.rounds[-1].last
    assert lasts == [False, True]


def test_an_orchestrated_turn_without_interventions_yields_the_events_of_a_plain_turn() -> None:
    """A coordinator that never intervenes yields the events of a `Turn`, one by one."""
    from tests.turns.playing import at_once, play
    from toolparity.turns.turn import Turn

    events = directed(Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), id="t"))
    plain = at_once(play(Turn(Sequenced("openai.chat", LONG), Counting().tools(), id="t")))
    without_notes = [replace(event, seq=0) for event in events if not isinstance(event, turn_events.Noted)]
    assert without_notes == [replace(event, seq=0) for event in plain]
    assert step.__module__ == "toolparity.turns.machine.table"
