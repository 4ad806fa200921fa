"""Stop, kill and cut off processes that run turns: `python -m benchmarks.frozen_runners URL [--runs 40] [--turns 50]`.

``URL``: of a PostgreSQL database. In each run, four processes share the turns. At a random point one of them is stopped
(SIGSTOP) for a random time, killed (SIGKILL), or cut off by a proxy that drops what both sides send. The table has the
seconds that the turns of the others took, and those from the fault until a turn of the disturbed process was taken. The
exit code is 1 if that is 2 s later than the lease, a call ran twice, a turn has no answer, or a process that was not
cut off failed to use the database.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import multiprocessing
import os
import random
import signal
import statistics
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import sqlalchemy as sa
from msgspec import Struct, field
from tabulate import tabulate

from toolparity.turns import Agent, Tool
from toolparity.turns.errors import LogFailed
from toolparity.turns.execution.typed.injection import current_call
from toolparity.turns.log import Log
from toolparity.turns.manager import TurnManager

from .log import Calling

#: Seconds. A stopped process that continues before its leases have expired keeps its turns.
LEASE, PATIENCE, LATE = 10.0, 8.0, 2.0
_PROCESSES, _ROUNDS, _POLL, _LONGEST = 4, 4, 0.05, 120.0
_SIGNALS = {"stop": "SIGSTOP", "kill": "SIGKILL", "continue": "SIGCONT"}
_TURNS = "SELECT id, owner, status = 'over', updated - created FROM turns WHERE id LIKE %s"
_ANSWERED = """SELECT id FROM turns WHERE id LIKE %s AND status = 'over' AND termination = 'natural_completion' AND (
    SELECT count(*) FILTER (WHERE block_type = 'tool_use') - count(*) FILTER (WHERE block_type = 'tool_result')
    FROM turn_blocks WHERE turn_id = turns.id) = 0"""


def work(url: str, name: str, turns: int, folder: Path) -> None:
    """Run turns, and those that other processes left, until the process is killed."""
    logging.basicConfig(filename=folder / f"{name}.log")

    def note(file: str, line: str) -> None:
        with (folder / file).open("a") as opened:
            opened.write(f"{line}\n")

    async def fetch(**_: Any) -> str:
        note("calls", current_call.get().key)
        await asyncio.sleep(0.5)
        return "fetched"

    async def serve() -> None:
        agent = Agent(Calling(_ROUNDS), [Tool(name="fetch", function=fetch)], max_rounds=_ROUNDS + 1)
        with Log(url, lease=LEASE, patience=PATIENCE) as log:
            async with TurnManager(log, agent, resume_every=0.25) as manager:
                for number in range(turns):
                    id = "-"  # its client knows that it did not begin
                    with suppress(LogFailed):
                        id = await manager.start("Go.", id=f"{name}-{number}")
                    note("started", id)
                await asyncio.Event().wait()

    asyncio.run(serve())


class Proxy:
    """A proxy of a server. ``is_cut``: it drops everything, and a connection that was cut stays so."""

    def __init__(self, url: sa.URL) -> None:
        self.is_cut = False
        self.tasks: list[Any] = []  # of the connections
        self._host, self._port = str(url.query.get("host", url.host)), str(url.port or url.query.get("port", 5432))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.tasks.append(asyncio.current_task())
        if self._host.startswith("/"):
            opening = asyncio.open_unix_connection(f"{self._host}/.s.PGSQL.{self._port}")
        else:
            opening = asyncio.open_connection(self._host, self._port)
        far, cut = await opening, [self.is_cut]
        with closing(writer), closing(far[1]), suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(self._pass(reader, far[1], cut), self._pass(far[0], writer, cut))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: list[bool]) -> None:
        while data := await reader.read(1 << 16):
            cut[0] = cut[0] or self.is_cut
            if not cut[0]:
                writer.write(data)
                await writer.drain()
        if not cut[0]:  # else the other side does not learn of the end, either
            writer.close()


class Result(Struct):
    """The runs with one fault. ``took``: seconds of undisturbed turns. ``taken``: seconds until others were taken."""

    runs: int = 0
    took: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    twice: int = 0
    unanswered: int = 0
    failed: int = 0

    @property
    def is_good(self) -> bool:
        return not (self.twice or self.unanswered or self.failed) and max(self.taken, default=0.0) <= LEASE + LATE

    @property
    def row(self) -> list[Any]:
        times = [[len(t), statistics.median(t), max(t)] if t else [0, None, None] for t in (self.took, self.taken)]
        return [self.runs, *times[0], *times[1], self.twice, self.unanswered, self.failed]


def _act(what: str, proxy: Proxy, worker: Any) -> None:
    proxy.is_cut = what == "cut"
    os.kill(worker.pid, signal.Signals[_SIGNALS[what]] if what in _SIGNALS else 0)


async def run(url: sa.URL, fault: str, turns: int, result: Result) -> None:
    """Run the turns with a fault ("stop", "kill", "cut" or "none"), and add to the result."""
    name, proxy, context = os.urandom(4).hex(), Proxy(url), multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    server = await asyncio.start_server(proxy.serve, "127.0.0.1")
    through = url.set(host="127.0.0.1", port=server.sockets[0].getsockname()[1], query={}) if fault == "cut" else url
    urls = [each.render_as_string(hide_password=False) for each in [through] + [url] * (_PROCESSES - 1)]
    conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with TemporaryDirectory() as temporary, psycopg.connect(conninfo, autocommit=True) as connection:
        folder = Path(temporary)

        def rows(sql: str) -> list[Any]:
            return connection.execute(sql, (f"{name}-%",)).fetchall()

        shares = [(given, f"{name}-{n}", len(range(n, turns, _PROCESSES)), folder) for n, given in enumerate(urls)]
        workers = [context.Process(target=work, args=share) for share in shares]
        try:
            for worker in workers:
                worker.start()
            started = folder / "started"
            while not started.exists() or started.read_text().count("-0\n") < _PROCESSES:
                await asyncio.sleep(_POLL)
            await asyncio.sleep(random.uniform(0, 3))
            _act(fault, proxy, workers[0])
            began, lasts, is_over = time.monotonic(), random.uniform(PATIENCE, 2 * LEASE), False
            owners = {row[0]: row[1] for row in rows(_TURNS) if row[0].startswith(f"{name}-0-") and row[1]}
            is_acting = fault in ("stop", "cut")
            while not is_over and (passed := time.monotonic() - began) < _LONGEST:
                await asyncio.sleep(_POLL)
                found = rows(_TURNS)
                taken = [id for id, owner, *_ in found if owner and owners.get(id, owner) != owner]
                result.taken += [passed for id in taken if owners.pop(id)]
                if is_acting and passed > lasts:
                    is_acting = False
                    _act("continue", proxy, workers[0])
                is_begun = fault == "kill" or len(started.read_text().split()) == turns
                is_over = is_begun and not is_acting and all(row[2] for row in found)
            await asyncio.sleep(1)  # the continued process notices what it has lost
        finally:
            for worker in workers:
                worker.kill()
                worker.join()
            server.close()
            sum(task.cancel() for task in proxy.tasks)
            await asyncio.gather(*proxy.tasks, return_exceptions=True)
        result.runs += 1
        result.took += [float(row[3]) for row in found if not row[0].startswith(f"{name}-0-")]
        result.twice += sum(count > 1 for count in Counter((folder / "calls").read_text().split()).values())
        result.unanswered += len({*started.read_text().split()} - {"-"} - {id for (id,) in rows(_ANSWERED)})
        logs = [path for path in folder.glob("*.log") if fault != "cut" or not path.stem.endswith("-0")]
        result.failed += sum(path.read_text().count("LogFailed: ") for path in logs)


def main() -> int:
    """Run the benchmark, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen_runners", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--runs", type=int, default=40, help="with a fault; a third as many have none")
    parser.add_argument("--turns", type=int, default=50)
    given = parser.parse_args()
    Log(url := sa.make_url(given.url)).dispose()  # creates the tables
    results = {fault: Result() for fault in ("none", "stop", "kill", "cut")}
    for number in range(given.runs):
        for fault in ["none"] * (number % 3 == 0) + [("stop", "kill", "cut")[number % 3]]:
            asyncio.run(run(url, fault, given.turns, results[fault]))
            print(fault, *results[fault].row, file=sys.stderr)
    heads = ["fault", "runs", "turns", "median", "worst", "taken", "median", "worst", "twice", "unanswered", "failed"]
    print(tabulate([[fault, *result.row] for fault, result in results.items()], heads, floatfmt=".2f"))
    return 0 if all(result.is_good for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
