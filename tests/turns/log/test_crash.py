"""Processes are killed (SIGKILL) at many points; another process reads the log and resumes or closes the turn.

No call is run twice, and none is without a result. The plain run kills at some points of each policy. `--thorough`
kills each turn at a point of each kind, more than 400 in all; TOOLPARITY_KILL_POINTS=all at all 2,600. The kind of a
point is what happens at it, before it and after it: a statement, a commit, a chunk, the start or the end of a tool.

    python -m tests.turns.log.test_crash < jobs > reports        # one JSON object a line

runs turns in child processes, and kills each at a given point. Children are forked, so that one takes milliseconds;
that process never opens a database and never starts a thread.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import URL, Engine, event

from tests.support.thoroughness import sampled
from tests.turns.log.shared import assert_replays, assert_whole, rows
from tests.turns.playing import Emulated, Say, call, script
from toolparity.turns.errors import UnknownTurn
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.execution.typed.injection import current_call
from toolparity.turns.log import Log, StoredTurn
from toolparity.turns.log.engine import make_engine
from toolparity.turns.turn import Turn

pytestmark = pytest.mark.service("turns")

#: Two rounds, three calls: one slow, one in a thread, one idempotent.
PLAYED = script(
    [Say("Let me look."), call("look", city="Ulm"), call("count", of="cats")],
    [call("post", text="hello")],
    [Say("All done.")],
)
IDEMPOTENT = "look"


class Job(msgspec.Struct):
    """The work of a child. ``act``: run, resume or close. ``kill``: the number of the point, from 1; 0 for never.

    ``side``: the file to which each tool appends a line with its call's key and its name.
    """

    act: str
    url: str
    turn: str
    wire: str
    policy: str
    side: str
    kill: int = 0


class Report(msgspec.Struct):
    """How a child ended: ``code`` is negative for a signal. ``points``: those that it passed, if it was not killed."""

    code: int
    points: list[str] = []


class Points:
    """Counts points and kills its own process at the given one. Threads may share an instance.

    ``passed``: what happened at each point, a statement or a word.
    """

    def __init__(self, kill: int) -> None:
        self._kill = kill
        self._count = itertools.count(1)
        self.passed: list[str] = []

    def __call__(self, what: str) -> None:
        if next(self._count) == self._kill:
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed.append(what)

    def listen(self, engine: Engine) -> None:
        """Make each statement and each commit of a database a point."""
        event.listen(engine, "before_cursor_execute", lambda connection, cursor, statement, *more: self(statement))
        event.listen(engine, "commit", lambda connection: self("commit"))


class Slow(Emulated):
    """An emulated provider that counts each chunk as a point."""

    def __init__(self, wire: str, point: Points) -> None:
        super().__init__(wire, PLAYED)
        self._point = point

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        async for piece in super().ask(body):
            self._point("chunk")
            yield piece


def tools(side: Path, point: Callable[[str], None]) -> Tools:
    """Tools that write a line to a file for each run: it shows how often each call ran, independently of the log."""

    def done(name: str) -> str:
        point("start")
        with side.open("ab", buffering=0) as file:
            file.write(f"{current_call.get().key} {name}\n".encode())
        point("end")
        return f"{name} ran"

    async def look(**_: Any) -> str:
        return done("look")

    async def count(**_: Any) -> str:
        await asyncio.sleep(0.005)
        return done("count")

    def post(**_: Any) -> str:
        time.sleep(0.002)
        return done("post")

    return Tools([Tool(name=f.__name__, function=f, idempotent=f is look) for f in (look, count, post)])


async def act(job: Job, point: Points) -> None:
    """Do the job in this process."""
    with Log(job.url) as log:
        point.listen(log._database.engine)
        if job.act == "close":
            await log.close(job.turn, "killed", force=True)
            return
        provider, offered = Slow(job.wire, point), tools(Path(job.side), point)
        if job.act == "run":
            async with log.record() as recorder:
                await Turn(provider, offered, policy=job.policy, observers=[recorder], id=job.turn).run("Go.")
            return
        async with log.take(job.turn, force=True) as recorder:
            await Turn(provider, offered, observers=[recorder], state=recorder.state).run()


def in_a_child(job: Job) -> Report:
    """Do the job in a child process and wait for its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        point = Points(job.kill)
        code = 1
        try:
            asyncio.run(act(job, point))
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(msgspec.json.encode(point.passed))
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        points = pipe.read()
    _, status = os.waitpid(child, 0)
    return Report(os.waitstatus_to_exitcode(status), msgspec.json.decode(points or b"[]", type=list[str]))


async def nothing() -> None:
    """A tool."""


def main() -> None:
    """Read one job per line and write one report per line.

    First load all modules that a child needs, without starting a thread or opening a connection.
    """
    for url in ("sqlite:///none.db", "postgresql://none/none"):
        make_engine(url)
    for wire in ("anthropic.messages", "xai.grpc"):
        provider = Emulated(wire, script([call("look")], [Say("Done.")]))
        asyncio.run(Turn(provider, [Tool(name="look", function=nothing)]).run("Go."))
    tools(Path(), Points(0))  # checks the schemas
    for line in sys.stdin.buffer:
        report = in_a_child(msgspec.json.decode(line, type=Job))
        sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
        sys.stdout.buffer.flush()


#: The application name of the killed processes in PostgreSQL.
CHILD = "toolparity killed"
Run = Callable[[Job], Report]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A function that does a job in a separate process."""
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-m", "tests.turns.log.test_crash"]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        requests, responses = process.stdin, process.stdout
        assert requests is not None
        assert responses is not None

        def submit(job: Job) -> Report:
            requests.write(msgspec.json.encode(job) + b"\n")
            requests.flush()
            return msgspec.json.decode(responses.readline(), type=Report)

        yield submit
        requests.close()


def points_to_kill_at(passed: list[str]) -> list[int]:
    """The numbers of the points, from 1: the first of each kind, or all."""
    if os.environ.get("TOOLPARITY_KILL_POINTS") == "all":
        return list(range(1, len(passed) + 1))
    kinds = zip(["", *passed], passed, [*passed[1:], ""], strict=False)
    first: dict[tuple[str, ...], int] = {}
    for number, kind in enumerate(kinds, 1):
        first.setdefault(kind, number)
    return list(first.values())


def wait_for_the_server(url: URL) -> None:
    """Wait until the server has closed the connection of the killed process: it may still commit a statement."""
    if url.get_backend_name() == "postgresql":
        left = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{CHILD}'"
        while rows(url, left) != [(0,)]:
            time.sleep(0.001)


def assert_readable(log: Log, id: str) -> StoredTurn | None:
    """The turn that a killed process left in the log, or None if it had not begun."""
    try:
        kept = asyncio.run(log.turn(id))
    except UnknownTurn:
        return None
    page = asyncio.run(log.events(id))
    assert [row.seq for row in page.events] == list(range(kept.seq))
    assert kept.state is not None
    assert kept.state.seq <= kept.seq
    return kept


def assert_at_most_once(kept: StoredTurn, times: Counter[str]) -> None:
    """No call ran twice unless its tool is idempotent, judged by the tools' own records."""
    names = {kept_call.key: kept_call.name for kept_call in kept.calls}
    assert set(times) <= set(names)  # the log contains each call that ran
    assert [key for key, count in times.items() if count > 1 and names[key] != IDEMPOTENT] == []
    for kept_call in kept.calls:
        if kept_call.outcome == "returned":
            assert times[kept_call.key] >= 1
        elif kept_call.status == "skipped":
            assert times[kept_call.key] == 0


@pytest.mark.thorough(keep=1, per="{url}")
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
@pytest.mark.parametrize("wire", ["anthropic.messages", "xai.grpc"])
def test_a_turn_killed_at_any_point_can_be_resumed_or_closed(
    url: URL, tmp_path: Path, run: Run, policy: str, wire: str
) -> None:
    child = url.update_query_dict({"application_name": CHILD}) if url.get_backend_name() == "postgresql" else url
    database_url = child.render_as_string(hide_password=False)

    def job(act: str, id: str, kill: int = 0) -> Job:
        return Job(act, database_url, id, wire, policy, str(tmp_path / f"{id}.ran"), kill)

    with Log(url) as log:
        uninterrupted = run(job("run", "whole"))
        assert uninterrupted.code == 0
        points = sampled(points_to_kill_at(uninterrupted.points), plain=3)
        killed = 0
        for number, point in enumerate(points):
            id = f"killed at {point}"
            side = tmp_path / f"{id}.ran"
            first = run(job("run", id, point))
            wait_for_the_server(url)
            killed += first.code == -signal.SIGKILL
            assert first.code == -signal.SIGKILL or (first.code == 0 and len(first.points) < point)
            if assert_readable(log, id) is None:
                assert not side.exists()  # no call ran before it was recorded
                continue
            if number % 3 == 0:
                asyncio.run(assert_replays(log, id))
            if number % 2:
                resumed = run(job("resume", id, 1 + point % 40))  # and killed again
                wait_for_the_server(url)
                assert resumed.code in (-signal.SIGKILL, 0)
                assert assert_readable(log, id) is not None
            last = run(job("resume" if number % 3 else "close", id))
            assert last.code == 0
            kept = assert_readable(log, id)
            assert kept is not None
            asyncio.run(assert_replays(log, id))
            assert_whole(kept)
            ran = side.read_text().splitlines() if side.exists() else []
            assert_at_most_once(kept, Counter(line.split()[0] for line in ran))
            assert kept.termination == "natural_completion" or number % 3 == 0
        # How many points a turn has depends on which writes share a transaction, and so on how busy the machine is.
        assert killed >= len(points) // 2
        assert asyncio.run(log.left()) == []


if __name__ == "__main__":
    main()
