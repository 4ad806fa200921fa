"""The background tasks of a turn, which end with it."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakSet

#: Seconds, in addition to the grace of tools, that tasks have to end when the turn ends.
_PATIENCE = 4.0


class Tasks:
    """The tasks of one turn. ``wake`` is called when a task raised; the turn then raises its error, `fault`.

    ``grace``: seconds that tools have to clean up when the turn ends.
    """

    def __init__(self, wake: Callable[[], object], grace: float = 1.0) -> None:
        self.fault: BaseException | None = None
        self._wake = wake
        self._patience = grace + _PATIENCE
        self._running: set[asyncio.Future[Any]] = set()
        self._ended: WeakSet[asyncio.Future[Any]] = WeakSet()

    def spawn(
        self,
        work: Callable[..., Coroutine[Any, Any, None]],
        *arguments: Any,
        lost: Callable[[BaseException], object] | None = None,
    ) -> None:
        """Start a task. ``lost`` is called if other code cancels it, so that the turn does not wait for it forever.

        A GeneratorExit from an awaited future also ends the task, and no coroutine inside the task can prevent that.
        """
        task = asyncio.create_task(self._watched(work, *arguments))

        def ended(task: asyncio.Future[Any]) -> None:
            error = CancelledError("the task was cancelled") if task.cancelled() else task.exception()
            if lost is not None and error is not None and task not in self._ended:
                lost(error)

        task.add_done_callback(ended)
        self.keep(task)

    def keep(self, task: asyncio.Future[Any]) -> None:
        """Add a task or future, to be cancelled by `stop`."""
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def stop(self) -> None:
        """Cancel all running tasks, and wait until they end or their time is up."""
        tasks = list(self._running)
        for task in tasks:
            self._ended.add(task)
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self._patience)

    async def _watched(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        try:
            await work(*arguments)
        except (CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # also KeyboardInterrupt: the turn's stream raises it
            self.fault = error
            self._wake()
