"""What the page about turns shows does what it says."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from tests.building import chat_body, chat_call
from tests.conformance.pages import DOCS, blocks
from toolparity.normalizer.conversation import Assistant, Request, ToolResults
from toolparity.normalizer.requests import check_request, write_request
from toolparity.normalizer.turns import events
from toolparity.normalizer.turns.machine.state import Termination

from .playing import Emulated, Say, at_once, call, script

PAGE = "turns.md"
BOTH = script(
    [call("appointments", customer="c-1"), call("billing", customer="c-1")],
    [Say("You come on Friday; what you owe cannot be told before 8:00.")],
    tools=("appointments", "billing"),
)


@pytest.fixture
def names() -> dict[str, Any]:
    """What the page defines."""
    made: dict[str, Any] = {}
    for block in blocks(PAGE):
        exec(block.text, made)
    return made


def test_both_tools_are_run_and_each_has_its_result(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    outcome = at_once(names["run"](Emulated("openai.chat", BOTH), "Go."))
    assert outcome.text == "You come on Friday; what you owe cannot be told before 8:00."
    fine, failed = outcome.state.rounds[0].tool_results
    assert not fine.is_error
    assert (failed.is_error, failed.parts[0].text) == (True, "the billing system is closed until 8:00")
    assert "CallsKnown(" in capsys.readouterr().out


def test_a_decision_is_taken_elsewhere(names: dict[str, Any]) -> None:
    asks = script(
        [call("close_account", customer="c-1"), call("close_account", customer="c-2")],
        [Say("Done.")],
        tools=("close_account",),
    )
    provider = Emulated("anthropic.messages", asks)
    (waiting,), kept = at_once(names["ask"](provider, "Go."))
    assert waiting.arguments == {"customer": "c-2"}
    outcome = at_once(names["decide"](provider, kept, waiting.id, False))
    allowed, denied = outcome.state.rounds[0].tool_results
    assert (allowed.is_error, denied.is_error) == (False, True)
    assert "not today" in denied.parts[0].text
    assert outcome.text == "Done."


@pytest.mark.parametrize("date", ["Friday", None])
def test_a_result_is_given_from_elsewhere(names: dict[str, Any], date: str | None) -> None:
    provider = Emulated("openai.responses", script([call("pick_a_date")], [Say("Fine.")], tools=("pick_a_date",)))
    (waiting,), kept = at_once(names["ask"](provider, "Go."))
    assert (waiting.name, waiting.wants) == ("pick_a_date", "result")
    outcome = at_once(names["picked"](provider, kept, waiting.id, date))
    (result,) = outcome.state.rounds[0].tool_results
    assert result.is_error == (date is None)
    assert (outcome.termination, outcome.text) == ("natural_completion", "Fine.")


def test_whoever_goes_away_leaves_a_conversation_that_can_go_on(names: dict[str, Any]) -> None:
    request: Request = at_once(names["first_words"](Emulated("anthropic.messages", BOTH), "Go."))
    assert check_request(write_request(request).body, "anthropic.messages") == []
    kinds = [type(turn) for turn in request.messages]
    assert kinds[1:3] == [Assistant, ToolResults]


def test_the_user_is_told_before_the_tools_run_and_by_a_narrator_behind_them(names: dict[str, Any]) -> None:
    def narrate(words: str) -> Any:
        class Narrates:
            wire, name, model = "openai.chat", "openai", "small"

            async def ask(self, body: Any) -> Any:
                assert "the billing system is closed until 8:00" in json.dumps(body)
                yield json.dumps(chat_body(finish="stop", content=words)).encode()

        return Narrates()

    found = at_once(names["told"](Emulated("openai.chat", BOTH), narrate("Friday at ten."), "Go."))
    kinds = [type(event) for event in found]
    said = next(event for event in found if isinstance(event, events.Acknowledged))
    assert said.text == "Looking up your appointments and checking your billing."
    assert kinds.index(events.Acknowledged) < kinds.index(events.CallStarted)
    assert isinstance(found[-1], events.TurnComplete)
    assert "Friday at ten." in "".join(event.text for event in found if isinstance(event, events.TurnBlockDelta))


def test_a_gateway_takes_the_execution_alone(names: dict[str, Any]) -> None:
    calls = [chat_call("a", "billing", '{"customer":"c-1"}'), chat_call("b", "appointments", '{"customer":"c-1"}')]
    assistant, results = at_once(names["answered"](json.dumps(chat_body(*calls)).encode(), "openai.chat"))
    assert isinstance(assistant, Assistant)
    assert [(result.call_id, result.is_error) for result in results.results] == [("a", True), ("b", False)]
    assert "is closed" in results.results[0].parts[0].text


def test_the_page_tells_every_way_in_which_a_turn_ends() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    section = page.partition("## Reasons why a turn ends")[2].partition("\n## ")[0]
    told = {name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert told - {"termination"} == set(get_args(Termination))
