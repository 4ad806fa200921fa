"""The limit on tool threads of a whole process, however many turns and event loops it has."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress


class ThreadLimit:
    """At most ``most`` calls and abandoned threads at a time, and ``most_abandoned`` abandoned threads.

    A call that would exceed ``most`` waits. Abandoned threads may never end, so that nothing waits for them: once there
    are ``most_abandoned``, `exceeded` is true.
    """

    def __init__(self, most: int = 256, most_abandoned: int = 64) -> None:
        self._most = most
        self._most_abandoned = most_abandoned
        self._lock = threading.Lock()
        self._waiting: list[asyncio.Future[None]] = []
        self._calls = 0
        #: Number of abandoned threads that still run.
        self.abandoned = 0

    @property
    def exceeded(self) -> bool:
        """Whether no further thread may start, because too many are abandoned."""
        return self.abandoned >= self._most_abandoned or self._calls + self.abandoned > self._most

    async def enter(self) -> None:
        """Count a call, as soon as there is a place for it, or if abandoned threads have taken the places."""
        while True:
            with self._lock:
                if self._calls + self.abandoned < self._most or self.abandoned >= self._most_abandoned:
                    self._calls += 1
                    return
                waiting = asyncio.get_running_loop().create_future()
                self._waiting.append(waiting)
            await waiting

    def leave(self) -> None:
        """End a call that `enter` counted."""
        with self._lock:
            self._calls -= 1
            self._wake()

    def abandon(self, change: int) -> None:
        """Add ``change`` to the number of abandoned threads. Any thread may call this."""
        with self._lock:
            self.abandoned += change
            self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            with suppress(RuntimeError):  # its loop is closed
                future.get_loop().call_soon_threadsafe(_wake_up, future)


def _wake_up(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


#: The limit of this process.
PROCESS = ThreadLimit()
