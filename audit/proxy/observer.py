"""The observer: copies exchanges, has workers judge them, and passes the judgements on to sinks.

It never raises into the traffic, and never waits for a worker. What it cannot take is counted in a judgement with the
reason.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from .copies import Copying, ExchangeCopy, MemoryBudget
from .delivery import Delivery, Sink
from .headers import RawHeaders
from .judgement import Judgement, JudgeOptions, Unjudged, judgement_of, shown
from .worker import Worker


class Limits(Struct, frozen=True):
    """The bounds of the observer. ``exchange``: bytes of the bodies of one exchange. ``memory``: bytes of all copies.

    ``waiting``: exchanges in the queue of a worker. ``seconds``: the longest that a worker may take for an exchange.
    ``undelivered``: judgements that wait for the sinks. ``closing``: how long `Observer.close` waits for the workers,
    and then for the sinks, in seconds.
    """

    exchange: int = 16 << 20
    memory: int = 256 << 20
    waiting: int = 1000
    seconds: float = 30.0
    undelivered: int = 10_000
    closing: float = 10.0


class Observer:
    """Observes exchanges until it is closed, as a context manager. Threads may share it.

    ``exchanges``: how many began. ``sessions``, ``messages``: how many WebSocket sessions ended, and what passed in
    them. ``record``: where to record exchanges, see `recording.RecordOptions`. ``recorded``:
    how many were recorded, and how many were not, by reason.
    """

    def __init__(
        self,
        sinks: Sequence[Sink] = (),
        options: JudgeOptions | None = None,
        limits: Limits | None = None,
        *,
        record: str | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._delivery = Delivery(sinks, self._limits.undelivered)
        self.exchanges = self.sessions = self.messages = 0
        self._closed = False
        self._lock = threading.Lock()
        self.budget = MemoryBudget(self._limits.memory)
        self._encode = msgspec.msgpack.Encoder().encode
        self.judge = self._worker("judge", options or JudgeOptions(), self._judged)
        self.recorder = None if record is None else self._worker("record", {"path": record}, self._recorded)
        self.recorded = Counter[str]()

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def lost(self) -> int:
        """The number of judgements that the sinks were too slow for."""
        return self._delivery.lost

    def begin(self, method: str, url: str, headers: RawHeaders) -> Copying:
        """Begin to copy an exchange."""
        with self._lock:
            self.exchanges += 1
            number = self.exchanges
        copy = ExchangeCopy(number, time.time(), method, url, headers)
        return Copying(copy, self._limits.exchange, self.budget, self._done)

    def close(self) -> None:
        """Judge what is waiting, within the time limit, and stop the workers. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        end = time.monotonic() + self._limits.closing
        for worker in (self.recorder, self.judge):
            if worker is not None:
                worker.close(end - time.monotonic())
        self._delivery.close(self._limits.closing)

    def _worker(self, task: str, options: object, finished: Callable[[_Held, bytes | None], None]) -> Worker[_Held]:
        return Worker(
            [task, msgspec.json.encode(options).decode()],
            lambda held: self._encode(held.copy),
            finished,
            most_waiting=self._limits.waiting,
            most_seconds=self._limits.seconds,
        )

    def _done(self, copy: ExchangeCopy, size: int) -> None:
        """Take a finished copy. Called in the traffic's thread."""
        held = _Held(copy, size, self.budget, users=1 if self.recorder is None else 2)
        reason: Unjudged | None = "no-answer" if copy.status is None else copy.skipped
        if copy.session is not None:
            with self._lock:
                self.sessions += 1
                self.messages += copy.session.sent + copy.session.received
        if reason is None and not self.judge.offer(held):
            reason = "queue-full"
        if reason is not None:
            self._delivery.put(shown(judgement_of(copy, reason)))
            held.release()
        if self.recorder is not None:
            self._record(held)

    def _record(self, held: _Held) -> None:
        assert self.recorder is not None
        copy = held.copy
        reason: str | None = "no-answer" if copy.status is None else copy.skipped
        if reason is None and not self.recorder.offer(held):
            reason = "queue-full"
        if reason is not None:
            self.recorded[reason] += 1
            held.release()

    def _recorded(self, held: _Held, result: bytes | None) -> None:
        held.release()
        self.recorded["worker-lost" if result is None else result.decode()] += 1

    def _judged(self, held: _Held, result: bytes | None) -> None:
        held.release()
        if result is None:
            self._delivery.put(shown(judgement_of(held.copy, "worker-lost")))
        else:
            self._delivery.put(msgspec.msgpack.decode(result, type=Judgement))


class _Held:
    """A copy and the memory that it holds, until each of its users has released it."""

    def __init__(self, copy: ExchangeCopy, size: int, budget: MemoryBudget, users: int) -> None:
        self.copy = copy
        self._users = users
        self._size = size
        self._budget = budget
        self._lock = threading.Lock()

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._budget.give_back(self._size)
