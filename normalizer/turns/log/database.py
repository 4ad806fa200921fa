"""One writer and a few readers over an engine, for any number of turns and event loops.

Whatever waits to be written when the writer is free goes into one transaction. So a thousand turns wait for the disk
once and not a thousand times, and none of them holds SQLite's only write lock while it does something else.

A database may stop answering: a frozen server, a file that another process has locked. The writer tries again, in order
and less and less often, until the database answers. Its clients wait for `patience` seconds in which it finishes
nothing, and no longer: then they get LogFailed, though their writes stay in line.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Engine

from ...errors import LogFailed
from .engine import PATIENCE, READERS, cut, failing, passes
from .statements import Statements

_Read = TypeVar("_Read")
#: Something to be written, in a transaction that may be another's too. What it raises undoes it alone.
Job = Callable[[Connection], None]
#: Seconds since 1970.
Clock = Callable[[], float]
#: Jobs of one transaction at most: others may read what was written before the rest is.
_MOST = 500
#: Seconds before a second try, and the longest between two.
_FIRST, _LONGEST = 0.02, 1.0
_IN_LINE = "it is written when the database answers again, if this process and its log still exist then"
_VOID = "nothing was written: try again later"


class _Task:
    __slots__ = ("done", "job", "soft", "void")

    def __init__(self, job: Job, soft: bool) -> None:
        self.job = job
        self.soft = soft
        self.void = False  # its client is gone, and did not want it done without him
        self.done: Future[None] = Future()
        self.done.set_running_or_notify_cancel()  # nobody's loop can take it back


class Database:
    """``clock``: None for the database's own, which all processes share. ``patience``: seconds to wait for an answer.

    A job may run several times, the last time in the transaction that is committed, or in one before it whose answer
    was lost: it has to find that out, or to be the same when it is done twice.
    """

    def __init__(self, engine: Engine, clock: Clock | None = None, patience: float = PATIENCE) -> None:
        self.engine = engine
        dialect = engine.dialect.name
        self._clock = clock
        self._patience = patience
        self._own = clock is None and dialect == "postgresql"  # SQLite has no clock but the machine's, as we do
        #: The time, as part of a statement.
        self.at: ColumnElement[float] = sa.bindparam("at", type_=sa.Double)
        if self._own:
            self.at = sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Double)
        self.statements = Statements(dialect, self.at)
        self._waiting: deque[_Task] = deque()
        self._flushing = False  # somebody is at it, or will be
        self._since = 0.0  # when the writer began, or finished something last
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._gone = False  # the database did not answer while the log was closed
        self._busy: dict[Any, float] = {}  # connections at work, and since when
        self._writer = ThreadPoolExecutor(1, "turn-log-writer")
        self._readers = ThreadPoolExecutor(READERS, "turn-log-reader")

    def times(self) -> dict[str, float]:
        """The parameters of `at`."""
        return {} if self._own else {"at": (self._clock or time.time)()}

    def now(self) -> ColumnElement[float]:
        """The time, for a statement that is made once and run at once."""
        return self.at if self._own else sa.literal(self.times()["at"], sa.Double)

    async def write(self, job: Job, *, soft: bool = False, first: bool = False) -> None:
        """Returns when it is on disk (``soft``: when the operating system has it). Raises what the job raises, and
        LogFailed, also where the database does not answer.

        Cancelling or not waiting any longer does not undo it: what was given here is written, in order, before anything
        that is given later. ``first``: it begins something, which does not begin after its client got LogFailed; nor
        does it matter to it for how long others have waited.
        """
        task = _Task(job, soft)
        with self._lock:
            idle, self._flushing = not self._flushing, True
            now = time.monotonic()
            if idle:
                self._since = now
            self._waiting.append(task)
            if idle:  # else it is taken along: a call of the writer for each would pile up behind it
                try:
                    self._writer.submit(self._flush)
                except RuntimeError:
                    self._flushing = False
                    self._waiting.clear()
                    raise LogFailed("the turn log is closed") from None
        future = asyncio.wrap_future(task.done)
        try:
            while not future.done():
                since = max(now, self._since) if first else self._since
                left = self._patience - (time.monotonic() - since)
                if left <= 0:
                    task.void = first
                    self._cut(self._patience)
                    raise self._silent(_VOID if first else _IN_LINE)
                await asyncio.wait({future}, timeout=left)
        finally:
            future.cancel()  # the task's own is not: it goes on
        future.result()

    async def read(self, reading: Callable[[Connection], _Read]) -> _Read:
        """What it returns, all of it from one moment. Raises LogFailed, also where the database does not answer."""
        future = asyncio.get_running_loop().run_in_executor(self._readers, self._read, reading)
        try:
            await asyncio.wait({future}, timeout=self._patience)
            if not future.done():
                self._cut(self._patience)
                raise self._silent("try again later")
        finally:
            future.cancel()
        return future.result()

    def dispose(self) -> None:
        """Write what waits, if the database answers, and close every connection."""
        self._closing.set()
        ends = threading.Timer(self._patience, self._give_up)
        ends.daemon = True
        ends.start()
        self._writer.shutdown()
        self._readers.shutdown()
        ends.cancel()
        self.engine.dispose()

    def _silent(self, hint: str) -> LogFailed:
        where = self.engine.url.render_as_string(hide_password=True)
        return LogFailed(f"the database has not answered for {self._patience:g} s", where=where, hint=hint)

    def _cut(self, seconds: float) -> None:
        """Let go of connections that have been at work for so long: the next try takes another one."""
        with self._lock:
            now = time.monotonic()
            stuck = [connection for connection, since in self._busy.items() if now - since >= seconds]
        for connection in stuck:
            cut(connection)

    def _give_up(self) -> None:
        self._gone = True
        self._cut(0)

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Connection]:
        with failing(self.engine), self.engine.connect().execution_options(turn_log=mode) as connection:
            used = connection.connection.dbapi_connection
            self._busy[used] = time.monotonic()
            try:
                with connection.begin():
                    yield connection
            finally:
                del self._busy[used]

    def _read(self, reading: Callable[[Connection], _Read]) -> _Read:
        def read() -> _Read:
            with self._transaction("read") as connection:
                return reading(connection)

        return self._tried(read, time.monotonic() + self._patience)

    def _flush(self) -> None:
        """Write until nothing waits."""
        while True:
            with self._lock:
                tasks = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST))]
                self._flushing = bool(tasks)
            if not tasks:
                return
            self._write_all(tasks)
            self._since = time.monotonic()

    def _write_all(self, tasks: list[_Task]) -> None:
        if len(tasks) > 1 and self._written(tasks) is None:
            for task in tasks:
                task.done.set_result(None)
            return
        for task in tasks:  # alone, or one of them spoils it for the others
            error = self._written([task])
            if error is None:
                task.done.set_result(None)
            else:
                task.done.set_exception(error)

    def _written(self, tasks: list[_Task]) -> Exception | None:
        mode = "soft" if all(task.soft for task in tasks) else "write"

        def write() -> None:
            with self._transaction(mode) as connection:
                for task in tasks:
                    if not task.void:
                        task.job(connection)

        try:
            self._tried(write)
        except Exception as error:
            return error
        return None

    def _tried(self, work: Callable[[], _Read], until: float = math.inf) -> _Read:
        """Do it, again and again while the database may still be able to. After the log is closed, only once."""
        pause = _FIRST
        while True:
            if self._gone:
                raise self._silent("the log was closed before this was written")
            try:
                return work()
            except LogFailed as error:
                if not passes(error) or self._closing.is_set() or time.monotonic() >= until:
                    raise
            self._closing.wait(pause)
            pause = min(pause * 2, _LONGEST, self._patience / 4)
