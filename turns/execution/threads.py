"""Daemon threads for blocking tools, so that a hanging tool blocks neither the turn nor the end of the program.

The worker threads of asyncio and anyio are joined at the end of the program, so a hanging tool would block it forever.
A thread cannot be stopped from outside. An abandoned thread continues, its result is ignored, and it is counted.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import TooManyAbandoned
from .thread_limit import PROCESS, ThreadLimit


class Threads:
    """A limit on tool threads: ``most`` slots, and ``most_abandoned`` threads that were given up.

    ``limit``: the limit that all of these share. Usable in one event loop at a time.
    """

    def __init__(self, most: int = 64, most_abandoned: int = 64, limit: ThreadLimit = PROCESS) -> None:
        self._limit = limit
        self._most_abandoned = most_abandoned
        self._most = most
        self._slots = asyncio.Semaphore(most)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        #: Number of abandoned threads that still run.
        self.abandoned = 0

    async def __aenter__(self) -> Threads:
        """Wait for a slot."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # slots of another loop ended with it
            self._loop, self._slots = loop, asyncio.Semaphore(self._most)
        await self._slots.acquire()
        try:
            await self._limit.enter()
        except BaseException:
            self._slots.release()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limit.leave()
        self._slots.release()

    async def run(self, function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        """Run the function in a thread. Return its value and None, or None and the exception that it raised.

        The caller must hold a slot (``async with``). Cancellation abandons the thread. Raises TooManyAbandoned if
        ``most_abandoned`` threads, or too many in this process, are abandoned already.
        """
        if self.abandoned >= self._most_abandoned or self._limit.exceeded:
            abandoned = max(self.abandoned, self._limit.abandoned)
            raise TooManyAbandoned(f"too many abandoned threads: {abandoned} hang in tools")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()
        ended = given_up = False

        def work() -> None:
            nonlocal ended
            try:
                outcome: tuple[Any, BaseException | None] = (context.run(function), None)
            except BaseException as error:
                outcome = (None, error)
            with self._lock:
                ended = True
                if given_up:
                    self._count_abandoned(-1)
                    return
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_set_result, future, outcome)

        threading.Thread(target=work, name="toolparity tool", daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            with self._lock:
                given_up = True
                if not ended:
                    self._count_abandoned(1)
            raise

    def _count_abandoned(self, change: int) -> None:
        self.abandoned += change
        self._limit.abandon(change)


def _set_result(future: asyncio.Future[Any], outcome: Any) -> None:
    if not future.done():
        future.set_result(outcome)
