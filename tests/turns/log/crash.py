"""A process that runs turns in child processes, and kills each (SIGKILL) at a given point.

    python -m tests.turns.log.crash < jobs > reports        # one JSON object a line

A point is each statement and each commit of the database, each chunk of an answer, and the start and the end of each
tool's work. Children are forked, so that one takes milliseconds; this process never opens a database and never starts
a thread.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Engine, event

from tests.turns.playing import Emulated, Say, call, script
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.execution.typed.injection import current_call
from toolparity.turns.log import Log
from toolparity.turns.log.engine import make_engine
from toolparity.turns.turn import Turn

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


if __name__ == "__main__":
    main()
