"""A writer thread, one for stalled turns, and a few reader threads over an engine, for any number of turns and loops.

The writer puts all waiting jobs, up to 500, into one transaction. So many turns share one disk synchronisation, and no
turn holds SQLite's only write lock while it does something else.

In PostgreSQL another transaction can lock the row of one turn, for example that of a suspended process. The writer then
leaves the jobs of its transaction to another thread, which writes those of each turn as soon as it can. So a turn that
is locked delays no other turn. A job that begins something, such as taking a turn, runs in a separate transaction.

A database can stop answering, for example when its server hangs or another process locks the file. The writer then
retries in order, with increasing pauses, until the database answers. A client whose writer completes nothing for
`patience` seconds gets LogFailed, but its write stays in the queue. A connection that does not answer for half of these
seconds is broken, and the next attempt takes another one. Time in which this process was stopped does not count.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Engine

from ..errors import LogFailed
from .batch import Batch
from .engine import IDLE, PATIENCE, READERS, address, cut, end_idle, failing, is_locked, is_transient
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
_CLOSED = "the turn log is closed"


class _Queue:
    """Tasks in order. ``since``: when its writer started, or last completed a transaction."""

    __slots__ = ("since", "tasks")

    def __init__(self) -> None:
        self.since = time.monotonic()
        self.tasks: deque[_Task] = deque()


class _Task:
    """A job of a turn, and the future of its caller, which belongs to the caller's event loop.

    ``since``: when its caller's patience begins at the earliest. ``due``: when the caller looks at its patience again.
    """

    __slots__ = ("done", "due", "is_dropped", "is_first", "job", "loop", "queue", "since", "soft", "timer", "turn")

    def __init__(self, job: Job, turn: str, soft: bool = False, first: bool = False) -> None:
        self.job = job
        self.turn = turn
        self.soft = soft
        self.is_first = first
        self.is_dropped = False  # its caller got LogFailed and wants no later write (``first``)
        self.queue: _Queue | None = None  # None for a job outside the queue
        self.since = time.monotonic() if first else 0.0
        self.due = 0.0
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Any] = self.loop.create_future()
        self.timer: asyncio.TimerHandle | None = None  # of its caller's patience


def _nothing(batch: Batch) -> None:
    """A job that writes nothing."""


def _complete(tasks: list[_Task], error: Exception | None = None, result: Any = None) -> None:
    """Wake the callers of the tasks, those of one event loop together."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Task]] = {}
    for task in tasks:
        by_loop.setdefault(task.loop, []).append(task)
    for loop, of_loop in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, and with it every caller
            loop.call_soon_threadsafe(_set_done, of_loop, error, result)


def _set_done(tasks: list[_Task], error: Exception | None, result: Any) -> None:
    for task in tasks:
        if task.done.done():  # its caller did not wait
            continue
        if error is None:
            task.done.set_result(result)
        else:
            task.done.set_exception(error)


class Database:
    """Runs reads and writes in threads, and retries them while the database does not answer.

    ``clock``: returns the seconds since 1970; None for the clock of the database, which all processes share.
    ``patience``: seconds to wait for the database before LogFailed. ``idle``: see `engine.IDLE`.

    A job may run several times, even after a commit whose confirmation was lost. It must detect that case, or be
    idempotent.
    """

    def __init__(
        self, engine: Engine, clock: Clock | None = None, patience: float = PATIENCE, idle: float = IDLE
    ) -> None:
        self.engine = engine
        dialect = engine.dialect.name
        self._is_file = dialect == "sqlite"
        self._clock = clock
        self.patience = patience
        self._idle = idle
        self._uses_server_clock = (
            clock is None and dialect == "postgresql"
        )  # SQLite has only the machine's clock, as Python does
        #: The current time, as an expression in a statement.
        self.at: ColumnElement[float] = sa.bindparam("at", type_=sa.Double)
        if self._uses_server_clock:
            self.at = sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Double)
        self.statements = Statements(dialect, self.at)
        self._shared = _Queue()
        self._writing: list[_Task] = []  # taken from the shared queue
        self._flushing = False  # `_flush` runs in the writer's thread, or is submitted
        self._stalled: dict[str, _Queue] = {}  # turn -> its tasks, while its row is locked
        self._continued = 0.0  # when the process continued after it was stopped
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._is_lost = False  # the database did not answer within `patience` after `dispose` was called
        self._busy: dict[Any, float] = {}  # connection in use -> when its transaction started
        self._writer = ThreadPoolExecutor(1, "turn-log-writer")
        self._stalled_writer = ThreadPoolExecutor(1, "turn-log-stalled")
        self._readers = ThreadPoolExecutor(READERS, "turn-log-reader")

    def times(self) -> dict[str, float]:
        """Return the parameters that `at` needs when a statement runs."""
        return {} if self._uses_server_clock else {"at": (self._clock or time.time)()}

    def now(self) -> ColumnElement[float]:
        """Return the current time for a statement that runs immediately, with its value included."""
        return self.at if self._uses_server_clock else sa.literal(self.times()["at"], sa.Double)

    async def write(self, job: Job, turn: str = "", *, soft: bool = False, first: bool = False) -> None:
        """Queue a job of a turn, and return when its transaction is on disk.

        ``soft``: return when the operating system has it.

        Raises the job's exceptions, and LogFailed if the database fails or does not answer. Neither LogFailed for a
        missing answer nor cancellation removes the job from the queue: it is written before all later jobs of the turn.

        ``first``: the job begins something, such as a new turn. It is dropped when its client gets LogFailed, and its
        patience counts from this call, however long other jobs have waited.
        """
        task = _Task(job, turn, soft, first)
        with self._lock:
            task.queue = self._stalled.get(turn, self._shared)
            task.queue.tasks.append(task)
            if task.queue is self._shared and not self._flushing:  # else the running `_flush` takes it
                self._shared.since = time.monotonic()
                try:
                    self._writer.submit(self._flush)
                except RuntimeError:
                    self._shared.tasks.clear()
                    raise LogFailed(_CLOSED) from None
                self._flushing = True
        await self._answer(task, cancels=False)

    async def write_apart(self, job: Job, turn: str = "") -> None:
        """Run a job that begins something. It waits only for jobs of the same turn, and on SQLite for all.

        Raises the job's exceptions, and LogFailed if the database fails or does not answer. The job is then dropped.
        """
        with self._lock:
            tasks = chain(self._writing, self._shared.tasks)
            is_queued = self._is_file or turn in self._stalled or any(task.turn == turn for task in tasks)
        if is_queued:
            await self.write(job, turn, first=True)
            return

        def work(connection: Connection) -> None:
            batch = Batch(connection, shared=False)
            job(batch)
            batch.flush()

        await self._run_apart("write", work)

    async def read(self, reading: Callable[[Connection], _Read]) -> _Read:
        """Run ``reading`` on one snapshot of the database and return its result.

        Raises LogFailed if the database fails or does not answer.
        """
        return await self._run_apart("read", reading)

    async def _run_apart(self, mode: str, work: Callable[[Connection], _Read]) -> _Read:
        task = _Task(_nothing, "", first=True)

        def attempt() -> _Read:
            with self._transaction(mode) as connection:
                return work(connection)

        def run() -> None:
            try:
                result = self._retrying(attempt, task)
            except Exception as error:
                _complete([task], error)
            else:
                _complete([task], None, result)

        try:
            self._readers.submit(run)
        except RuntimeError:
            raise LogFailed(_CLOSED) from None
        try:
            found: _Read = await self._answer(task)
            return found
        finally:
            task.is_dropped = True

    async def _answer(self, task: _Task, cancels: bool = True) -> Any:
        """Wait for a task as long as its caller's patience lasts. Cancellation does not stop the task.

        ``cancels``: whether it ends the wait, too. If not, the caller learns first whether the job is on disk.
        """
        self._watch(task)
        try:
            try:
                return await (task.done if cancels else asyncio.shield(task.done))
            except asyncio.CancelledError:
                if not cancels and not task.done.cancelled():
                    with suppress(*() if task.is_first else (LogFailed,)):  # else the job stays in the queue
                        await task.done
                raise
        finally:
            if task.timer is not None:
                task.timer.cancel()

    def _watch(self, task: _Task) -> None:
        """Let the caller of a task fail when its patience has ended.

        It runs in the caller's event loop, again and again while the writer completes other transactions. If it runs
        much too late, the process was stopped: then the patience of all callers begins again.
        """
        if task.done.done():
            return
        now = time.monotonic()
        if task.due and now - task.due > self.patience / 4:
            self._continued = now
        since = max(task.since, self._continued, task.queue.since if task.queue is not None else 0.0)
        left = self.patience - (now - since)
        if task.due and left <= self.patience / 2:
            self._cut(self.patience / 2)
        if task.due and left <= 0:
            task.is_dropped = task.is_first
            task.done.set_exception(self._no_answer(_DROPPED if task.is_first else _QUEUED))
            return
        wait = max(0.0, min(left, self.patience / 4))
        task.due = now + wait
        task.timer = task.loop.call_later(wait, self._watch, task)

    def end_idle(self, connection: Connection) -> bool:
        """End the sessions whose clients stopped in a transaction. Return whether there were any."""
        return end_idle(connection, self._idle)

    def dispose(self) -> None:
        """Write the queued jobs, if the database answers within `patience` seconds, and close every connection."""
        self._closing.set()
        ends = threading.Timer(self.patience, self._give_up)
        ends.daemon = True
        ends.start()
        self._writer.shutdown()
        self._stalled_writer.shutdown()
        self._readers.shutdown()
        ends.cancel()
        self.engine.dispose()

    def _no_answer(self, hint: str) -> LogFailed:
        where = address(self.engine.url)
        return LogFailed(f"the database has not answered for {self.patience:g} s", where=where, hint=hint)

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

    def _flush(self) -> None:
        """Write tasks until the shared queue is empty."""
        while True:
            with self._lock:
                waiting = self._shared.tasks
                self._writing = [waiting.popleft() for _ in range(min(len(waiting), _MAX_JOBS))]
                self._flushing = bool(self._writing)
            if not self._writing:
                return
            self._write_all(self._writing)

    def _write_all(self, tasks: list[_Task]) -> None:
        error = self._written(tasks)
        self._shared.since = time.monotonic()
        if is_locked(error):
            self._set_apart({task.turn for task in tasks}, tasks)
        elif error is None or len(tasks) == 1:
            _complete(tasks, error)
        else:  # one at a time, because one failing job rolls back the shared transaction
            for number, task in enumerate(tasks):
                if task.queue is self._shared:
                    error = self._written([task])
                    self._shared.since = time.monotonic()
                    if is_locked(error):
                        self._set_apart({task.turn}, tasks[number:])
                    else:
                        _complete([task], error)

    def _set_apart(self, turns: set[str], tasks: list[_Task]) -> None:
        """Leave what ``tasks`` and the shared queue have of these turns, in order, to `_flush_stalled`."""
        with self._lock:
            is_flushing = bool(self._stalled)
            waiting, self._shared.tasks = self._shared.tasks, deque()
            for task in chain(tasks, waiting):
                if task.turn in turns:
                    task.queue = self._stalled.setdefault(task.turn, _Queue())
                    task.queue.tasks.append(task)
            self._shared.tasks.extend(task for task in waiting if task.turn not in turns)
            if not is_flushing:
                self._stalled_writer.submit(self._flush_stalled)

    def _flush_stalled(self) -> None:
        """Write the tasks of all stalled turns, those of each turn when its lock is released."""
        pause = _FIRST_PAUSE
        while True:
            with self._lock:
                queues = list(self._stalled.items())
            if not queues:
                return
            if sum(self._write_stalled(turn, queue) for turn, queue in queues):
                pause = _FIRST_PAUSE
                continue
            with suppress(LogFailed), self._transaction("write") as connection:
                self.end_idle(connection)
            pause = self._wait(pause)

    def _write_stalled(self, turn: str, queue: _Queue) -> bool:
        """Write the tasks of a turn until it is locked. Return whether any was written."""
        is_written = False
        while queue.tasks:
            task = queue.tasks[0]
            error = self._written([task])
            if is_locked(error) and not self._is_lost:
                break
            is_written = True
            queue.since = time.monotonic()
            with self._lock:
                queue.tasks.popleft()
                if not queue.tasks:
                    del self._stalled[turn]
            _complete([task], error)
        return is_written

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

    def _retrying(self, work: Callable[[], _Read], task: _Task | None = None) -> _Read:
        """Run ``work``, and repeat it after transient failures until the caller of ``task`` gives up or the log closes.

        Without a task, a lock of another transaction raises LogFailed.
        """
        pause = _FIRST_PAUSE
        while True:
            if self._is_lost:
                raise self._no_answer("the log was closed before this was written")
            if task is not None and task.is_dropped:
                raise self._no_answer(_DROPPED)
            try:
                return work()
            except LogFailed as error:
                if not is_transient(error) or self._closing.is_set() or (task is None and is_locked(error)):
                    raise
            pause = self._wait(pause)

    def _wait(self, pause: float) -> float:
        """Wait until the next attempt, or until the log closes. Return the pause after that attempt."""
        self._closing.wait(pause)
        return min(pause * 2, _LONGEST_PAUSE, self.patience / 4)
