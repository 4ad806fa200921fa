"""The input queue and the background tasks of a running turn."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

from msgspec import Struct

from .machine.inputs import Input

_Item = TypeVar("_Item")
#: Seconds, in addition to the grace of tools, that tasks have to end when the turn ends.
_PATIENCE = 4.0


class QueuedInputs(Struct):
    """Queued inputs. ``done`` is set when all are processed; if ``paced``, when the consumer has their events, too.

    ``seq``: the number of the next event when they were processed.
    """

    inputs: Sequence[Input]
    done: asyncio.Future[None]
    paced: bool
    seq: int = 0

    def processed(self) -> None:
        """Set ``done`` unless the inputs are paced."""
        if not self.paced:
            self.delivered()

    def delivered(self) -> None:
        """Set ``done``: the consumer of the stream has the events of the inputs."""
        if not self.done.done():
            self.done.set_result(None)


class InputQueue:
    """The queue of one run of a turn. After the run it is not read, and tasks that wait on it are cancelled."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[QueuedInputs] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def call(self, work: Callable[[], object]) -> None:
        """Call ``work`` in the event loop of the run: now, or as soon as possible if this is another thread."""
        if asyncio._get_running_loop() is self._loop:
            work()
        else:
            self._loop.call_soon_threadsafe(work)

    def put(self, inputs: Sequence[Input], *, paced: bool = False) -> asyncio.Future[None]:
        """Queue inputs. Return a future that is set when they are processed. Awaiting it is optional."""
        queued = QueuedInputs(inputs, asyncio.get_running_loop().create_future(), paced)
        self._queue.put_nowait(queued)
        return queued.done

    async def get(self) -> list[QueuedInputs]:
        """Wait until the queue has an entry. Remove and return all entries."""
        return [await self._queue.get(), *self.drain()]

    def drain(self) -> list[QueuedInputs]:
        """Remove and return all entries."""
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]

    def drained_inputs(self) -> list[Input]:
        """Remove all entries, and return their inputs."""
        return [input for entry in self.drain() for input in entry.inputs]

    @property
    def empty(self) -> bool:
        """Whether the queue is empty."""
        return self._queue.empty()


class Tasks:
    """The tasks of one turn. ``wake`` is called when a task raised; the turn then raises its error, `fault`.

    ``grace``: seconds that tools have to clean up when the turn ends.
    """

    def __init__(self, wake: Callable[[], object], grace: float) -> None:
        self.fault: BaseException | None = None
        self._wake = wake
        self._patience = grace + _PATIENCE
        self._running: set[asyncio.Future[Any]] = set()
        self._stopped: WeakSet[asyncio.Future[Any]] = WeakSet()

    def spawn(
        self,
        work: Callable[..., Coroutine[Any, Any, None]],
        *arguments: Any,
        on_lost: Callable[[BaseException], object] | None = None,
    ) -> None:
        """Start a task. ``on_lost`` is called if other code cancels it, so that the turn does not wait for it forever.

        A GeneratorExit from an awaited future also ends the task, and no coroutine inside the task can prevent that.
        """
        task = asyncio.create_task(self._guarded(work, *arguments))

        def ended(task: asyncio.Future[Any]) -> None:
            error = CancelledError("the task was cancelled") if task.cancelled() else task.exception()
            if on_lost is not None and error is not None and task not in self._stopped:
                on_lost(error)

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
            self._stopped.add(task)
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self._patience)

    async def _guarded(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        try:
            await work(*arguments)
        except (CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # also KeyboardInterrupt: the turn's stream raises it
            self.fault = error
            self._wake()


async def each(process: Callable[[_Item], Awaitable[object]], items: Sequence[_Item]) -> None:
    """Call ``process`` with each item, even after an observer failed. Raise the first error at the end."""
    failed: Exception | None = None
    for item in items:
        try:
            await process(item)
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise failed
