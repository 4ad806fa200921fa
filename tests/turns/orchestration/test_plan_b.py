"""The event-driven plan of document 003, heading by heading, as it was written down."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from msgspec.structs import replace

from tests.turns.playing import Say, at_once, call, on_every_wire, play, script
from toolparity.turns import events as turn_events
from toolparity.turns import orchestration
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits
from toolparity.turns.orchestration.notes import ReasoningPhase, ToolExecutionPhase
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


@on_every_wire
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


@on_every_wire
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


def test_an_orchestrated_turn_without_interventions_yields_the_events_of_a_plain_turn() -> None:
    events = directed(Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), id="t"))
    plain = at_once(play(Turn(Sequenced("openai.chat", LONG), Counting().tools(), id="t")))
    without_notes = [replace(event, seq=0) for event in events if not isinstance(event, turn_events.Noted)]
    assert without_notes == [replace(event, seq=0) for event in plain]
