"""Code that the programs of agents share: the line protocol, and functions that record their runs.

Like `program`, which it imports first, it uses only the standard library.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from program import version, write  # type: ignore[import-not-found]  # isort: skip

#: How long tools that still run after the agent returned are awaited, in seconds.
_SETTLE = 0.5
#: The number of responses between two garbage collections.
_TIDY = 25


class Function(NamedTuple):
    """A function that the agent declares. ``run`` gets the arguments as a dict and returns the result."""

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[[dict[str, Any]], str]


#: Lets the library answer a response: it gets the question, and the functions to declare. It returns the calls that the
#: library returns to its caller without running them, if it has a member for them, and whether its last message has a
#: stop reason, if it has a member for that: a message without one shows that a stream broke.
Act = Callable[[dict[str, Any], list[Function]], Coroutine[Any, Any, tuple[list[dict[str, Any]] | None, bool] | None]]


def serve(name: str, distribution: str, wires: list[str], act: Act, *, providers: list[str] | None = None) -> None:
    """Answer line by line until the input ends. An exception of the library is reported beside the runs before it."""
    hello = {
        "name": name,
        "version": version(distribution),
        "claims": ["runs", "stream"],
        "wires": wires,
        "providers": providers,
        "input": "base_url",
    }
    gc.disable()  # see program.serve
    with asyncio.Runner() as runner:
        for number, line in enumerate(sys.stdin):
            ask = json.loads(line)
            write(hello if ask["op"] == "hello" else runner.run(_answer(ask, act)))
            if number % _TIDY == 0:
                gc.collect()
                gc.freeze()


async def _answer(ask: dict[str, Any], act: Act) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    answer: dict[str, Any] = {"runs": runs}
    try:
        shown = await act(ask, [_function(definition, runs) for definition in ask.get("functions") or ()])
        answer["rejected"], answer["complete"] = shown or (None, None)
    except OutOfScope as scope:
        return {"unsupported": str(scope)}
    except (Exception, asyncio.CancelledError) as error:
        answer["error"] = f"{type(error).__name__}: {error}"[:2000]
    await _settle()
    return answer


class OutOfScope(Exception):
    """The library does not support the response; the text is the reason."""


def _function(definition: dict[str, Any], runs: list[dict[str, Any]]) -> Function:
    name = definition["name"]

    def run(arguments: dict[str, Any]) -> str:
        runs.append({"name": name, "arguments": arguments})
        return f"result {len(runs)} of {name}"

    return Function(name, definition["description"], definition["parameters"], run)


async def _settle() -> None:
    """Wait for the tasks that the library left behind, at most `_SETTLE` seconds, and cancel the others."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if tasks:
        _, pending = await asyncio.wait(tasks, timeout=_SETTLE)
        for task in pending:
            task.cancel()
