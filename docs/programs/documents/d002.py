"""Document 002: several calls of one message are acknowledged, run together, and narrated in one answer."""

from __future__ import annotations

import json
from typing import Any

from play import EmulatedProvider, Headings, Toolbox, call, events_of, holds, of_type, scripted

from toolparity.turns import (
    Acknowledged,
    CallFinished,
    CallStarted,
    Dropped,
    ModelAcknowledger,
    NarratingProvider,
    Narrator,
    Tool,
    ToolCalls,
    ToolFailed,
    Tools,
    Turn,
    TurnBlockDelta,
    acknowledge,
    decision,
)
from toolparity.turns.testing import FaultyTools, Say, Slow

HEADINGS = Headings()
ASKED = "When do I come in, and what do I owe?"
ANSWER = "You come in on Friday at ten, and you owe 40 euros for the last visit."
TWO = [call("list_appointments", customer="c-1"), call("open_invoices", customer="c-1")]


def list_appointments(customer: str) -> list[dict[str, Any]]:
    """The next visits of a customer."""
    return [{"id": "v-7", "when": "Friday, 10:00"}]


def open_invoices(customer: str) -> list[dict[str, Any]]:
    """What a customer owes."""
    return [{"id": "i-3", "amount": 40}]


def tools(invoices: Any = open_invoices) -> Tools:
    """Two tools with waiting hints."""
    return Tools(
        [
            Tool.of(list_appointments, waiting_hint="looking up your visits"),
            Tool.of(invoices, name="open_invoices", waiting_hint="checking your account"),
        ]
    )


def narrated(*calls: list[Any], offered: Tools | None = None, **options: Any) -> tuple[Turn, EmulatedProvider]:
    """A turn whose calls another model narrates, and that model."""
    offered = offered if offered is not None else tools()
    narrator = EmulatedProvider("anthropic.messages", scripted([Say(ANSWER)]), in_order=True)
    decider = EmulatedProvider("openai.chat", scripted(*calls, [Say("That is all.")], tools=list(offered)))
    provider = NarratingProvider(decider, Narrator(narrator), offered)
    return Turn(provider, offered, acknowledge=acknowledge, **options), narrator


def told_to(narrator: EmulatedProvider) -> dict[str, Any]:
    """The input of the narrator."""
    text = narrator.asked(0).messages[-1].parts[0].text
    return json.loads(text)


@HEADINGS.shows("Problem", "a message that wants two things gets one of them, and needs a second turn")
async def problem() -> str:
    turn, _ = narrated(TWO)
    outcome = await turn.run(ASKED)
    ran = [each.name for each in turn.state.rounds[0].calls]
    holds(ran == ["list_appointments", "open_invoices"], ran)
    return f"one turn, both tools, one answer: {outcome.text!r}"


@HEADINGS.shows("Solution", "several calls of one message, run in parallel, and one narrated response")
async def solution() -> str:
    turn, narrator = narrated(TWO)
    events = await events_of(turn, ASKED)
    order = [type(event).__name__ for event in events if isinstance(event, (CallStarted, CallFinished))]
    holds(order[:2] == ["CallStarted", "CallStarted"] and len(narrator.bodies) == 1, order)
    return "both calls started before one ended; one request to the narrator"


HEADINGS.introduces("Design", "definitions, decisions, acknowledgement, flow and narration")


@HEADINGS.shows("Tool Definition with Waiting Hints", "a definition says what the agent does while the tool runs")
async def hints() -> str:
    found = {name: tool.waiting_hint for name, tool in tools().items()}
    holds(found == {"list_appointments": "looking up your visits", "open_invoices": "checking your account"}, found)
    return str(found)


@HEADINGS.shows("Model Decision Output", "a final text, or a list of calls with an optional acknowledgement")
async def decisions() -> str:
    turn, _ = narrated([Say("I look."), *TWO])
    await turn.run(ASKED)
    made = decision(turn.state.history()[1].response)
    holds(isinstance(made, ToolCalls) and made.acknowledgement == "I look.", made)
    final = decision(turn.state.history()[-1].response)
    return f"{[each.tool_name for each in made.calls]} with {made.acknowledgement!r}; then {type(final).__name__}"


@HEADINGS.shows("Acknowledgement Generation", "the hints of the called tools become one sentence; a model may write it")
async def acknowledgement() -> str:
    sentence = [event.text for event in of_type(await events_of(narrated(TWO)[0], ASKED), Acknowledged)]
    writer = EmulatedProvider("openai.chat", scripted([Say("One moment, I look into both.")]))
    decider = EmulatedProvider("openai.chat", scripted(TWO, [Say(ANSWER)]))
    slow = FaultyTools(tools(), {"list_appointments": Slow(0.2)})
    turn = Turn(decider, slow, acknowledge=ModelAcknowledger(writer))
    written = [event.text for event in of_type(await events_of(turn, ASKED), Acknowledged)]
    context = str(writer.bodies[0])
    holds("checking your account" in context and "looking up your visits" in context and ASKED in context, context)
    holds(len(sentence) == 1 and written == ["One moment, I look into both."], (sentence, written))
    return f"from the hints: {sentence}; by a model that got them and the user's message: {written}"


@HEADINGS.shows("Execution Flow", "eight steps from the user's message to the emitted response")
async def flow() -> str:
    turn, _ = narrated(TWO)
    events = await events_of(turn, ASKED)
    names = [type(event).__name__ for event in events]
    steps = ["CallsKnown", "Acknowledged", "CallStarted", "CallFinished", "TurnComplete"]
    at = [names.index(step) for step in steps]
    holds(at == sorted(at) and turn.outcome.text == ANSWER, names)
    return " → ".join(steps)


@HEADINGS.shows("Combined Narration", "the narrator gets the message, all results in order, and a hint")
async def combined() -> str:
    turn, narrator = narrated(TWO)
    await turn.run(ASKED)
    given = told_to(narrator)
    results = [each["toolName"] for each in given["toolResults"]]
    holds(given["userMessage"] == ASKED and results == ["list_appointments", "open_invoices"], given)
    turn, narrator = narrated(TWO[:1], TWO[1:])
    await turn.run(ASKED)
    holds(len(narrator.bodies) == len(turn.state.rounds) - 1 == 2, narrator.bodies)
    return (
        f"userMessage, toolResults of {results}, contextHint {given['contextHint']!r}; "
        f"over two rounds of calls, {len(narrator.bodies)} narrations"
    )


@HEADINGS.shows(
    "Implementation Steps", "hints in definitions, a list of calls, one acknowledgement, parallel, one hint"
)
async def steps() -> str:
    turn, narrator = narrated(TWO)
    events = await events_of(turn, ASKED)
    counts = [len(of_type(events, kind)) for kind in (Acknowledged, CallStarted, CallFinished)]
    hint = told_to(narrator)["contextHint"]
    holds(counts == [1, 2, 2] and "visits" in hint and "account" in hint, (counts, hint))
    return f"{counts[0]} acknowledgement for {counts[1]} calls, one hint about both"


HEADINGS.introduces("Example Flows", "two conversations")


@HEADINGS.shows("Single Tool (unchanged behavior)", "one call has its own acknowledgement and answer")
async def single() -> str:
    turn, _ = narrated(TWO[:1])
    events = await events_of(turn, "When do I come in?")
    [said] = of_type(events, Acknowledged)
    return f"acknowledged {said.text!r}, answered {turn.outcome.text!r}"


@HEADINGS.shows("Multiple Tools", "two calls: one acknowledgement, parallel execution, one answer")
async def multiple() -> str:
    turn, _ = narrated(TWO)
    events = await events_of(turn, ASKED)
    [said] = of_type(events, Acknowledged)
    first = of_type(events, CallStarted)[0]
    holds(said.seq < first.seq and turn.outcome.text == ANSWER, said)
    return f"acknowledged {said.text!r}, answered {turn.outcome.text!r}"


@HEADINGS.shows("Considerations", "a failed tool is noted; order of request; a cap of 3 to 4 calls; streaming")
async def considerations() -> str:
    def closed(customer: str) -> str:
        raise ToolFailed("the accounts are closed")

    turn, narrator = narrated(TWO, offered=tools(closed))
    await turn.run(ASKED)
    failed, worked = sorted(told_to(narrator)["toolResults"], key=lambda each: "result" in each)
    holds(failed["toolName"] == "open_invoices" and "result" in worked, failed)
    toolbox, six = Toolbox("look"), [call("look", at=number) for number in range(6)]
    [dropped] = of_type(await events_of(narrated(six, offered=toolbox.tools)[0]), Dropped)
    holds(len(toolbox.ran) == 4, toolbox.ran)
    unlimited = Toolbox("look")
    await narrated(six, offered=unlimited.tools, limit=None)[0].run(ASKED)
    holds(len(unlimited.ran) == 6, unlimited.ran)
    turn, _ = narrated(TWO)
    deltas = [event for event in await events_of(turn, ASKED) if isinstance(event, TurnBlockDelta) and event.round == 2]
    holds("".join(event.text for event in deltas) == ANSWER and len(deltas) > 3, deltas)
    return (
        f"noted: {failed['error']!r}; of {dropped.total} calls {len(dropped.processing)} ran, "
        f"with limit=None {len(unlimited.ran)}; "
        f"the answer came in {len(deltas)} pieces"
    )
