"""Document 004: blocks of a turn, stored as they complete, and streamed to the client."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from play import EmulatedProvider, Headings, Toolbox, call, events_of, holds, of_type, scripted

from toolparity.turns import Tool, Turn, TurnBlockStop, TurnEvent, sse
from toolparity.turns.log import Log
from toolparity.turns.testing import FaultyTools, Hang, Raise, Say, Think

HEADINGS = Headings()
READ = [
    [Think("I have to see it."), Say("I open it."), call("read_file", path="notes.md")],
    [Think("Now I know."), Say("It is a list of towns.")],
]


def read_file(path: str) -> str:
    """The content of a file."""
    return f"content of {path}"


def turn_of(*rounds: Any, tools: Any = (read_file,), **options: Any) -> tuple[Turn, EmulatedProvider]:
    """A turn on Anthropic's wire, as in the document."""
    provider = EmulatedProvider("anthropic.messages", scripted(*(rounds or READ), tools=["read_file"]))
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    return Turn(provider, tools, max_tokens=4096, params=thinking, **options), provider


async def logged(*rounds: Any) -> tuple[list[Any], list[tuple[TurnEvent, list[str]]], str]:
    """The rows of a logged turn, each event with the block types stored when it arrived, and the client's stream."""
    with tempfile.TemporaryDirectory() as folder, Log(Path(folder) / "turns.db") as log:
        seen = []
        async with log.record() as recorder:
            turn, _ = turn_of(*rounds, observers=[recorder])
            async for event in turn.stream("What is in it?"):
                stored = await log.turn(recorder.turn or "") if recorder.turn is not None else None
                seen.append((event, [block.block_type for block in stored.blocks] if stored is not None else []))
        number = recorder.turn or ""
        pieces = b"".join([piece async for piece in sse.events(log, number)]).decode()
        return (await log.turn(number)).blocks, seen, pieces


@HEADINGS.shows(
    "Complete Tool Call Cycle", "stream blocks, store each, run the tool, store its result, continue, complete"
)
async def cycle() -> str:
    _, _, pieces = await logged()
    names = [line.removeprefix("event: ") for line in pieces.splitlines() if line.startswith("event: ")]
    wanted = ["block_start", "block_delta", "block_stop", "call_started", "call_finished", "turn_complete"]
    at = [names.index(name) for name in wanted]
    holds(at == sorted(at), names)
    return f"the client's stream: {', '.join(dict.fromkeys(names))}"


@HEADINGS.shows("TurnBlock Sequence with Tools", "rows in order: thinking, text, tool_use, tool_result, thinking, text")
async def sequence() -> str:
    rows, _, _ = await logged()
    types = [row.block_type for row in rows]
    holds(types == ["thinking", "text", "tool_use", "tool_result", "thinking", "text"], types)
    holds([row.sequence for row in rows] == list(range(6)), rows)
    return "; ".join(f"{row.sequence} {row.block_type}" for row in rows)


@HEADINGS.shows("Multiple Tool Calls", "two calls of one answer, then both results, then the text")
async def multiple() -> str:
    calls = [Say("I open both."), call("read_file", path="a"), call("read_file", path="b")]
    rows, _, _ = await logged(calls, [Say("They differ.")])
    uses = [row.content["tool_use_id"] for row in rows if row.block_type == "tool_use"]
    results = [row.content["tool_use_id"] for row in rows if row.block_type == "tool_result"]
    types = [row.block_type for row in rows]
    holds(types == ["text", *["tool_use"] * 2, *["tool_result"] * 2, "text"] and sorted(uses) == sorted(results), types)
    return ", ".join(types)


HEADINGS.introduces("Tool Execution Phases", "five phases")


@HEADINGS.shows("1. LLM Requests Tool", "a tool_use block with id, name and input")
async def requests() -> str:
    [use] = [row for row in (await logged())[0] if row.block_type == "tool_use"]
    holds((use.content["tool_name"], use.content["input"]) == ("read_file", {"path": "notes.md"}), use)
    return f"{use.content}"


@HEADINGS.shows("2. Executor Persists Tool Request", "the block is written when the provider ends it")
async def persists() -> str:
    _, seen, _ = await logged()
    stops = [(event.block.block_type, stored) for event, stored in seen if isinstance(event, TurnBlockStop)]
    holds(all(kind in stored for kind, stored in stops), stops)
    return f"each of {len(stops)} blocks was in the database before the client saw its end"


@HEADINGS.shows("3. Executor Calls Tool", "the tool is looked up by name; an unknown one and a failing one are results")
async def calls() -> str:
    turn, _ = turn_of([call("read_file", path="a")], [Say("Done.")], tools=[Tool(name="other", function=lambda: "x")])
    await turn.run("Please help.")
    [result] = turn.state.rounds[0].tool_results
    holds(result.is_error and "read_file" in result.parts[0].text, result)
    return result.parts[0].text


@HEADINGS.shows("4. Executor Creates tool_result Block", "a block with the id of the call, the content, and is_error")
async def creates() -> str:
    [result] = [row for row in (await logged())[0] if row.block_type == "tool_result"]
    holds(set(result.content) == {"tool_use_id", "content", "is_error"}, result)
    holds((result.content["content"], result.content["is_error"]) == ("content of notes.md", False), result)
    return f"{result.content}"


@HEADINGS.shows("5. Executor Continues LLM Stream", "the result goes to the provider, and the model continues")
async def continues() -> str:
    turn, provider = turn_of()
    outcome = await turn.run("What is in it?")
    holds(len(provider.bodies) == 2 and outcome.text == "It is a list of towns.", outcome.text)
    return f"request 2 ends with {provider.bodies[1]['messages'][-1]['content'][0]['type']}; answer {outcome.text!r}"


@HEADINGS.shows(
    "Tool Result Propagation", "the history: user, assistant with the call, user with the result, assistant"
)
async def propagation() -> str:
    turn, provider = turn_of([Say("I open it."), call("read_file", path="a")], [Say("Towns.")])
    await turn.run("What is in it?")
    messages = provider.bodies[1]["messages"]
    shape = [(message["role"], _types(message["content"])) for message in messages]
    holds(shape == [("user", ["text"]), ("assistant", ["text", "tool_use"]), ("user", ["tool_result"])], shape)
    return f"{shape}, then {type(turn.state.history()[-1]).__name__}"


def _types(content: Any) -> list[str]:
    return ["text"] if isinstance(content, str) else [block["type"] for block in content]


HEADINGS.introduces("Error Handling", "two failures")


@HEADINGS.shows(
    "Tool Execution Fails", "a tool_result block all the same, with is_error and the reason; the model continues"
)
async def fails() -> str:
    tools = FaultyTools([read_file], {"read_file": Raise(FileNotFoundError("no such file: a"))})
    turn, _ = turn_of([call("read_file", path="a")], [Say("There is none.")], tools=tools)
    results = [
        each.block for each in of_type(await events_of(turn), TurnBlockStop) if each.block.block_type == "tool_result"
    ]
    holds(results[0].content["is_error"] and "no such file" in results[0].content["content"], results)
    return f"{results[0].content['content']!r}; then {turn.outcome.text!r}"


@HEADINGS.shows("Tool Timeout", "after 30 seconds the tool is stopped, and the result says so")
async def timeout() -> str:
    default = Toolbox("read_file").tools["read_file"].timeout

    async def slow(path: str) -> str:
        await asyncio.sleep(60)
        return path

    tools = FaultyTools([Tool.of(slow, name="read_file", timeout=0.05)], {"read_file": Hang()})
    turn, _ = turn_of([call("read_file", path="a")], [Say("It took too long.")], tools=tools)
    await turn.run("Please help.")
    [result] = turn.state.rounds[0].tool_results
    holds(default == 30 and result.is_error and "timed out" in result.parts[0].text, result)
    return f"the default is {default:g} s; with 0.05 s: {result.parts[0].text!r}"


HEADINGS.introduces("References", "files of that service")
