"""The barrier between calls that run in parallel and tools that must run alone (failure BATCH-02).

[f1, alone, f2] runs f1, then alone, then f2. Calls without such a tool between them run in parallel.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Barrier:
    """Admits calls in order of arrival: any number of parallel calls, or a single call that must run alone."""

    def __init__(self) -> None:
        self._running = 0
        self._alone = False
        self._queue: deque[tuple[bool, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def hold(self, *, alone: bool) -> AsyncIterator[None]:
        """Wait until no conflicting call is running or queued earlier, and admit this call until the block ends.

        ``alone``: conflicts with every other call.
        """
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((alone, admitted))
        self._admit()
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled():
                self._leave()
            else:
                self._queue = deque(entry for entry in self._queue if entry[1] is not admitted)
                self._admit()
            raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._running -= 1
        self._alone = False
        self._admit()

    def _admit(self) -> None:
        while self._queue:
            alone, admitted = self._queue[0]
            if self._alone or (alone and self._running):
                return
            self._queue.popleft()
            if admitted.done():  # cancelled while it waited
                continue
            self._running += 1
            self._alone = alone
            admitted.set_result(None)
