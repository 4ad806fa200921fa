"""The queue of inputs for the machine. A sender can wait until its inputs are processed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from .machine.inputs import Input


class QueuedInputs(Struct):
    """Queued inputs. ``dealt`` is set when all are processed; if ``paced``, when the consumer has their events, too."""

    inputs: Sequence[Input]
    dealt: asyncio.Future[None]
    paced: bool = False

    def told(self) -> None:
        """Mark the inputs as processed. Sets ``dealt`` unless ``paced``."""
        if not self.paced:
            self.taken()

    def taken(self) -> None:
        """Mark the events of the inputs as delivered to the consumer of the stream. Sets ``dealt``."""
        if not self.dealt.done():
            self.dealt.set_result(None)


class InputQueue:
    """The queue of one run of a turn. After the run it is not read, and tasks that wait on it are cancelled."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[QueuedInputs] = asyncio.Queue()

    def post(self, inputs: Sequence[Input], *, paced: bool = False) -> asyncio.Future[None]:
        """Queue inputs. Return a future that is set when they are processed. Awaiting it is optional."""
        posted = QueuedInputs(inputs, asyncio.get_running_loop().create_future(), paced)
        self._queue.put_nowait(posted)
        return posted.dealt

    async def take(self) -> QueuedInputs:
        """Wait for the oldest entry, and remove and return it."""
        return await self._queue.get()

    def rest(self) -> list[Input]:
        """Remove and return all queued inputs."""
        found: list[Input] = []
        while self._queue.qsize():
            found.extend(self._queue.get_nowait().inputs)
        return found

    @property
    def empty(self) -> bool:
        """Whether the queue is empty."""
        return self._queue.empty()
