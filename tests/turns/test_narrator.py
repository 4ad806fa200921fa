"""The narrator: what it is given, what it says, and what the user gets where it fails."""

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
from toolparity.normalizer.turns.errors import TextFailed
from toolparity.normalizer.turns.execution.tools import Tool, Tools
from toolparity.normalizer.turns.narration.acknowledge import ModelAcknowledger
from toolparity.normalizer.turns.narration.narrator import INSTRUCTIONS, Narrator, NarratorInput, input_for, plain
from toolparity.normalizer.turns.narration.text_stream import stream_text, text_request

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
GIVEN = input_for(ASKED, CALLS, RESULTS, TOOLS)


def test_the_narrators_input_is_what_the_user_said_and_what_the_tools_returned() -> None:
    """002, Combined Narration: the document's input, member by member."""
    hint = "Summarize both the appointments and billing information naturally."
    given = input_for(ASKED, CALLS, RESULTS, context_hint=hint)
    assert json_codec.decode(json_codec.encode(given)) == {
        "userMessage": "Show me my appointments and my billing",
        "toolResults": [
            {"toolName": "crm.listUpcomingAppointments", "result": [{"id": "appt_001", "date": "2026-01-20"}]},
            {"toolName": "crm.getOpenInvoices", "result": [{"id": "inv_001", "amount": 150}]},
        ],
        "contextHint": "Summarize both the appointments and billing information naturally.",
    }


def test_results_are_told_in_the_order_asked_whenever_they_came() -> None:
    """002, Considerations: ordering."""
    assert input_for(ASKED, CALLS, RESULTS[::-1], TOOLS) == GIVEN


def test_the_hint_names_what_was_done_in_order() -> None:
    """002, Implementation Steps: a combined context hint."""
    assert GIVEN.context_hint == (
        "Report the results of looking up your upcoming appointments and checking your billing, in this order, as one "
        "natural answer."
    )
    assert input_for(ASKED, CALLS[:1], RESULTS[:1]).context_hint == (
        "Report the results of crm.listUpcomingAppointments, naturally."
    )


def test_a_failure_is_noted_and_the_rest_is_there() -> None:
    failed = ToolResult("call_2", [TextPart("The billing service is down.")], is_error=True)
    given = input_for(ASKED, CALLS, [RESULTS[0], failed], TOOLS)
    first, second = json_codec.decode(json_codec.encode(given))["toolResults"]
    assert first == {"toolName": "crm.listUpcomingAppointments", "result": APPOINTMENTS}
    assert second == {"toolName": "crm.getOpenInvoices", "error": "The billing service is down."}
    assert given.context_hint.endswith("natural answer. This failed: checking your billing. Say so, and why.")


def test_where_everything_failed_the_hint_says_so() -> None:
    given = input_for(ASKED, CALLS, [ToolResult(one.id, [], is_error=True) for one in CALLS], TOOLS)
    assert given.context_hint.endswith("All of it failed: say so, and why.")
    assert [result.error for result in given.tool_results] == ["The tool failed without a message."] * 2


def test_a_call_that_nobody_answered_has_failed() -> None:
    given = input_for(ASKED, CALLS, RESULTS[:1], TOOLS)
    assert [told.failed for told in given.tool_results] == [False, True]


def test_a_tool_that_returned_nothing_has_not_failed() -> None:
    given = input_for(ASKED, CALLS[:2], [ToolResult("call_1", []), ToolResult("call_2", [JsonPart(None)])])
    told = json_codec.decode(json_codec.encode(given))["toolResults"]
    assert [one["result"] for one in told] == ["", None]


# what it says


def narrating(wire: str, *rounds: Any, **more: Any) -> Emulated:
    """A provider that answers the narrator's one question."""
    made = script(*rounds)
    first = Round(made.rounds[0].parts, _message(), fault=made.rounds[0].fault)
    return Emulated(wire, script_of(first), **more)


def script_of(first: Round) -> Any:
    from msgspec.structs import replace

    return replace(script([]), rounds=[first], tools=[])


def _message() -> str:
    return json_codec.text(GIVEN)


async def streamed(narrator: Narrator, given: NarratorInput = GIVEN) -> list[str]:
    return [piece async for piece in narrator.stream(given)]


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
def test_the_narrator_sees_the_input_and_nothing_else(wire: str) -> None:
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
def test_where_the_narrator_breaks_off_the_results_follow(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    provider = narrating(wire, Round([Say(ANSWER)], fault=Fault("cut", after=4)))
    with caplog.at_level(logging.WARNING):
        told = "".join(at_once(streamed(Narrator(provider))))
    begun, _, rest = told.partition("\n\n")
    assert begun
    assert ANSWER.startswith(begun)
    assert rest == plain(GIVEN)
    assert "the narrator failed" in caplog.text


@pytest.mark.parametrize("fault", ["rate_limit", "overloaded", "reset"])
def test_where_the_narrator_fails_the_results_are_told_as_they_are(fault: Any) -> None:
    provider = narrating("anthropic.messages", Round([Say(ANSWER)], fault=Fault(fault)))
    assert "".join(at_once(streamed(Narrator(provider)))) == (
        "These are the results:\n"
        '- crm.listUpcomingAppointments: [{"id":"appt_001","date":"2026-01-20"}]\n'
        '- crm.getOpenInvoices: [{"id":"inv_001","amount":150}]'
    )


def test_where_the_narrator_raises_the_results_are_told_as_they_are() -> None:
    provider = narrating("openai.chat", [Say(ANSWER)], fails={0: ConnectionResetError("gone")}, after=4)
    told = "".join(at_once(streamed(Narrator(provider))))
    assert told.endswith("\n\n" + plain(GIVEN))
    assert ANSWER.startswith(told.partition("\n\n")[0])


def test_a_narrator_that_declines_has_said_nothing() -> None:
    provider = narrating("openai.chat", [Refuse("I cannot.")])
    with pytest.raises(TextFailed, match="refusal"):
        at_once(_all(texts_of(provider)))


def test_what_the_provider_said_went_wrong_is_told() -> None:
    provider = narrating("anthropic.messages", Round([Say(ANSWER)], fault=Fault("overloaded", after=1)))
    with pytest.raises(TextFailed, match="overloaded") as raised:
        at_once(_all(texts_of(provider)))
    assert raised.value.text
    assert ANSWER.startswith(raised.value.text)


def test_a_narrator_without_words_has_said_nothing() -> None:
    provider = narrating("anthropic.messages", [Say("  ")])
    with pytest.raises(TextFailed):
        at_once(_all(texts_of(provider)))
    assert at_once(streamed(Narrator(provider)))[-1].endswith(plain(GIVEN))


def texts_of(provider: Emulated) -> AsyncIterator[str]:
    return stream_text(provider, text_request(provider, INSTRUCTIONS, _message()))


async def _all(texts: AsyncIterator[str]) -> list[str]:
    return [text async for text in texts]


def test_closing_the_narration_closes_the_connection() -> None:
    provider = narrating("openai.responses", [Say(ANSWER)])

    async def main() -> None:
        words = Narrator(provider).stream(GIVEN)
        await anext(words)
        await words.aclose()

    at_once(main())
    assert provider.closed == 1


def test_long_results_are_cut_where_they_are_told_as_they_are() -> None:
    given = input_for(ASKED, CALLS[:1], [ToolResult("call_1", [TextPart("x" * 5000)])])
    assert len(plain(given)) < 2100
    assert plain(given).endswith("x…")
    assert plain(input_for(ASKED, [], [])) == "No tool was called."


# the acknowledgement, written by a model

HINTS = '{"hints":["looking up your upcoming appointments","checking your billing"]}'
WRITTEN = "Of course, let me see to both."


def writing(*parts: Any, fault: Fault | None = None, **more: Any) -> Emulated:
    return Emulated("anthropic.messages", script_of(Round(list(parts), HINTS, fault=fault)), **more)


def test_a_model_writes_the_acknowledgement_where_it_is_asked_to() -> None:
    assert at_once(ModelAcknowledger(writing(Say(WRITTEN)))(CALLS, TOOLS)) == WRITTEN


@pytest.mark.parametrize(
    "provider",
    [
        writing(Say(WRITTEN), fault=Fault("overloaded")),
        writing(Say(WRITTEN), fault=Fault("cut", after=3)),
        writing(Say(WRITTEN), fails={0: ConnectionResetError("gone")}),
        writing(call("look")),
    ],
    ids=["refused", "cut", "gone", "called"],
)
def test_where_the_model_fails_the_acknowledgement_is_made_of_the_hints(provider: Emulated) -> None:
    told = at_once(ModelAcknowledger(provider)(CALLS, TOOLS))
    assert told == "Looking up your upcoming appointments and checking your billing."


def test_a_model_that_takes_too_long_is_not_waited_for() -> None:
    told = at_once(ModelAcknowledger(writing(Say(WRITTEN)), patience=0)(CALLS, TOOLS))
    assert told == "Looking up your upcoming appointments and checking your billing."


def test_where_there_is_nothing_to_say_no_model_is_asked() -> None:
    provider = writing(Say(WRITTEN))
    assert at_once(ModelAcknowledger(provider)([ToolCall("1", "unknown", {}, "{}")], TOOLS)) is None
    assert provider.bodies == []
