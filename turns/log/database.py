"""One writer thread and a few reader threads over an engine, for any number of turns and event loops.

The writer puts all waiting jobs, up to 500, into one transaction. So many turns share one disk synchronisation, and no
turn holds SQLite's only write lock while it does something else.

A database can stop answering, for example when its server hangs or another process locks the file. The writer then
retries in order, with increasing pauses, until the database answers. A client whose writer completes nothing for
`patience` seconds gets LogFailed, but its write stays in the queue.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Engine

from ..errors import LogFailed
from .batch import Batch
from .engine import PATIENCE, READERS, cut, failing, is_transient
from .tables import Statements

_Read = TypeVar("_Read")
#: A write, in a transaction that other jobs may share. If it raises, only this job is rolled back.
Job = Callable[[Batch], None]
#: Seconds since 1970.
Clock = Callable[[], float]
#: The most jobs in one transaction, so that readers see the first ones before the rest is written.
_MAX_JOBS = 500
#: Seconds before the second attempt, and the longest pause between two attempts.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
_QUEUED = "the write stays queued until the database answers, while this process and its log exist"
_DROPPED = "nothing was written: try again later"


class _Task:
    """A job, and the future of its caller, which belongs to the caller's event loop."""

    __slots__ = ("done", "is_dropped", "job", "loop", "soft", "timer")

    def __init__(self, job: Job, soft: bool) -> None:
        self.job = job
        self.soft = soft
        self.is_dropped = False  # its caller got LogFailed and wants no later write (``first``)
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self.loop.create_future()
        self.timer: asyncio.TimerHandle | None = None  # of its caller's patience


def _complete(tasks: list[_Task], error: Exception | None = None) -> None:
    """Wake the callers of the tasks, those of one event loop together."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Task]] = {}
    for task in tasks:
        by_loop.setdefault(task.loop, []).append(task)
    for loop, of_loop in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, and with it every caller
            loop.call_soon_threadsafe(_set_done, of_loop, error)


def _set_done(tasks: list[_Task], error: Exception | None) -> None:
    for task in tasks:
        if task.done.done():  # its caller did not wait
            continue
        if error is None:
            task.done.set_result(None)
        else:
            task.done.set_exception(error)


class Database:
    """Runs reads and writes in threads, and retries them while the database does not answer.

    ``clock``: returns the seconds since 1970; None for the clock of the database, which all processes share.
    ``patience``: seconds to wait for the database before LogFailed.

    A job may run several times, even after a commit whose confirmation was lost. It must detect that case, or be
    idempotent.
    """

    def __init__(self, engine: Engine, clock: Clock | None = None, patience: float = PATIENCE) -> None:
        self.engine = engine
        dialect = engine.dialect.name
        self._clock = clock
        self._patience = patience
        self._uses_server_clock = (
            clock is None and dialect == "postgresql"
        )  # SQLite has only the machine's clock, as Python does
        #: The current time, as an expression in a statement.
        self.at: ColumnElement[float] = sa.bindparam("at", type_=sa.Double)
        if self._uses_server_clock:
            self.at = sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Double)
        self.statements = Statements(dialect, self.at)
        self._waiting: deque[_Task] = deque()
        self._flushing = False  # `_flush` runs in the writer's thread, or is submitted
        self._since = 0.0  # when the writer started, or last completed a transaction
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._is_lost = False  # the database did not answer within `patience` after `dispose` was called
        self._busy: dict[Any, float] = {}  # connection in use -> when its transaction started
        self._writer = ThreadPoolExecutor(1, "turn-log-writer")
        self._readers = ThreadPoolExecutor(READERS, "turn-log-reader")

    def times(self) -> dict[str, float]:
        """Return the parameters that `at` needs when a statement runs."""
        return {} if self._uses_server_clock else {"at": (self._clock or time.time)()}

    def now(self) -> ColumnElement[float]:
        """Return the current time for a statement that runs immediately, with its value included."""
        return self.at if self._uses_server_clock else sa.literal(self.times()["at"], sa.Double)

    async def write(self, job: Job, *, soft: bool = False, first: bool = False) -> None:
        """Queue a job, and return when its transaction is on disk (``soft``: when the operating system has it).

        Raises the job's exceptions, and LogFailed if the database fails or does not answer. Neither LogFailed for a
        missing answer nor cancellation removes the job from the queue: it is written before all later jobs.

        ``first``: the job begins something, such as a new turn. It is dropped when its client gets LogFailed, and its
        patience counts from this call, however long other jobs have waited.
        """
        task = _Task(job, soft)
        with self._lock:
            idle, self._flushing = not self._flushing, True
            now = time.monotonic()
            if idle:
                self._since = now
            self._waiting.append(task)
            if idle:  # else the running `_flush` takes it: no need to submit one call per job
                try:
                    self._writer.submit(self._flush)
                except RuntimeError:
                    self._flushing = False
                    self._waiting.clear()
                    raise LogFailed("the turn log is closed") from None
        self._watch(task, now if first else None)
        try:
            await task.done  # cancellation cancels only this future: the task itself continues
        finally:
            if task.timer is not None:
                task.timer.cancel()

    def _watch(self, task: _Task, began: float | None) -> None:
        """Let the caller of a task fail when its patience has ended. ``began``: when the call of a ``first`` job began.

        It runs in the caller's event loop, again and again while the writer completes other transactions.
        """
        if task.done.done():
            return
        since = self._since if began is None else max(began, self._since)
        left = self._patience - (time.monotonic() - since)
        if left > 0:
            task.timer = task.loop.call_later(left, self._watch, task, began)
            return
        task.is_dropped = began is not None
        self._cut(self._patience)
        task.done.set_exception(self._no_answer(_QUEUED if began is None else _DROPPED))

    async def read(self, reading: Callable[[Connection], _Read]) -> _Read:
        """Run ``reading`` on one snapshot of the database and return its result.

        Raises LogFailed if the database fails or does not answer.
        """
        future = asyncio.get_running_loop().run_in_executor(self._readers, self._read, reading)
        try:
            await asyncio.wait({future}, timeout=self._patience)
            if not future.done():
                self._cut(self._patience)
                raise self._no_answer("try again later")
        finally:
            future.cancel()
        return future.result()

    def dispose(self) -> None:
        """Write the queued jobs, if the database answers within `patience` seconds, and close every connection."""
        self._closing.set()
        ends = threading.Timer(self._patience, self._give_up)
        ends.daemon = True
        ends.start()
        self._writer.shutdown()
        self._readers.shutdown()
        ends.cancel()
        self.engine.dispose()

    def _no_answer(self, hint: str) -> LogFailed:
        where = self.engine.url.render_as_string(hide_password=True)
        return LogFailed(f"the database has not answered for {self._patience:g} s", where=where, hint=hint)

    def _cut(self, seconds: float) -> None:
        """Break connections that have been in use for ``seconds`` or longer: the next attempt takes another one."""
        with self._lock:
            now = time.monotonic()
            stuck = [connection for connection, since in self._busy.items() if now - since >= seconds]
        for connection in stuck:
            cut(connection)

    def _give_up(self) -> None:
        self._is_lost = True
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

        return self._retrying(read, time.monotonic() + self._patience)

    def _flush(self) -> None:
        """Write jobs until the queue is empty."""
        while True:
            with self._lock:
                tasks = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MAX_JOBS))]
                self._flushing = bool(tasks)
            if not tasks:
                return
            self._write_all(tasks)
            self._since = time.monotonic()

    def _write_all(self, tasks: list[_Task]) -> None:
        if len(tasks) > 1 and self._written(tasks) is None:
            _complete(tasks)
            return
        for task in tasks:  # one at a time, because one failing job rolls back the shared transaction
            _complete([task], self._written([task]))

    def _written(self, tasks: list[_Task]) -> Exception | None:
        mode = "soft" if all(task.soft for task in tasks) else "write"

        def write() -> None:
            with self._transaction(mode) as connection:
                batch = Batch(connection, len(tasks) > 1)
                for task in tasks:
                    if not task.is_dropped:
                        task.job(batch)
                batch.flush()

        try:
            self._retrying(write)
        except Exception as error:
            return error
        return None

    def _retrying(self, work: Callable[[], _Read], until: float = math.inf) -> _Read:
        """Run ``work``, and repeat it after transient failures until ``until`` (monotonic), or until the log closes."""
        pause = _FIRST_PAUSE
        while True:
            if self._is_lost:
                raise self._no_answer("the log was closed before this was written")
            try:
                return work()
            except LogFailed as error:
                if not is_transient(error) or self._closing.is_set() or time.monotonic() >= until:
                    raise
            self._closing.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE, self._patience / 4)
