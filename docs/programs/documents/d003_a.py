"""Document 003, plan A: rounds of calls until the model answers or the last round is over."""

from __future__ import annotations

from typing import Any

from play import EmulatedProvider, Headings, Toolbox, call, holds, logged, scripted

from toolparity.turns import ROUND_GUIDANCE, Outcome, Turn, dump, load
from toolparity.turns.testing import FaultyTools, Raise, Say

HEADINGS = Headings()
#: A search that depends on the result of the one before it, and an answer.
COMPARE = [[call("outline", course="X")], [call("search", topic="lesson 4 of X")], [Say("Course Y covers it.")]]
NAMES = ("outline", "search")


async def ran(
    *rounds: Any, toolbox: Toolbox | None = None, **options: Any
) -> tuple[Outcome, EmulatedProvider, Toolbox]:
    """The outcome of a turn on Anthropic's wire, its provider and its tools."""
    toolbox = toolbox or Toolbox(*NAMES)
    provider = EmulatedProvider("anthropic.messages", scripted(*(rounds or COMPARE), tools=NAMES))
    tools = options.pop("tools", toolbox.tools)
    return (
        await Turn(provider, tools, **options).run("Which course covers the same as lesson 4 of X?"),
        provider,
        toolbox,
    )


@HEADINGS.shows(
    "Current Problem", "after one call the tools are gone, so a second search is impossible, and the answer empty"
)
async def problem() -> str:
    outcome, _, toolbox = await ran(max_rounds=2)
    holds(toolbox.ran == ["outline", "search"] and outcome.text == "Course Y covers it.", outcome.text)
    return f"ran {toolbox.ran} one after the other; answer {outcome.text!r}"


HEADINGS.introduces("Plan A: Round-Based Sequential Tool Calling Architecture", "a loop of rounds")


@HEADINGS.shows("Core Architecture Changes", "a loop; each round has the whole conversation and all tools")
async def core() -> str:
    _, provider, _ = await ran()
    sizes = [(len(body["messages"]), [tool["name"] for tool in body["tools"]]) for body in provider.bodies]
    holds([size for size, _ in sizes] == [1, 3, 5] and all(names == list(NAMES) for _, names in sizes), sizes)
    return f"messages of the requests: {[size for size, _ in sizes]}; each declares {list(NAMES)}"


@HEADINGS.shows(
    "Modified `generate_response` Method Structure",
    "count rounds, run all calls of each, then return text, and log statistics",
)
async def loop() -> str:
    with logged() as lines:
        outcome, provider, _ = await ran(max_rounds=2)
    rounds = outcome.state.rounds
    holds(len(provider.bodies) == len(rounds) == 3 and outcome.usage is not None, rounds)
    statistics = [line for line in lines if "tokens" in line]
    tokens = f"{outcome.usage and outcome.usage.input_tokens} + {outcome.usage and outcome.usage.output_tokens} tokens"
    holds(
        len(statistics) == 4 and "3 rounds, 2 calls (2 returned)" in statistics[-1] and tokens in statistics[-1], lines
    )
    return f"the log has a line for each round, and at the end {statistics[-1].partition(' ended ')[2]!r}"


@HEADINGS.shows(
    "Round and Conversation State Tracking",
    "number, tools, results, answer and end of each round; tokens; when to stop",
)
async def tracking() -> str:
    outcome, _, _ = await ran()
    rounds = load(dump(outcome.state)).rounds
    table = [(each.round_number, each.tools_used, each.termination_reason) for each in rounds]
    holds(table == [(1, ["outline"], None), (2, ["search"], None), (3, [], "natural_completion")], table)
    limited, _, toolbox = await ran(COMPARE[0], COMPARE[1], COMPARE[2], max_rounds=1)
    holds(limited.termination == "max_rounds_reached" and toolbox.ran == ["outline"], limited)
    return f"{table}; with one round: {limited.termination}"


@HEADINGS.shows(
    "Tool Execution and Error Handling",
    "the model reads each failure; all failed: stop with an error; some: continue; every outcome is logged",
)
async def errors() -> str:
    both = [call("outline", course="X"), call("search", topic="x")]
    with logged() as lines:
        some, provider, _ = await ran(both, [Say("Half of it.")], toolbox=Toolbox(*NAMES, failing=("search",)))
    outcomes = [line.split(": call ")[1] for line in lines if "round 1: call " in line]
    holds(len(outcomes) == 2 and "'outline': returned" in outcomes[0] and "'search': failed" in outcomes[1], lines)
    results = provider.bodies[1]["messages"][-1]["content"]
    holds([bool(result.get("is_error")) for result in results] == [False, True], results)
    holds(some.text == "Half of it.", some.text)
    raising = FaultyTools(Toolbox(*NAMES).tools, {name: Raise(LookupError("no index")) for name in NAMES})
    every, _, _ = await ran(both, [Say("never")], tools=raising, on_all_failed="stop")
    holds(every.termination == "all_tools_failed" and not every.written, every)
    holds(all(f"{name} failed" in every.text for name in NAMES) and "no index" not in every.text, every.text)
    return (
        f"one failed: {some.text!r}, log lines {outcomes}; all failed, with on_all_failed='stop': {every.termination}, "
        f"{every.text!r} (the model reads the texts of exceptions, the user does not)"
    )


@HEADINGS.shows(
    "Context Preservation Between API Calls",
    "each round adds the answer and its results; the prompt has guidance on rounds",
)
async def context() -> str:
    _, provider, _ = await ran(instructions="You know the courses.")
    _, without, _ = await ran(instructions="You know the courses.", round_guidance=False)
    prompt, plain = str(provider.bodies[0]["system"]), str(without.bodies[0]["system"])
    holds(ROUND_GUIDANCE in prompt and "You know the courses." in plain and ROUND_GUIDANCE not in plain, prompt)
    roles = [[message["role"] for message in body["messages"]] for body in provider.bodies]
    holds(roles == [["user"], ["user", "assistant", "user"], ["user", *["assistant", "user"] * 2]], roles)
    holds(len({str(body.get("system")) for body in provider.bodies}) == 1, "the system prompt changed")
    return f"roles of the last request: {roles[-1]}; each has the same system prompt, which ends with the guidance"


@HEADINGS.shows("Testing Strategy", "five tests: one round, two rounds, the limit, a failure, the context")
async def strategy() -> str:
    one = (await ran([Say("Four.")]))[0]
    two = (await ran())[0]
    limit = (await ran(max_rounds=1))[0]
    failure = (await ran(COMPARE[0], COMPARE[2], toolbox=Toolbox(*NAMES, failing=("outline",))))[0]
    ends = [outcome.termination for outcome in (one, two, limit, failure)]
    holds(ends == ["natural_completion", "natural_completion", "max_rounds_reached", "natural_completion"], ends)
    history = len(two.state.history())
    holds(history == 6, history)
    return f"{ends}; the history of two rounds has {history} messages"
