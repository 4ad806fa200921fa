"""One model decides, another one narrates: the execution flow of several calls of one message."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from toolparity.normalizer.model import Choice, Refusal, Response, ServerToolCall, Stop, StopReason, Text
from toolparity.turns import events as turn_events
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.narration.narrating_provider import NarratingProvider
from toolparity.turns.narration.narrator import Narrator
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.turn import Turn

from . import playing
from .playing import (
    Counting,
    Emulated,
    RecordingSleep,
    SameAnswer,
    Say,
    Think,
    at_once,
    call,
    on_every_wire,
    only,
    play,
    script,
)

ANSWER = "You have an appointment on Tuesday at 2pm, and your current balance is $150."
APPOINTMENTS = [{"id": "appt_001", "date": "2026-01-20"}]


def narrating(wire: str = "openai.chat", **options: Any) -> SameAnswer:
    """A narrator that answers each request with `ANSWER`."""
    return SameAnswer(ANSWER, wire, **options)


TOOLS = ("crm.list_appointments", "crm.open_invoices")


def broken() -> Any:
    raise RuntimeError("the billing service is down")


def tools(invoices: Callable[[], Any] = lambda: [{"id": "inv_001", "amount": 150}]) -> Tools:
    hints = "looking up your upcoming appointments", "checking your billing"
    functions = (lambda: APPOINTMENTS), invoices
    options = zip(TOOLS, functions, hints, strict=True)
    return Tools([Tool(name=name, function=function, waiting_hint=hint) for name, function, hint in options])


def turn_of(decider: Emulated, narrator: Emulated, offered: Tools, **options: Any) -> Turn:
    return Turn(NarratingProvider(decider, Narrator(narrator), offered), offered, acknowledge=acknowledge, **options)


UNUSED = [Say("Not used.")]
DECISION = script([call("crm.list_appointments"), call("crm.open_invoices")], UNUSED, tools=TOOLS)


def other_wire(wire: str) -> str:
    return "anthropic.messages" if wire != "anthropic.messages" else "openai.responses"


@on_every_wire
def test_two_calls_are_acknowledged_run_together_and_narrated_in_one_answer(wire: str) -> None:
    """002, Problem, Solution, Execution Flow, Multiple Tools: one message, two calls, one answer, step by step."""
    decider, narrator = Emulated(wire, DECISION), narrating(other_wire(wire), thought="Two things.")
    turn = turn_of(decider, narrator, tools())
    events = at_once(play(turn))
    [acknowledgement] = only(events, turn_events.Acknowledged)
    sentence = "Looking up your upcoming appointments and checking your billing."
    assert (acknowledgement.text, acknowledgement.spoken) == (sentence, False)
    order = playing.kinds(events)
    assert order.index("calls_known") < order.index("acknowledged") < order.index("call_started")
    assert turn.outcome.text == ANSWER
    assert turn.outcome.termination == "natural_completion"
    assert narrator.inputs[-1] == {
        "userMessage": "Go.",
        "toolResults": [
            {"toolName": "crm.list_appointments", "result": APPOINTMENTS},
            {"toolName": "crm.open_invoices", "result": [{"id": "inv_001", "amount": 150}]},
        ],
        "contextHint": (
            "Report the results of looking up your upcoming appointments and checking your billing, in this order, as "
            "one natural answer."
        ),
    }
    assert (len(decider.bodies), len(narrator.bodies)) == (2, 1)
    pieces = [event.text for event in only(events, turn_events.TurnBlockDelta) if event.round == 2]
    assert len(pieces) > 3
    assert "".join(pieces) == ANSWER
    assert turn.state.rounds[1].usage is not None, "what the narrator cost is in the sum"
    assert [type(block).__name__ for block in turn.state.rounds[1].ai_response_content] == ["Text"]
    playing.assert_legal(turn)


@on_every_wire
def test_an_interrupted_narration_keeps_the_text_that_was_shown(wire: str) -> None:
    narrator = narrating(other_wire(wire))
    turn = turn_of(Emulated(wire, DECISION), narrator, tools())
    shown: list[str] = []

    def react(event: Any) -> None:
        if isinstance(event, turn_events.TurnBlockDelta) and event.round == 2:
            shown.append(event.text)
            if len("".join(shown)) > 10:
                turn.cancel()

    at_once(play(turn, react=react))
    broken = turn.state.rounds[1].answer
    assert broken is not None
    assert not broken.complete
    assert broken.text.startswith("".join(shown))
    assert (turn.outcome.termination, narrator.closed) == ("cancelled", 1)
    playing.assert_legal(turn)


RESEARCH = script(
    [call("crm.list_appointments")], [Think("The billing, too."), call("crm.open_invoices")], UNUSED, tools=TOOLS
)
FIRST = "Report the results of looking up your upcoming appointments, naturally."


@on_every_wire
def test_every_round_with_results_is_narrated(wire: str) -> None:
    """002, Combined Narration: a report on each round while the first model calls on, then one answer from all."""
    decider, narrator, offered = Emulated(wire, RESEARCH), narrating(wire), tools()
    turn = turn_of(decider, narrator, offered)
    events = at_once(play(turn))
    report, answer = narrator.inputs
    assert report["toolResults"] == [{"toolName": "crm.list_appointments", "result": APPOINTMENTS}]
    assert report["contextHint"] == f"{FIRST} Then say what is done next: checking your billing. Promise no result."
    assert [result["toolName"] for result in answer["toolResults"]] == list(TOOLS)
    assert "is done next" not in answer["contextHint"]
    # The report is shown before the calls of its round, and announces them.
    [acknowledged] = [event for event in only(events, turn_events.Acknowledged) if event.round == 2]
    assert (acknowledged.text, acknowledged.spoken) == (ANSWER, True)
    texts = [event for event in only(events, turn_events.TurnBlockDelta) if event.round == 2]
    started = [event for event in only(events, turn_events.CallStarted) if event.round == 2]
    assert "".join(event.text for event in texts).startswith(ANSWER)
    assert texts[0].seq < started[0].seq
    blocks = [type(block).__name__ for block in turn.state.rounds[1].ai_response_content]
    assert blocks.count("Text") == 1
    assert blocks[-1] == "ToolCall"
    text_first = wire in ("openai.responses", "google.interactions") or len(blocks) == 2
    assert blocks[0] == ("Text" if text_first else "Reasoning")
    assert (turn.outcome.text, turn.outcome.termination) == (ANSWER, "natural_completion")
    assert (len(decider.bodies), len(narrator.bodies)) == (3, 2)
    playing.assert_legal(turn)
    decider, narrator = Emulated(wire, RESEARCH), narrating(wire)
    turn = turn_of(decider, narrator, offered, max_rounds=1)  # a first model that may not call is not asked
    at_once(play(turn))
    requests = 2 if wire == "bedrock.converse" else 1  # Converse has no tool choice "none"
    assert (turn.outcome.text, len(decider.bodies), len(narrator.bodies)) == (ANSWER, requests, 1)


def test_the_report_on_a_round_precedes_the_first_models_own_text() -> None:
    rounds = [[call("crm.list_appointments")], [Say("Now your billing."), call("crm.open_invoices")], UNUSED]
    narrator, offered = narrating(), tools()
    turn = turn_of(Emulated("openai.chat", script(*rounds, tools=TOOLS)), narrator, offered)
    events = at_once(play(turn))
    assert narrator.inputs[0]["contextHint"] == FIRST  # the first model announces its calls itself
    texts = [event.text for event in only(events, turn_events.Acknowledged)]
    assert texts[1] == f"{ANSWER}\n\nNow your billing."
    shown = {event.block.sequence: event.block for event in only(events, turn_events.TurnBlockStop) if event.round == 2}
    shown |= {event.block.sequence: event.block for event in only(events, turn_events.TurnBlockRevised)}
    assert [block.text_content for block in shown.values() if block.block_type == "text"] == [
        f"{ANSWER}\n\n",
        "Now your billing.",
    ]


def test_a_round_without_a_successful_call_is_reported_at_the_end_only() -> None:
    rounds = [[call("crm.open_invoices")], [call("crm.list_appointments")], UNUSED]
    narrator, offered = narrating(), tools(broken)
    turn = turn_of(Emulated("openai.chat", script(*rounds, tools=TOOLS)), narrator, offered)
    at_once(play(turn))
    [answer] = narrator.inputs
    assert [result["toolName"] for result in answer["toolResults"]] == ["crm.open_invoices", "crm.list_appointments"]
    assert "This failed: checking your billing (crm.open_invoices {" in answer["contextHint"]
    assert "the billing service is down" in answer["toolResults"][0]["error"]
    assert turn.outcome.text == ANSWER


@pytest.mark.parametrize("options", [{}, {"limit": 2}, {"limit": None}])
def test_a_narrated_turn_runs_four_calls_of_an_answer_by_default(options: dict[str, Any]) -> None:
    """002, Considerations: limits. The default is the document's; a turn without a narrator has none."""
    counting = Counting()
    played = script([call("look", at=number) for number in range(6)], [Say("Done.")])
    provider = NarratingProvider(Emulated("openai.chat", played), Narrator(narrating()), counting.tools())
    turn = Turn(provider, counting.tools(), **options)
    orchestrated = Counting()
    at_once(Coordinator(provider, orchestrated.tools(), **options).run("Go."))
    events = at_once(play(turn))
    limit = options.get("limit", 4)
    assert len(counting.ran) == (6 if limit is None else limit)
    assert bool(only(events, turn_events.Dropped)) == (len(counting.ran) < 6)
    assert turn.state.settings.limit == limit
    assert len(orchestrated.ran) == len(counting.ran)
    assert Turn(Emulated("openai.chat", played), counting.tools())._settings.limit is None


def test_a_first_model_that_fails_after_results_is_asked_again_before_the_narrator() -> None:
    class Overloaded(Exception):
        status_code = 529

    recording_sleep = RecordingSleep()
    decider, narrator = Emulated("openai.chat", DECISION, fails={1: Overloaded()}), narrating()
    turn = turn_of(decider, narrator, tools(), backoff=recording_sleep.backoff())
    at_once(play(turn))
    assert (len(recording_sleep.slept), len(decider.bodies), len(narrator.bodies)) == (1, 3, 1)
    assert turn.outcome.text == ANSWER


class Deciding(Emulated):
    """A first model whose second answer is this response."""

    second: Response

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        if not self.bodies:
            async for chunk in super().ask(body):
                yield chunk
        else:
            self.bodies.append(body)
            yield self.second


@pytest.mark.parametrize(
    ("stop", "blocks", "text"),
    [
        ("refusal", [Refusal("I must not.")], "I must not."),
        ("max_tokens", [Text("So far")], "So far"),
        ("end_turn", [ServerToolCall("s1", "web_search", None, "{}", "complete"), Text("Found.")], "Found."),
    ],
)
def test_an_answer_that_is_not_only_about_the_results_is_the_first_models(
    stop: StopReason, blocks: list[Any], text: str
) -> None:
    decider, narrator, offered = Deciding("openai.chat", DECISION), narrating(), tools()
    decider.second = Response("openai.chat", "openai", None, None, [Choice(0, blocks, Stop(stop))])
    turn = turn_of(decider, narrator, offered)
    at_once(play(turn))
    assert narrator.bodies == []
    assert turn.outcome.text == text


def test_a_dropped_call_does_not_affect_the_narration_of_the_others() -> None:
    """002, Considerations: limits."""
    narrator, offered = narrating(), tools()
    turn = turn_of(Emulated("openai.chat", DECISION), narrator, offered, limit=1)
    at_once(play(turn))
    first, second = narrator.inputs[-1]["toolResults"]
    assert first["result"] == APPOINTMENTS
    assert "not executed" in second["error"]
    assert turn.outcome.text == ANSWER


@on_every_wire
def test_the_models_own_acknowledgement_replaces_the_generated_one(wire: str) -> None:
    acknowledgement = "One moment, I'll look at both."
    decider = Emulated(wire, script([Say(acknowledgement), *DECISION.rounds[0].calls], DECISION.rounds[1], tools=TOOLS))
    events = at_once(play(turn_of(decider, narrating(wire), tools())))
    [acknowledged] = only(events, turn_events.Acknowledged)
    assert (acknowledged.text, acknowledged.spoken) == (acknowledgement, True)
    assert acknowledged.seq < only(events, turn_events.CallStarted)[0].seq
