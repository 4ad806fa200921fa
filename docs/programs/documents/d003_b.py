"""Document 003, plan B: phases around the rounds, recovery in levels, and a context that is built for each request."""

from __future__ import annotations

import asyncio
import io
from typing import Any

from play import EmulatedProvider, Headings, call, holds, scripted

from toolparity.turns import Backoff, Fallback, Noted, Tool, Tools
from toolparity.turns.orchestration import (
    Add,
    Breakers,
    Change,
    ContextBuilder,
    Coordinator,
    FinalPhase,
    Limits,
    ModelSummarizer,
    Orchestrated,
    SynthesisPhase,
    ToolExecutionPhase,
    Veto,
    note_of,
    record,
    replay,
    rerun,
    session_of,
)
from toolparity.turns.testing import PROVIDER_FAULTS, Break, FaultyTools, Raise, Say

HEADINGS = Headings()
LONG = "A lesson about servers and clients. " * 60
ROUNDS = [
    [Say("First the outline."), call("outline", course="X")],
    [Say("Now a search."), call("search", topic="servers")],
    [Say("Course Y covers it.")],
]


def tools() -> Tools:
    """A search whose fallback is the outline, as in the document."""
    return Tools(
        [
            Tool(
                name="search",
                description="Searches lessons.",
                function=lambda **arguments: f"found {arguments}: {LONG}",
                fallback=Fallback("outline", lambda arguments: {"course": arguments["topic"]}),
            ),
            Tool(name="outline", description="Lists lessons.", function=lambda **arguments: f"outline: {LONG}"),
        ]
    )


def coordinator(*rounds: Any, faults: Any = None, offered: Tools | None = None, **options: Any) -> Coordinator:
    """An orchestrated turn, whose provider answers whatever part of the history it gets. Its waits take no time."""
    script = scripted(*(rounds or ROUNDS), tools=["search", "outline"])
    provider = EmulatedProvider("openai.responses", script, in_order=True, faults=faults)
    options = {"backoff": Backoff(jitter=lambda: 1.0, sleep=lambda seconds: asyncio.sleep(0)), **options}
    return Coordinator(provider, offered if offered is not None else tools(), **options)


async def phases_of(driver: Coordinator) -> list[str]:
    """The names of the notes of a turn."""
    return [
        event.note async for event in driver.stream("Which course is like lesson 4 of X?") if isinstance(event, Noted)
    ]


async def done(driver: Coordinator) -> Orchestrated:
    """The result of a turn."""
    return await driver.run("Which course is like lesson 4 of X?")


HEADINGS.introduces("Plan B: Event-Driven Multi-Round Orchestration", "phases instead of a loop")


@HEADINGS.shows("Core Architectural Philosophy", "discrete phases, each of which leads to the next")
async def philosophy() -> str:
    names = await phases_of(coordinator())
    step = ["reasoning", "tool_execution", "synthesis"]
    holds(names == [*step, *step, "reasoning", "final_response"], names)
    return " → ".join(names)


@HEADINGS.shows(
    "Alternative API Call Loop Structure", "five components; each round is an independent request; breakers above them"
)
async def components() -> str:
    breakers = Breakers(threshold=1, seconds=60)
    driver = coordinator(faults={number: Break() for number in range(1, 9)}, breakers=breakers)
    first = await done(driver)
    second = await done(coordinator(breakers=breakers))
    error = second.outcome.error
    holds(first.level == "assembled" and error is not None and error.type == "CircuitOpen", (first, error))
    return (
        f"after a failing provider its breaker is {breakers.state('provider', 'openai')}: no request of the next turn"
    )


@HEADINGS.shows(
    "State Management & Context Preservation", "facts, reasoning, intent and tool use; a briefing with decay; a session"
)
async def state() -> str:
    shares: dict[int, int] = {}

    def summary(round: Any, tokens: int) -> str:
        shares[round.number] = tokens
        return "fact " * (tokens * 4 // 5)  # the whole share: a token has about four characters

    searches = [[Say("I look further."), call("search", topic=topic)] for topic in ("clients", "hosts")]
    context = ContextBuilder(1_500, summarise=summary)
    result = await done(coordinator(*ROUNDS[:2], *searches, ROUNDS[2], context=context))
    session = session_of(result.outcome.state.history())
    layers = session.discovered_facts, session.search_coverage, session.evolving_intent, session.reasoning_trace
    holds(all(layers) and shares[1] < shares[3], (layers, shares))

    writer = EmulatedProvider("openai.chat", scripted([Say("X has a lesson about servers.")]), in_order=True)
    helper = ModelSummarizer(writer, budget=5_000)
    driver = coordinator(context=ContextBuilder(900, summarise=helper, intent=helper.intent))
    await done(driver)
    holds(
        driver.built is not None and "X has a lesson about servers." in str(driver.built.request.messages), driver.built
    )
    holds(0 < helper.used <= 5_000, helper.used)
    return (
        f"{len(layers[0])} facts, {len(layers[1])} searches, {len(layers[3])} thoughts, intent {layers[2]!r}; "
        f"tokens for rounds 1 and 3: {shares[1]} and {shares[3]}; a model wrote summaries with {helper.used} tokens"
    )


@HEADINGS.shows(
    "Error Handling Strategy", "recovery of tool, round and session, and always an answer with its uncertainty"
)
async def recovery() -> str:
    broken = FaultyTools(tools(), {"search": Raise(ConnectionError("no index"))})
    levels = {
        "tool": await done(coordinator(offered=broken)),
        "round": await done(coordinator(faults={2: Break()})),
        "session": await done(coordinator(faults={2: Break(), 3: Break()})),
        "assembled": await done(coordinator(faults={number: Break() for number in range(2, 12)})),
    }
    found = {name: result.level for name, result in levels.items()}
    holds(found == {name: name for name in levels}, found)
    holds(all(result.uncertainty and result.text for result in levels.values()), levels)
    session = levels["tool"].session
    called, instead = session.rounds[1].calls
    holds((called.name, called.failed, called.substitute) == ("search", True, instead.label), called)
    holds((instead.name, instead.failed, instead.instead_of) == ("outline", False, "search"), instead)
    holds(session.discovered_facts[instead.label] == f"outline: {LONG}", session.discovered_facts)
    shown = "".join(result.text for result in levels.values())
    holds("no index" not in shown and "no index" in called.text, shown)
    waits = [recovery.seconds for recovery in levels["session"].recoveries]
    holds(waits == [1, 2], waits)
    notes = "; ".join(f"{name}: {result.uncertainty.split(': ', 1)[1]}" for name, result in levels.items())
    return (
        f"{notes} The waits before the levels round and session: {waits} s. Remembered under both names: "
        f"{called.label} failed, {instead.label} returned its fact"
    )


@HEADINGS.shows(
    "Code Structure Organization", "one responsibility each: coordinator, engine, context, dispatcher, assembler"
)
async def structure() -> str:
    import toolparity.turns.orchestration as home

    parts = [
        name for name in ("Coordinator", "ContextBuilder", "Breakers", "Limits", "Orchestrated") if hasattr(home, name)
    ]
    built = await ContextBuilder(50).build((await done(coordinator())).outcome.next("And then?"))
    holds(len(parts) == 5 and built.request.messages, parts)
    return f"usable alone: a ContextBuilder made a request of {built.tokens} tokens from a finished conversation"


@HEADINGS.shows("Testing Approach", "scenarios, context, injected errors, tools and limits; replay; quality compared")
async def testing() -> str:
    file = io.BytesIO()
    recorder = record(file)
    driver = coordinator(observers=[recorder], telemetry=recorder.boundary)
    await done(driver)
    recorder.close()
    same = await rerun(file.getvalue(), lambda provider, **options: Coordinator(provider, tools(), **options))
    other = await rerun(
        file.getvalue(), lambda provider, **options: Coordinator(provider, tools(), limits=Limits(rounds=1), **options)
    )
    holds(replay(file.getvalue()).difference is None and same.difference is None, same.difference)
    holds(other.difference is not None, "another limit makes no difference")
    injected = {}
    for name, fault in PROVIDER_FAULTS.items():
        injected[name] = (await done(coordinator(faults={2: fault}, limits=Limits(seconds=0.3), backoff=None))).text
    holds(all(injected.values()), injected)
    single, several = await done(coordinator(limits=Limits(rounds=1))), await done(coordinator())
    facts = [len(result.session.discovered_facts) for result in (single, several)]
    holds(facts == [1, 2], facts)
    difference = other.difference
    return (
        f"repeated without a difference, with one round: {difference and difference.path}; "
        f"{len(injected)} faults, each with an answer; facts in one round and in several: {facts}"
    )


@HEADINGS.shows(
    "Key Differentiators from Linear Approaches",
    "results decide what comes next; context is constructed; parts are separate",
)
async def differentiators() -> str:
    def enough(phase: Any, state: Any) -> bool | None:
        return False if isinstance(phase, SynthesisPhase) and phase.found else None

    driver = coordinator(ROUNDS[0], ROUNDS[2], listeners=[enough])
    notes = [note_of(event) async for event in driver.stream("Please help.") if isinstance(event, Noted)]
    lasts = [note.last for note in notes if hasattr(note, "last")]
    holds(lasts == [False, True] and driver.orchestrated.answer == "Course Y covers it.", lasts)
    steered = await done(coordinator(ROUNDS[0], ROUNDS[2], listeners=[change, add, extend]))
    calls = [(call.name, call.arguments_text) for round in steered.session.rounds for call in round.calls]
    holds(calls == [("outline", '{"course":"Y"}'), ("search", '{"topic":"clients"}')], calls)
    holds(steered.answer.endswith("Ask me for more."), steered.answer)
    prevented = await done(coordinator(ROUNDS[0], ROUNDS[2], listeners=[prevent]))
    [call] = prevented.session.rounds[0].calls
    holds(call.failed and "not today" in call.text, call)
    return (
        "a listener found the results sufficient, and the next answer was the last one; others changed a call and "
        f"added one ({calls}), extended the answer ({steered.answer!r}), and prevented a call ({call.text!r})"
    )


def change(phase: Any, state: Any) -> Change | None:
    """Change the arguments of each call."""
    if isinstance(phase, ToolExecutionPhase):
        return Change(arguments={id: {"course": "Y"} for id, _ in phase.calls})
    return None


def add(phase: Any, state: Any) -> Add | None:
    """Add a call."""
    return Add(calls=[("search", {"topic": "clients"})]) if isinstance(phase, ToolExecutionPhase) else None


def extend(phase: Any, state: Any) -> Add | None:
    """Extend the answer."""
    return Add("Ask me for more.") if isinstance(phase, FinalPhase) else None


def prevent(phase: Any, state: Any) -> Veto | None:
    """Prevent all calls."""
    return Veto("not today") if isinstance(phase, ToolExecutionPhase) else None


HEADINGS.introduces("Recommendation", "plan A first, plan B for what needs it; here, B wraps A")
