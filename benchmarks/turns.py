"""Measure turns: `python -m benchmarks.turns [--turns N] [--log] [--json FILE]`.

Measures three tools of 200 ms in one answer, under the policies all and batch, from the start of the first call to the
end of the last, and many concurrent turns of two rounds in one process, with their memory. The provider is a cassette,
so that only the turn itself is measured. With ``--log``, every turn is written to a turn log in a SQLite file. A tenth
of the turns runs first, to compare the peaks of memory. The table then shows the rows and bytes per turn in the file.
It also shows the processor time and the time of a logged turn as multiples of those of an unlogged one, for turns one
after the other and for 60 at once: batches of both alternate, and the fastest batch of each counts. And how many
transactions a turn writes, and how many of them wait for the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import operator
import resource
import sys
import time
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import sqlalchemy as sa
from tabulate import tabulate

from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.surfaces import SURFACES
from toolparity.turns import Tool, Tools, Turn
from toolparity.turns.events import CallFinished, CallStarted
from toolparity.turns.log import Log
from toolparity.turns.log.engine import make_engine
from toolparity.turns.log.tables import metadata

SURFACE = SURFACES["openai.chat"]
SCENARIO = "parallel-three"
TOOL_SECONDS = 0.2
#: Turns at once -> the largest ratio of the processor time of a logged turn to that of an unlogged one.
LOG_GOALS = {1: 3.0, 60: 2.5}
#: The most transactions of a turn, and the most of them that wait for the disk.
MOST_WRITES, MOST_SYNCS = 10, 8
_BATCHES = 5
GOALS = {"all": (0.0, 0.3), "batch": (0.6, None)}


class Recorded:
    """A provider that returns the answers of a cassette, one per request."""

    wire, name, model = SURFACE.wire, SURFACE.provider, SURFACE.model

    def __init__(self) -> None:
        exchanges = load(path_for(SURFACE, SCENARIO, True)).exchanges
        self._answers = iter([exchange.body or b"" for exchange in exchanges])

    async def ask(self, body: Any) -> AsyncIterator[bytes]:
        yield next(self._answers)


def tools(seconds: float) -> Tools:
    """Return the tools that the cassette's model calls. Each call takes ``seconds``."""
    request = load(path_for(SURFACE, SCENARIO, True)).exchanges[0].request
    declared = [tool["function"] for tool in request["tools"]]

    async def work(given: Any) -> str:
        await asyncio.sleep(seconds)
        return "done"

    return Tools(Tool(name=one["name"], parameters=one["parameters"], function=work, mapping=True) for one in declared)


async def between(policy: str, given: Tools) -> float:
    """Run one turn and return the seconds from the start of the first call to the end of the last."""
    started, ended = [], []
    async for event in Turn(Recorded(), given, policy=policy).stream("Go."):
        if isinstance(event, CallStarted):
            started.append(time.perf_counter())
        elif isinstance(event, CallFinished):
            ended.append(time.perf_counter())
    assert len(started) == len(ended) == 3, "three calls were to run"
    return max(ended) - min(started)


async def crowd(count: int, given: Tools, log: Log | None = None) -> None:
    """Run ``count`` turns concurrently, each to its end."""

    async def one() -> str | None:
        async with log.record() if log is not None else nullcontext() as recorder:
            observers = [recorder] if recorder is not None else []
            return (await Turn(Recorded(), given, observers=observers).run("Go.")).termination

    ends = await asyncio.gather(*(one() for _ in range(count)))
    assert set(ends) == {"natural_completion"}, "every turn was to finish"


def main() -> int:
    """Run the benchmark and print the table. Returns 0 whether or not the goals hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="with --log: write the cost of the log")
    given = parser.parse_args()
    slow, quick = tools(TOOL_SECONDS), tools(0.0)
    asyncio.run(between("all", quick))  # a first turn, so that imports are not measured
    if given.log:
        with TemporaryDirectory() as folder, Log(Path(folder) / "turns.db") as log:
            asyncio.run(crowd(1, quick, log))
            costs = [log_cost(at_once, quick, log) for at_once in LOG_GOALS]
            rows = [*crowds([given.turns // 10, *[given.turns] * 3], quick, log), *held_by(Path(folder) / "turns.db")]
            for cost in costs:
                figure = f"{cost.ratio:.2f} x an unlogged one, {cost.wall_ratio:.2f} x its time"
                written = f"{cost.writes:.1f} writes, {cost.syncs:.1f} syncs"
                goal = f"≤ {cost.goal:g}, spread {cost.low:.2f} to {cost.high:.2f}; {written}"
                rows.append([f"a logged turn, {cost.turns} at once", figure, goal, "yes" if cost.holds else "NO"])
            if given.json:
                given.json.write_bytes(msgspec.json.format(msgspec.json.encode(costs), indent=1) + b"\n")
    else:
        rows = [*latencies(slow), *crowds([given.turns] * 4, quick)]
    print(tabulate(rows, ["what", "figure", "goal, or memory", "holds"], disable_numparse=True))
    return 0


class LogCost(msgspec.Struct):
    """The processor time of a turn in milliseconds, without and with a log. ``ratio``: of the fastest batches.

    ``turns``: those that run concurrently. ``low``, ``high``: the ratio of neighbouring batches. ``wall_ratio``: of the
    time instead of the processor time. ``writes``, ``syncs``: transactions of a turn, and those that wait for the disk.
    """

    turns: int
    unlogged: float
    logged: float
    ratio: float
    low: float
    high: float
    wall_ratio: float
    writes: float
    syncs: float
    goal: float
    holds: bool


def log_cost(count: int, quick: Tools, log: Log) -> LogCost:
    """Measure batches of ``count`` concurrent turns, alternately without and with a log."""
    repeats = max(1, 60 // count)
    modes: list[str] = []
    taken: list[tuple[float, float, float, float]] = []

    async def batch(used: Log | None) -> None:
        for _ in range(repeats):
            await crowd(count, quick, used)

    sa.event.listen(
        log._database.engine, "begin", lambda connection: modes.append(connection.get_execution_options()["turn_log"])
    )
    for _ in range(_BATCHES):
        times: list[float] = []
        for used in (None, log):
            gc.collect()
            before, began = time.process_time(), time.perf_counter()
            asyncio.run(batch(used))
            ends = time.process_time() - before, time.perf_counter() - began
            times += [end / count / repeats * 1000 for end in ends]
        taken.append((times[0], times[1], times[2], times[3]))
    unlogged, wall, logged, logged_wall = (min(column) for column in zip(*taken, strict=True))
    ratios = [times[2] / times[0] for times in taken]
    ratio, goal, turns = logged / unlogged, LOG_GOALS[count], _BATCHES * repeats * count
    writes, syncs = len(modes) / turns, modes.count("write") / turns
    holds = ratio <= goal and writes <= MOST_WRITES and syncs <= MOST_SYNCS
    spread = min(ratios), max(ratios)
    return LogCost(count, unlogged, logged, ratio, *spread, logged_wall / wall, writes, syncs, goal, holds)


def latencies(slow: Tools) -> list[list[str]]:
    """Measure three slow tools under each policy of `GOALS`."""
    rows = []
    for policy, (least, most) in GOALS.items():
        took = asyncio.run(between(policy, slow))
        goal = f"< {most * 1000:.0f} ms" if most is not None else f"> {least * 1000:.0f} ms"
        held = took > least and (most is None or took < most)
        rows.append([f"three tools of 200 ms, {policy}", f"{took * 1000:.0f} ms", goal, "yes" if held else "NO"])
    return rows


def crowds(counts: list[int], quick: Tools, log: Log | None = None) -> list[list[str]]:
    """Measure concurrent turns. The peak memory is that of the process, so it never falls."""
    rows = []
    for number, count in enumerate(counts):
        before, began = time.process_time(), time.perf_counter()
        asyncio.run(crowd(count, quick, log))
        spent, took = time.process_time() - before, time.perf_counter() - began
        gc.collect()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        each = f"{spent / count * 1000:.2f} ms of processor each, {took:.1f} s in all"
        rows.append([f"{count:,} turns at once, {number + 1}.", each, f"peak {peak:.0f} MB, held {_held():.0f} MB", ""])
    return rows


def held_by(path: Path) -> list[list[str]]:
    """Return the rows and bytes per turn in each table of the log."""
    engine = make_engine(path)
    rows = []
    with engine.connect() as connection:
        turns = connection.scalar(sa.select(sa.func.count()).select_from(metadata.tables["turns"]))
        for table in metadata.tables.values():
            sizes = (sa.func.coalesce(sa.func.length(sa.cast(column, sa.LargeBinary)), 0) for column in table.c)
            size = sa.func.sum(functools.reduce(operator.add, sizes))
            count, held = connection.execute(sa.select(sa.func.count(), size).select_from(table)).one()
            rows.append([f"a turn in {table.name}", f"{count / turns:.1f} rows", f"{held / turns / 1e3:.2f} kB", ""])
    engine.dispose()
    return rows


def _held() -> float:
    """Return the resident memory of this process in MB, or 0 if /proc is not available."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    sys.exit(main())
