"""The examples of the page about turns, and the agent of agents.md: its program, and that agent on every wire."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from docs.generate import agent_trials
from tests.conformance.pages import DOCS, blocks
from tests.support.events import chat_body, chat_call
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.normalizer.conversation import Assistant, Request, ToolResults
from toolparity.normalizer.requests import check_request, write_request
from toolparity.turns import Agent, events
from toolparity.turns.machine.state import Termination
from toolparity.turns.options import Hooks
from toolparity.turns.outcome import Outcome
from toolparity.turns.testing import Status

from .playing import WIRES, Emulated, Round, Say, at_once, call, names_of_page, on_every_wire, script
from .test_clients import reach

PAGE = "turns.md"
SEEN = json.loads(agent_trials.SEEN.read_text())
CALLS = [call(name, **arguments) for name, arguments in agent_trials.CALLS]
SCRIPT = script(CALLS, [Say("Done.")], tools=[name for name, _ in agent_trials.CALLS])
BOTH = script(
    [call("appointments", customer="c-1"), call("billing", customer="c-1")],
    [Say("You come on Friday; the bill is known at 8:00.")],
    tools=("appointments", "billing"),
)


@pytest.fixture
def names() -> dict[str, Any]:
    """The names that the page defines."""
    return names_of_page(PAGE)


@pytest.mark.page("docs/pages/turns.md")
@on_every_wire
def test_the_page_example_of_an_agent_runs_three_typed_tools_on_every_wire(names: dict[str, Any], wire: str) -> None:
    calls = [call("find_boat", harbour="Horta"), call("book", boat="Ana", day="2026-11-23"), call("price", boat="Ana")]
    provider = Emulated(wire, script(calls, [Say("Done.")], tools=("find_boat", "book", "price")))
    outcome = at_once(names["charter"](provider, "Go."))
    results = [result.parts[0] for result in outcome.state.rounds[0].tool_results]
    first = next(iter(blocks(PAGE))).text
    assert "Agent(provider, [find_boat, book, price]" in first
    assert len([line for line in first.splitlines() if line.strip()]) <= 12
    assert [part.value for part in results] == [["Ana", "Flor"], {"boat": "Ana", "weekday": "Monday"}, 120.0]


def test_the_page_example_of_a_conversation_books_with_the_history(names: dict[str, Any]) -> None:
    first = Round([Say("Ana is free.")], "Is there a boat on Friday?")
    played = script(first, Round([call("book", boat="Ana", day="2026-11-27")], "Book it."), [Say("Booked.")])
    played = replace(played, rounds=[first, *played.rounds[1:]])
    assert at_once(names["talk"](Emulated("openai.chat", played))).text == "Booked."


def test_the_page_examples_of_messages_of_another_wire_a_typed_answer_and_injection(names: dict[str, Any]) -> None:
    for messages in ("Go.", [{"role": "user", "content": [{"type": "text", "text": "Go."}]}]):
        assert at_once(names["watch"](Emulated("openai.responses", script([Say("Two.")])), messages)).text == "Two."
    provider = Emulated("openai.chat", script([Say('{"boat": "Ana", "day": "2026-11-27"}')]))
    assert at_once(names["booked"](provider, "Go.")).day.year == 2026
    provider = Emulated("openai.chat", script([call("pay", number=7)], [Say("Paid.")], tools=("pay",)))
    outcome = at_once(names["paid"](provider, "Go."))
    assert outcome.state.rounds[0].tool_results[0].parts[0].value == {"number": 7, "due": "2026-03-01"}


def test_the_page_example_of_a_fallback_continues_with_another_provider(names: dict[str, Any]) -> None:
    first, other = (Emulated(wire, script([Say("Two.")])) for wire in ("openai.chat", "anthropic.messages"))
    first.faults = {1: Status(529)}
    assert at_once(names["continued"](first, [other], "Go.")).text == "Two."


def test_the_page_example_of_hooks_runs_and_the_page_has_the_signature_of_every_hook(names: dict[str, Any]) -> None:
    calls = [call("price", boat=boat, days=9) for boat in ("Ana", "Flor")]
    outcome, kinds = at_once(
        names["hooked"](Emulated("openai.chat", script(calls, [Say("Done.")], tools=["price"])), "Go.")
    )
    assert [result.is_error for result in outcome.state.rounds[0].tool_results] == [True, False]
    assert (kinds["ApprovalDecided"], kinds["Acknowledged"]) == (1, 1)
    section = (DOCS / PAGE).read_text("utf-8").partition("## The signatures of hooks")[2].partition("```")[0]
    assert [name for name in Hooks.__struct_fields__ if f"`{name}`" not in section] == []


def test_the_page_example_runs_both_tools_and_returns_their_results(
    names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = at_once(names["run"](Emulated("openai.chat", BOTH), "Go."))
    assert outcome.text == "You come on Friday; the bill is known at 8:00."
    successful, failed = outcome.state.rounds[0].tool_results
    assert not successful.is_error
    assert (failed.is_error, failed.parts[0].text) == (True, "the billing system is closed until 8:00")
    assert "CallsKnown(" in capsys.readouterr().out


def test_the_page_example_decides_a_call_in_another_process(names: dict[str, Any]) -> None:
    calls = [call("close_account", customer=customer) for customer in ("c-1", "c-2")]
    asks = script(calls, [Say("Done.")], tools=("close_account",))
    provider = Emulated("anthropic.messages", asks)
    (waiting,), kept = at_once(names["ask"](provider, "Go."))
    assert waiting.arguments == {"customer": "c-2"}
    outcome = at_once(names["decide"](provider, kept, waiting.id, False))
    allowed, denied = outcome.state.rounds[0].tool_results
    assert (allowed.is_error, denied.is_error) == (False, True)
    assert "not today" in denied.parts[0].text
    assert outcome.text == "Done."


@pytest.mark.parametrize("date", ["Friday", None])
def test_the_page_example_supplies_a_result_from_another_process(names: dict[str, Any], date: str | None) -> None:
    provider = Emulated("openai.responses", script([call("pick_a_date")], [Say("Fine.")], tools=("pick_a_date",)))
    (waiting,), kept = at_once(names["ask"](provider, "Go."))
    assert (waiting.name, waiting.wants) == ("pick_a_date", "result")
    outcome = at_once(names["picked"](provider, kept, waiting.id, date))
    (result,) = outcome.state.rounds[0].tool_results
    assert result.is_error == (date is None)
    assert (outcome.termination, outcome.text) == ("natural_completion", "Fine.")


def test_the_page_example_of_an_early_exit_leaves_a_legal_conversation(names: dict[str, Any]) -> None:
    request: Request = at_once(names["first_words"](Emulated("anthropic.messages", BOTH), "Go."))
    assert check_request(write_request(request).body, "anthropic.messages") == []
    kinds = [type(turn) for turn in request.messages]
    assert kinds[1:3] == [Assistant, ToolResults]


def test_the_page_example_acknowledges_the_calls_and_narrates_the_results(names: dict[str, Any]) -> None:
    class Narrates:
        wire, name, model = "openai.chat", "openai", "small"

        async def ask(self, body: Any) -> Any:
            assert "the billing system is closed until 8:00" in json.dumps(body)
            yield json.dumps(chat_body(finish="stop", content="Friday at ten.")).encode()

    turn_events = at_once(names["narrated_events"](Emulated("openai.chat", BOTH), Narrates(), "Go."))
    kinds = [type(event) for event in turn_events]
    acknowledgement = next(event for event in turn_events if isinstance(event, events.Acknowledged))
    assert acknowledgement.text == "Looking up your appointments and checking your billing."
    assert kinds.index(events.Acknowledged) < kinds.index(events.CallStarted)
    assert isinstance(turn_events[-1], events.TurnComplete)
    assert "Friday at ten." in "".join(event.text for event in turn_events if isinstance(event, events.TurnBlockDelta))


def test_the_page_example_executes_calls_without_a_turn(names: dict[str, Any]) -> None:
    calls = [chat_call("a", "billing", '{"customer":"c-1"}'), chat_call("b", "appointments", '{"customer":"c-1"}')]
    assistant, results = at_once(names["answered"](json.dumps(chat_body(*calls)).encode(), "openai.chat"))
    assert isinstance(assistant, Assistant)
    assert [(result.call_id, result.is_error) for result in results.results] == [("a", True), ("b", False)]
    assert "is closed" in results.results[0].parts[0].text


def test_the_page_lists_every_termination_reason() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    section = page.partition("## Reasons why a turn ends")[2].partition("\n## ")[0]
    listed = {
        name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert listed - {"termination"} == set(get_args(Termination))


# agents.md


@pytest.mark.page("docs/generate/agent_trials.py", "docs/data/agent_trials.json", "docs/programs/agents")
def test_the_program_of_this_project_does_what_the_table_says() -> None:
    published = {name: result for name, result in SEEN["with_toolparity"].items() if name != "version"}
    played = agent_trials.measure(sys.executable, "with_toolparity")
    assert played["parallel"]["seconds"] < 2 * published["parallel"]["seconds"]  # one after the other, it is more
    for results in (*played.values(), *published.values()):
        results.pop("seconds", None)
    assert played == published


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running({"made": SCRIPT}) as up:
        yield up


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("wire", WIRES)
def test_the_agent_of_at_most_twelve_lines_runs_on_every_wire(wire: str, servers: Servers) -> None:
    assert agent_trials.lines_of("with_toolparity") <= 12
    ran: list[str] = []

    def work(name: str, result: Any) -> Any:
        ran.append(name)
        return result

    async def work_async(name: str, result: Any) -> Any:
        return work(name, result)

    names: dict[str, Any] = {"work": work, "work_async": work_async, "URL": "http://127.0.0.1:1"}
    exec(agent_trials.agent_of("with_toolparity"), names)

    async def run() -> Outcome:
        async with reach(servers, wire) as provider:
            agent = Agent(provider, list(names["agent"].tools.values()), instructions="You let boats.")
            return await agent.run("Go.")  # the message that the script expects

    outcome = at_once(run())
    assert (outcome.text, sorted(ran)) == ("Done.", ["book", "find_boat", "price"])
    [first, *_] = outcome.state.rounds
    assert "Friday" in str(first.tool_results[1].parts)
