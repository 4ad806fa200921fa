"""What the tools of the programs do, and the trials: `python PROGRAM TRIAL BASE_URL FOLDER` prints its result as JSON.

A program has three tools and passes three functions: `run` sends a message of a conversation and returns the answer,
`resume` continues the conversation in a new process, and `charter` returns an answer of a type, if necessary from the
second provider, whose addresses for Chat Completions and Messages follow in the trials `typed` and `fallback`.
``FOLDER`` has the conversation and the log of the tools.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # traces go to OpenAI's own address
TRIAL, URL, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])
OTHER_CHAT, OTHER_MESSAGES = (*sys.argv[4:], "", "")[:2]
RUNS = FOLDER / "runs.jsonl"
#: Seconds that each tool takes in the trial `parallel`, and the one that hangs in the others.
PAUSE, HANG = 0.5, 60.0


class Charter(BaseModel):
    """The typed answer."""

    boat: str
    day: date
    price: float


def work(name: str, result: Any) -> Any:
    """Do the work of a tool that blocks, and return its result."""
    note(name, "started")
    time.sleep(PAUSE if TRIAL == "parallel" else 0)
    note(name, "ended")
    return result


async def work_async(name: str, result: Any) -> Any:
    """Do the work of an asynchronous tool: it fails, or hangs when it runs first, in some trials."""
    again = any(line["tool"] == name for line in noted())
    note(name, "started")
    if TRIAL == "failing":
        raise RuntimeError("the harbour office is closed")
    await asyncio.sleep({"parallel": PAUSE, "cancelled": HANG, "killed": HANG}.get(TRIAL, 0) if not again else 0)
    note(name, "ended")
    return result


def note(name: str, what: str) -> None:
    """Write a line of the log of the tools."""
    with RUNS.open("a") as file:
        file.write(json.dumps({"tool": name, "what": what, "at": time.time()}) + "\n")


def noted() -> list[dict[str, Any]]:
    """Return the log of the tools."""
    return [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []


def main(
    run: Callable[[str], Awaitable[str]],
    resume: Callable[[], Awaitable[str]],
    charter: Callable[[str], Awaitable[Charter]],
) -> None:
    """Play the trial, and print what happened."""
    print(json.dumps(asyncio.run(_played(run, resume, charter))))


async def _played(run: Any, resume: Any, charter: Any) -> dict[str, Any]:
    if TRIAL in ("typed", "fallback"):
        return await _ended(_as_text(charter("Charter a boat.")))
    if TRIAL == "resumed":
        return await _ended(resume())
    if TRIAL != "cancelled":
        return await _ended(run("Charter a boat."))
    task = asyncio.ensure_future(run("Charter a boat."))
    while len(noted()) < 5:  # all three started, and two ended
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    began = time.monotonic()
    task.cancel()
    await asyncio.wait({task}, timeout=10)
    seconds = time.monotonic() - began
    return {"seconds": seconds, **await _ended(run("And now?"))}


async def _as_text(charter: Awaitable[Any]) -> str:
    return repr(await charter)


async def _ended(work: Awaitable[str]) -> dict[str, Any]:
    try:
        return {"text": await asyncio.wait_for(work, 60)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
