"""Measure what the turn log writes: `python -m benchmarks.log [--rounds 10 20 40] [--size 200000]`.

Runs one turn for each number of rounds. In each round the model calls one tool, which returns a text of that size.
Prints the bytes that the process writes to the SQLite file and to its write-ahead log, the bytes in each table, and the
time with and without a log. The bytes come from `/proc/self/io`, so this runs on Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import operator
import random
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa
from tabulate import tabulate

from toolparity.turns import Tool, Tools, Turn
from toolparity.turns.log import Log
from toolparity.turns.log.engine import make_engine
from toolparity.turns.log.tables import metadata


class Calling:
    """A provider of openai.chat that calls the tool `fetch` in each of its rounds, and then answers."""

    wire, name, model = "openai.chat", "openai", "benchmark"

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds

    async def ask(self, body: Any) -> AsyncIterator[bytes]:
        round = 1 + sum(message["role"] == "assistant" for message in body["messages"])
        message: dict[str, Any] = {"role": "assistant", "content": "Done."}
        if round <= self._rounds:
            function = {"name": "fetch", "arguments": json.dumps({"page": round})}
            call = {"id": f"call_{round}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reason = "stop" if round > self._rounds else "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        answer = {"id": f"c{round}", "object": "chat.completion", "created": 1, "model": self.model}
        yield json.dumps({**answer, "choices": [choice]}).encode()


def tools(size: int) -> Tools:
    """Return one tool whose results are all different, of ``size`` characters each."""
    drawn = random.Random(1)
    return Tools([Tool(name="fetch", function=lambda **asked: drawn.randbytes(size // 2).hex())])


async def run(rounds: int, size: int, log: Log | None) -> None:
    """Run one turn to its end, with or without a log."""
    if log is None:
        turn = Turn(Calling(rounds), tools(size), max_rounds=rounds + 1)
        await turn.run("Go.")
    else:
        async with log.record() as recorder:
            turn = Turn(Calling(rounds), tools(size), max_rounds=rounds + 1, observers=[recorder])
            await turn.run("Go.")
    assert turn.outcome.termination == "natural_completion", "the turn was to finish"


def bytes_written() -> int:
    """Return the bytes that this process has passed to write calls so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def columns(path: Path) -> dict[str, int]:
    """Return table -> bytes in its columns."""
    engine, found = make_engine(path), {}
    with engine.connect() as connection:
        for table in metadata.tables.values():
            sizes = (sa.func.coalesce(sa.func.length(sa.cast(column, sa.LargeBinary)), 0) for column in table.c)
            total = sa.select(sa.func.sum(functools.reduce(operator.add, sizes))).select_from(table)
            found[table.name] = connection.scalar(total) or 0
    engine.dispose()
    return found


def measured(rounds: int, size: int) -> list[str]:
    """Measure one turn and return its row of the table."""
    began = time.perf_counter()
    asyncio.run(run(rounds, size, None))
    without = time.perf_counter() - began
    with TemporaryDirectory() as folder:
        path = Path(folder) / "turns.db"
        with Log(path) as log:
            before, began = bytes_written(), time.perf_counter()
            asyncio.run(run(rounds, size, log))
            took, wrote = time.perf_counter() - began, bytes_written() - before
        held = ", ".join(f"{name} {size / 1e6:.2f}" for name, size in columns(path).items())
        file = path.stat().st_size
    row = [f"{rounds} x {size / 1000:.0f} kB", f"{wrote / 1e6:.1f} MB", f"{file / 1e6:.1f} MB"]
    return [*row, f"{wrote / (rounds * size):.1f}", f"{took:.1f} s ({without:.1f} s)", held]


def main() -> int:
    """Run the benchmark and print the table. Returns 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log", description=__doc__)
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--size", type=int, default=200_000)
    given = parser.parse_args()
    rows = [measured(rounds, given.size) for rounds in given.rounds]
    heads = ["turn", "written", "file", "written / results", "time (without a log)", "MB in columns"]
    print(tabulate(rows, heads, disable_numparse=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
