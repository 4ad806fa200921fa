"""The narrator: its input, its text, and the text that the user receives if it fails."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from toolparity.cassettes.scripts import Refuse
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import JsonPart, System, TextPart, ToolResult, User
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.requests import read_request
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.narration.acknowledge import ModelAcknowledger
from toolparity.turns.narration.narrator import INSTRUCTIONS, Narrator, input_for, plain

from .playing import WIRES, Emulated, Fault, Round, Say, Think, at_once, call, on_every_wire, script

ASKED = "Show me my appointments and my billing"
HINTS = {
    "crm.listUpcomingAppointments": "looking up your upcoming appointments",
    "crm.getOpenInvoices": "checking your billing",
}
APPOINTMENTS, INVOICES = HINTS
TOOLS = Tools([Tool(name=name, function=lambda: None, waiting_hint=hint) for name, hint in HINTS.items()])
CALLS = [ToolCall(f"call_{number}", name, {}, "{}") for number, name in enumerate(HINTS, 1)]
FOUND, OPEN = [{"id": "appt_001", "date": "2026-01-20"}], [{"id": "inv_001", "amount": 150}]
RESULTS = [ToolResult("call_1", [JsonPart(FOUND)]), ToolResult("call_2", [JsonPart(OPEN)])]
NARRATOR_INPUT = input_for(ASKED, CALLS, RESULTS, TOOLS)
MESSAGE = json_codec.text(NARRATOR_INPUT)
ANSWER = "You have an appointment on Tuesday at 2pm, and your current balance is $150."


def test_the_narrator_input_contains_the_user_message_and_the_tool_results_in_call_order() -> None:
    """002, Combined Narration, Considerations, Implementation Steps: the document's input, with the waiting hints."""
    assert json_codec.decode(json_codec.encode(input_for(ASKED, CALLS, RESULTS[::-1], TOOLS))) == {
        "userMessage": ASKED,
        "toolResults": [{"toolName": APPOINTMENTS, "result": FOUND}, {"toolName": INVOICES, "result": OPEN}],
        "contextHint": "Report the results of looking up your upcoming appointments and checking your billing, in this "
        "order, as one natural answer.",
    }
    hint = "Summarize both the appointments and billing information naturally."
    assert input_for(ASKED, CALLS, RESULTS, context_hint=hint).context_hint == hint
    without_hints = input_for(ASKED, CALLS[:1], RESULTS[:1])
    assert without_hints.context_hint == f"Report the results of {APPOINTMENTS}, naturally."


@pytest.mark.parametrize(
    ("results", "reported", "hint"),
    [
        (
            [RESULTS[0], ToolResult("call_2", [TextPart("The billing service is down.")], is_error=True)],
            [{"result": FOUND}, {"error": "The billing service is down."}],
            "natural answer. This failed: checking your billing (crm.getOpenInvoices {}). Say so, and why.",
        ),
        (
            [ToolResult("call_1", [], is_error=True)],
            [{"error": "The tool failed without a message."}, {"error": "This call has no result."}],
            "All of it failed: say so, and why.",
        ),
        (
            [ToolResult("call_1", []), ToolResult("call_2", [JsonPart(None)])],
            [{"result": ""}, {"result": None}],
            "natural answer.",
        ),
    ],
)
def test_a_failed_or_missing_result_is_marked_and_the_others_are_included(
    results: list[ToolResult], reported: list[Any], hint: str
) -> None:
    """002, Considerations: error handling."""
    narrator_input = input_for(ASKED, CALLS, results, TOOLS)
    written = json_codec.decode(json_codec.encode(narrator_input))["toolResults"]
    assert written == [{"toolName": name, **result} for name, result in zip(HINTS, reported, strict=True)]
    assert narrator_input.context_hint.endswith(hint)


# narration


def narrating(wire: str, *parts: Any, fault: Fault | None = None, **options: Any) -> Emulated:
    """A provider that answers one message, without tools."""
    return Emulated(wire, script(Round(list(parts or [Say(ANSWER)]), fault=fault), tools=()), **options)


def narrated(provider: Emulated) -> list[str]:
    async def main() -> list[str]:
        return [piece async for piece in Narrator(provider).stream(NARRATOR_INPUT)]

    return at_once(main())


@pytest.mark.thorough(keep=len(WIRES))
@pytest.mark.parametrize("wire", WIRES)
def test_the_answer_to_instructions_and_input_is_streamed_on_every_wire(wire: str) -> None:
    """002, Considerations: streaming."""
    provider = narrating(wire, Think("Two things."), Say(ANSWER))
    pieces = narrated(provider)
    assert "".join(pieces) == ANSWER
    assert len(pieces) > 3
    assert provider.closed == 1
    request = read_request(provider.bodies[0], wire)
    system, user = request.messages
    assert isinstance(system, System)
    assert isinstance(user, User)
    assert (system.parts, user.parts) == ([TextPart(INSTRUCTIONS)], [TextPart(MESSAGE)])
    assert (request.tools, request.model) == ([], provider.model)


@on_every_wire
def test_when_the_narrator_fails_or_breaks_off_the_plain_results_follow(
    wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    results = (
        "These are the results:\n"
        '- crm.listUpcomingAppointments: [{"id":"appt_001","date":"2026-01-20"}]\n'
        '- crm.getOpenInvoices: [{"id":"inv_001","amount":150}]'
    )
    for breaks in ({"fault": Fault("cut", after=4)}, {"fails": {0: ConnectionResetError("gone")}, "after": 8}):
        with caplog.at_level(logging.WARNING):
            text = "".join(narrated(narrating(wire, **breaks)))
        begun, _, rest = text.partition("\n\n")
        assert begun
        assert ANSWER.startswith(begun)
        assert rest == results
        assert "the narrator failed" in caplog.text
    for kind in ("rate_limit", "overloaded", "reset"):
        assert "".join(narrated(narrating(wire, fault=Fault(kind)))) == results
    for part in (Say("  "), Refuse("I cannot.")):
        assert "".join(narrated(narrating("openai.chat", part))).endswith(results)


def test_long_plain_results_are_truncated() -> None:
    narrator_input = input_for(ASKED, CALLS[:1], [ToolResult("call_1", [TextPart("x" * 5000)])])
    assert len(plain(narrator_input)) < 2100
    assert plain(narrator_input).endswith("x…")
    assert plain(input_for(ASKED, [], [])) == "No tool was called."


# acknowledgement by a model

ACKNOWLEDGEMENT = "Of course, let me see to both."


def acknowledging(part: Any = None, **options: Any) -> Emulated:
    return narrating("anthropic.messages", part or Say(ACKNOWLEDGEMENT), **options)


def test_a_model_can_write_the_acknowledgement() -> None:
    """002, Acknowledgement Generation: by a model, from the hints, in the language of the user's message."""
    provider = acknowledging()
    assert at_once(ModelAcknowledger(provider)(CALLS, TOOLS, user_message="Was schulde ich?")) == ACKNOWLEDGEMENT
    given = json_codec.decode(provider.asked().messages[-1].parts[0].text)  # type: ignore[union-attr]
    assert given == {"userMessage": "Was schulde ich?", "hints": list(HINTS.values())}
    provider = acknowledging()
    assert at_once(ModelAcknowledger(provider)([ToolCall("1", "unknown", {}, "{}")], TOOLS)) is None
    assert provider.bodies == []  # without hints no model is asked


@pytest.mark.parametrize(
    ("provider", "options"),
    [
        (acknowledging(fault=Fault("overloaded")), {}),
        (acknowledging(fault=Fault("cut", after=3)), {}),
        (acknowledging(fails={0: ConnectionResetError("gone")}), {}),
        (acknowledging(call("look")), {}),
        (acknowledging(), {"patience": 0}),
    ],
    ids=["refused", "cut", "gone", "called", "too slow"],
)
def test_when_the_model_fails_the_acknowledgement_consists_of_the_hints(provider: Emulated, options: Any) -> None:
    text = at_once(ModelAcknowledger(provider, **options)(CALLS, TOOLS))
    assert text == "Looking up your upcoming appointments and checking your billing."
