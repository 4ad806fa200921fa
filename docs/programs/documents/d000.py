"""Document 000: all calls of an answer, on every provider alike."""

from __future__ import annotations

import logging

from play import WIRES, EmulatedProvider, Headings, Toolbox, call, events_of, holds, of_type, scripted

from toolparity import Response, select
from toolparity.turns import CallFinished, CallStarted, Dropped, Turn, TurnBlockStop
from toolparity.turns.testing import FaultyTools, Hit, Say, ServerCall, Slow

HEADINGS = Headings()
ABC = [call("read", path="a"), call("exec", command="b"), call("browser", url="c")]
NAMES = ("read", "exec", "browser")


def three(wire: str, toolbox: Toolbox, **options: object) -> tuple[Turn, EmulatedProvider]:
    """A turn in which the model calls three tools at once, and then answers."""
    provider = EmulatedProvider(wire, scripted([Say("Let me see."), *ABC], [Say("All done.")], tools=NAMES))
    return Turn(provider, toolbox.tools, **options), provider


async def answer(wire: str) -> Response:
    """The model's answer with three calls."""
    turn, _ = three(wire, Toolbox(*NAMES))
    await turn.run("Please help.")
    response: Response = turn.state.history()[1].response
    return response


HEADINGS.introduces("Overview", "how a gateway treats calls, and what it could do better")
HEADINGS.introduces("Current Architecture", "the struct of a response, and the loop around it")


@HEADINGS.shows(
    "Response Struct (Single Tool)", "a response has text, a call with id, name and input, and a stop reason"
)
async def response_struct() -> str:
    response = await answer("anthropic.messages")
    calls = [(each.name, each.arguments) for each in response.calls]
    holds(calls == [("read", {"path": "a"}), ("exec", {"command": "b"}), ("browser", {"url": "c"})], calls)
    holds((response.text, response.choices[0].stop.reason) == ("Let me see.", "tool_calls"), response)
    return f"text {response.text!r}, {len(calls)} calls with ids and inputs instead of one, stop reason tool_calls"


@HEADINGS.shows(
    "Gateway Loop", "ask, run the call, add call and result to the session, ask again until an answer has no call"
)
async def gateway_loop() -> str:
    toolbox = Toolbox(*NAMES)
    script = scripted([call("read", path="a")], [call("exec", command="b")], [Say("All done.")], tools=NAMES)
    provider = EmulatedProvider("openai.chat", script)
    turn = Turn(provider, toolbox.tools)
    outcome = await turn.run("Please help.")
    kinds = [type(message).__name__ for message in turn.state.history()]
    holds(kinds == ["User", "Assistant", "ToolResults", "Assistant", "ToolResults", "Assistant"], kinds)
    holds((toolbox.ran, outcome.text) == (["read", "exec"], "All done."), outcome.text)
    return f"{len(provider.bodies)} requests; the session is {', '.join(kinds)}"


HEADINGS.introduces("Provider Discrepancies", "which of several calls each provider's code keeps")


async def first_call(wire: str) -> str:
    selection = select(await answer(wire), "first")
    holds([ref.name for ref in selection.kept] == ["read"], selection)
    return f"policy first keeps {selection.kept[0].name} and reports {[ref.name for ref in selection.dropped]}"


@HEADINGS.shows("OpenAI Provider", "the first of several calls runs")
async def openai() -> str:
    return await first_call("openai.chat")


@HEADINGS.shows("Anthropic Provider", "the last one runs: a discrepancy to remove")
async def anthropic() -> str:
    return await first_call("anthropic.messages") + "; the same one as on openai.chat"


@HEADINGS.shows("xAI Provider (Planned)", "the first call that the client has to run")
async def xai() -> str:
    return await first_call("xai.grpc")


HEADINGS.introduces("Problem: Parallel Tool Calls", "models return several calls in one answer")


@HEADINGS.shows("What Happens Now", "calls that do not run vanish from the session; they must not")
async def what_happens_now() -> str:
    toolbox = Toolbox(*NAMES)
    turn, provider = three("openai.chat", toolbox, limit=1)
    await turn.run("Please help.")
    body = provider.bodies[1]["messages"]
    called = [each["id"] for each in body[1]["tool_calls"]]
    answered = [message["tool_call_id"] for message in body[2:]]
    holds(toolbox.ran == ["read"] and len(called) == 3 and answered == called, body)
    return "one call ran, and the next request has all three calls, each with its result"


@HEADINGS.shows(
    "Why This Matters", "no lost context, the same behaviour on every provider, no confusion about dropped calls"
)
async def why_this_matters() -> str:
    ran = {}
    for wire in WIRES:
        toolbox = Toolbox(*NAMES)
        turn, _ = three(wire, toolbox, limit=2)
        await turn.run("Please help.")
        texts = [result.parts[0].text for result in turn.state.rounds[0].tool_results]
        holds("not executed" in texts[2], texts)
        ran[wire] = toolbox.ran
    holds(len(set(map(tuple, ran.values()))) == 1, ran)
    return f"on {', '.join(WIRES)} the same two calls ran, and the model reads why the third did not"


@HEADINGS.shows("Why It's Acceptable For Now", "tools that the provider runs never reach the gateway")
async def server_tools() -> str:
    search = ServerCall("web_search", {"query": "weather"}, hits=[Hit("https://example.org/w", "Weather", "Sunny.")])
    script = scripted([search, Say("It is sunny.")], tools=NAMES, hosted=["web_search"])
    provider, toolbox = EmulatedProvider("xai.grpc", script), Toolbox(*NAMES)
    turn = Turn(provider, toolbox.tools)
    events = await events_of(turn)
    types = [event.block.block_type for event in of_type(events, TurnBlockStop)]
    holds("server_tool_use" in types and toolbox.ran == [], types)
    return f"blocks {types}; no tool of the caller ran"


HEADINGS.introduces("Future Improvements", "three options")


@HEADINGS.shows("Option 1: Batch Execution (Medium Effort)", "run all calls in sequence, and collect the results")
async def batch() -> str:
    toolbox = Toolbox(*NAMES)
    events = await events_of(three("anthropic.messages", toolbox, policy="batch")[0])
    order = [(type(each).__name__, each.name) for each in events if isinstance(each, (CallStarted, CallFinished))]
    holds(order == [(kind, name) for name in NAMES for kind in ("CallStarted", "CallFinished")], order)
    return f"{', '.join(toolbox.ran)}: each started when the one before had its result"


@HEADINGS.shows(
    "Option 2: Parallel Execution (Higher Effort)", "run independent calls at the same time, and keep their order"
)
async def parallel() -> str:
    toolbox = Toolbox(*NAMES)
    provider = EmulatedProvider("openai.chat", scripted(ABC, [Say("All done.")], tools=NAMES))
    turn = Turn(provider, FaultyTools(toolbox.tools, {"read": Slow(0.05)}))
    events = await events_of(turn)
    finished = [event.name for event in of_type(events, CallFinished)]
    results = [result.name for result in turn.state.rounds[0].tool_results]
    holds(finished[-1] == "read" and results == list(NAMES), (finished, results))
    return f"they finished as {', '.join(finished)}; the results are in the order {', '.join(NAMES)}"


@HEADINGS.shows("Option 3: Standardize Provider Behavior (Low Effort)", "every provider yields the first call")
async def standardize() -> str:
    kept = {}
    for wire in WIRES:
        toolbox = Toolbox(*NAMES)
        await three(wire, toolbox, policy="first")[0].run("Please help.")
        kept[wire] = toolbox.ran
    holds(set(map(tuple, kept.values())) == {("read",)}, kept)
    return f"policy first ran {kept}"


@HEADINGS.shows("Recommendation", "first the same first call everywhere, then batches, with a log of what is left out")
async def recommendation() -> str:
    dropped = {}
    for policy in ("first", "batch"):
        events = await events_of(three("openai.chat", Toolbox(*NAMES), policy=policy)[0])
        dropped[policy] = sum(len(event.dropped) for event in of_type(events, Dropped))
    holds(dropped == {"first": 0, "batch": 0}, dropped)
    select_all = select(await answer("openai.chat"), "first")
    holds(len(select_all.dropped) == 2, select_all)
    return "a turn under first asks for single calls; under batch it drops none; a selection reports what it leaves out"


@HEADINGS.shows("Logging Improvement", "a warning with the total, the processed and the dropped calls")
async def logging_improvement() -> str:
    records: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    log, keep = logging.getLogger("toolparity"), Keep()
    log.setLevel(logging.WARNING)
    log.addHandler(keep)
    log.propagate = False
    try:
        select(await answer("anthropic.messages"), "first")
    finally:
        log.removeHandler(keep)
        log.propagate = True
    holds(len(records) == 1 and all(word in records[0] for word in ("3", *NAMES)), records)
    return f"logged {records[0]!r}"


HEADINGS.introduces("References", "files of that gateway")
