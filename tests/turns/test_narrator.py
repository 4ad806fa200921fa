"""The narrator: its input, its text, and what the user receives if it fails."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.turns.playing import WIRES, Emulated, Fault, Round, Say, Think, at_once, call, script
from toolparity.cassettes.scripts import Refuse
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import JsonPart, System, TextPart, ToolResult, User
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.requests import read_request
from toolparity.turns.errors import TextFailed
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.narration.acknowledge import ModelAcknowledger
from toolparity.turns.narration.narrator import INSTRUCTIONS, Narrator, NarratorInput, input_for, plain
from toolparity.turns.narration.text_stream import stream_text, text_request

ASKED = "Show me my appointments and my billing"
TOOLS = Tools(
    [
        Tool(
            name="crm.listUpcomingAppointments",
            function=lambda: None,
            waiting_hint="looking up your upcoming appointments",
        ),
        Tool(name="crm.getOpenInvoices", function=lambda: None, waiting_hint="checking your billing"),
    ]
)
CALLS = [
    ToolCall("call_1", "crm.listUpcomingAppointments", {"customerId": "1"}, '{"customerId":"1"}'),
    ToolCall("call_2", "crm.getOpenInvoices", {"customerId": "1"}, '{"customerId":"1"}'),
]
APPOINTMENTS = [{"id": "appt_001", "date": "2026-01-20"}]
INVOICES = [{"id": "inv_001", "amount": 150}]
RESULTS = [ToolResult("call_1", [JsonPart(APPOINTMENTS)]), ToolResult("call_2", [JsonPart(INVOICES)])]
NARRATOR_INPUT = input_for(ASKED, CALLS, RESULTS, TOOLS)


def test_the_narrator_input_contains_the_user_message_and_the_tool_results() -> None:
    """002, Combined Narration: the document's input, member by member."""
    hint = "Summarize both the appointments and billing information naturally."
    narrator_input = input_for(ASKED, CALLS, RESULTS, context_hint=hint)
    assert json_codec.decode(json_codec.encode(narrator_input)) == {
        "userMessage": "Show me my appointments and my billing",
        "toolResults": [
            {"toolName": "crm.listUpcomingAppointments", "result": [{"id": "appt_001", "date": "2026-01-20"}]},
            {"toolName": "crm.getOpenInvoices", "result": [{"id": "inv_001", "amount": 150}]},
        ],
        "contextHint": "Summarize both the appointments and billing information naturally.",
    }


def test_results_are_in_call_order_whatever_order_they_arrived_in() -> None:
    """002, Considerations: ordering."""
    assert input_for(ASKED, CALLS, RESULTS[::-1], TOOLS) == NARRATOR_INPUT


def test_the_context_hint_lists_the_waiting_hints_in_call_order() -> None:
    """002, Implementation Steps: a combined context hint."""
    assert NARRATOR_INPUT.context_hint == (
        "Report the results of looking up your upcoming appointments and checking your billing, in this order, as one "
        "natural answer."
    )
    assert input_for(ASKED, CALLS[:1], RESULTS[:1]).context_hint == (
        "Report the results of crm.listUpcomingAppointments, naturally."
    )


def test_a_failed_result_is_marked_and_the_others_are_included() -> None:
    failed = ToolResult("call_2", [TextPart("The billing service is down.")], is_error=True)
    narrator_input = input_for(ASKED, CALLS, [RESULTS[0], failed], TOOLS)
    first, second = json_codec.decode(json_codec.encode(narrator_input))["toolResults"]
    assert first == {"toolName": "crm.listUpcomingAppointments", "result": APPOINTMENTS}
    assert second == {"toolName": "crm.getOpenInvoices", "error": "The billing service is down."}
    assert narrator_input.context_hint.endswith("natural answer. This failed: checking your billing. Say so, and why.")


def test_the_context_hint_states_that_all_calls_failed() -> None:
    narrator_input = input_for(ASKED, CALLS, [ToolResult(result.id, [], is_error=True) for result in CALLS], TOOLS)
    assert narrator_input.context_hint.endswith("All of it failed: say so, and why.")
    assert [result.error for result in narrator_input.tool_results] == ["The tool failed without a message."] * 2


def test_a_call_without_a_result_counts_as_failed() -> None:
    narrator_input = input_for(ASKED, CALLS, RESULTS[:1], TOOLS)
    assert [result.failed for result in narrator_input.tool_results] == [False, True]


def test_a_tool_that_returns_nothing_has_not_failed() -> None:
    narrator_input = input_for(ASKED, CALLS[:2], [ToolResult("call_1", []), ToolResult("call_2", [JsonPart(None)])])
    results = json_codec.decode(json_codec.encode(narrator_input))["toolResults"]
    assert [result["result"] for result in results] == ["", None]


# narration


def narrating(wire: str, *rounds: Any, **more: Any) -> Emulated:
    """A provider that answers the narrator's request."""
    narration = script(*rounds)
    first = Round(narration.rounds[0].parts, _message(), fault=narration.rounds[0].fault)
    return Emulated(wire, script_of(first), **more)


def script_of(first: Round) -> Any:
    from msgspec.structs import replace

    return replace(script([]), rounds=[first], tools=[])


def _message() -> str:
    return json_codec.text(NARRATOR_INPUT)


async def streamed(narrator: Narrator, narrator_input: NarratorInput = NARRATOR_INPUT) -> list[str]:
    return [piece async for piece in narrator.stream(narrator_input)]


ANSWER = "You have an appointment on Tuesday at 2pm, and your current balance is $150."


@pytest.mark.parametrize("wire", WIRES)
def test_the_answer_is_streamed_on_every_wire(wire: str) -> None:
    """002, Considerations: streaming."""
    provider = narrating(wire, [Think("Two things."), Say(ANSWER)])
    pieces = at_once(streamed(Narrator(provider)))
    assert "".join(pieces) == ANSWER
    assert len(pieces) > 3
    assert provider.closed == 1


@pytest.mark.parametrize("wire", WIRES)
def test_the_narrator_request_contains_only_instructions_and_input(wire: str) -> None:
    provider = narrating(wire, [Say(ANSWER)])
    assert "".join(at_once(streamed(Narrator(provider)))) == ANSWER
    [body] = provider.bodies
    request = read_request(body, wire)
    system, user = request.messages
    assert isinstance(system, System)
    assert isinstance(user, User)
    assert [part.text for part in system.parts if isinstance(part, TextPart)] == [INSTRUCTIONS]
    assert [part.text for part in user.parts if isinstance(part, TextPart)] == [_message()]
    assert request.tools == []
    assert request.model == provider.model


@pytest.mark.parametrize("wire", WIRES)
def test_when_the_narrator_breaks_off_the_plain_results_are_appended(
    wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    provider = narrating(wire, Round([Say(ANSWER)], fault=Fault("cut", after=4)))
    with caplog.at_level(logging.WARNING):
        text = "".join(at_once(streamed(Narrator(provider))))
    begun, _, rest = text.partition("\n\n")
    assert begun
    assert ANSWER.startswith(begun)
    assert rest == plain(NARRATOR_INPUT)
    assert "the narrator failed" in caplog.text


@pytest.mark.parametrize("fault", ["rate_limit", "overloaded", "reset"])
def test_when_the_narrator_request_fails_the_plain_results_are_returned(fault: Any) -> None:
    provider = narrating("anthropic.messages", Round([Say(ANSWER)], fault=Fault(fault)))
    assert "".join(at_once(streamed(Narrator(provider)))) == (
        "These are the results:\n"
        '- crm.listUpcomingAppointments: [{"id":"appt_001","date":"2026-01-20"}]\n'
        '- crm.getOpenInvoices: [{"id":"inv_001","amount":150}]'
    )


def test_when_the_narrator_connection_breaks_the_plain_results_are_appended() -> None:
    provider = narrating("openai.chat", [Say(ANSWER)], fails={0: ConnectionResetError("gone")}, after=4)
    text = "".join(at_once(streamed(Narrator(provider))))
    assert text.endswith("\n\n" + plain(NARRATOR_INPUT))
    assert ANSWER.startswith(text.partition("\n\n")[0])


def test_a_refusal_of_the_narrator_raises_text_failed() -> None:
    provider = narrating("openai.chat", [Refuse("I cannot.")])
    with pytest.raises(TextFailed, match="refusal"):
        at_once(_all(texts_of(provider)))


def test_text_failed_contains_the_providers_error_and_the_partial_text() -> None:
    provider = narrating("anthropic.messages", Round([Say(ANSWER)], fault=Fault("overloaded", after=1)))
    with pytest.raises(TextFailed, match="overloaded") as raised:
        at_once(_all(texts_of(provider)))
    assert raised.value.text
    assert ANSWER.startswith(raised.value.text)


def test_an_empty_narration_raises_text_failed_and_yields_the_plain_results() -> None:
    provider = narrating("anthropic.messages", [Say("  ")])
    with pytest.raises(TextFailed):
        at_once(_all(texts_of(provider)))
    assert at_once(streamed(Narrator(provider)))[-1].endswith(plain(NARRATOR_INPUT))


def texts_of(provider: Emulated) -> AsyncIterator[str]:
    return stream_text(provider, text_request(provider, INSTRUCTIONS, _message()))


async def _all(texts: AsyncIterator[str]) -> list[str]:
    return [text async for text in texts]


def test_closing_the_narration_closes_the_connection() -> None:
    provider = narrating("openai.responses", [Say(ANSWER)])

    async def main() -> None:
        words = Narrator(provider).stream(NARRATOR_INPUT)
        await anext(words)
        await words.aclose()

    at_once(main())
    assert provider.closed == 1


def test_long_plain_results_are_truncated() -> None:
    narrator_input = input_for(ASKED, CALLS[:1], [ToolResult("call_1", [TextPart("x" * 5000)])])
    assert len(plain(narrator_input)) < 2100
    assert plain(narrator_input).endswith("x…")
    assert plain(input_for(ASKED, [], [])) == "No tool was called."


# acknowledgement by a model

HINTS = '{"hints":["looking up your upcoming appointments","checking your billing"]}'
ACKNOWLEDGEMENT = "Of course, let me see to both."


def acknowledging(*parts: Any, fault: Fault | None = None, **more: Any) -> Emulated:
    return Emulated("anthropic.messages", script_of(Round(list(parts), HINTS, fault=fault)), **more)


def test_a_model_can_write_the_acknowledgement() -> None:
    assert at_once(ModelAcknowledger(acknowledging(Say(ACKNOWLEDGEMENT)))(CALLS, TOOLS)) == ACKNOWLEDGEMENT


@pytest.mark.parametrize(
    "provider",
    [
        acknowledging(Say(ACKNOWLEDGEMENT), fault=Fault("overloaded")),
        acknowledging(Say(ACKNOWLEDGEMENT), fault=Fault("cut", after=3)),
        acknowledging(Say(ACKNOWLEDGEMENT), fails={0: ConnectionResetError("gone")}),
        acknowledging(call("look")),
    ],
    ids=["refused", "cut", "gone", "called"],
)
def test_when_the_model_fails_the_acknowledgement_consists_of_the_hints(provider: Emulated) -> None:
    text = at_once(ModelAcknowledger(provider)(CALLS, TOOLS))
    assert text == "Looking up your upcoming appointments and checking your billing."


def test_a_model_that_exceeds_its_patience_is_replaced_by_the_hints() -> None:
    text = at_once(ModelAcknowledger(acknowledging(Say(ACKNOWLEDGEMENT)), patience=0)(CALLS, TOOLS))
    assert text == "Looking up your upcoming appointments and checking your billing."


def test_without_hints_no_model_is_asked_for_an_acknowledgement() -> None:
    provider = acknowledging(Say(ACKNOWLEDGEMENT))
    assert at_once(ModelAcknowledger(provider)([ToolCall("1", "unknown", {}, "{}")], TOOLS)) is None
    assert provider.bodies == []
