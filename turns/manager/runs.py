"""A turn that this process runs: it is started or resumed, takes decisions and answers, and is cancelled or left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..agent import Agent
from ..events import TurnEvent
from ..log import LogObserver
from ..machine.inputs import Cancel, Input
from ..observer import Observer
from ..prompts import Prompt
from ..turn import Turn

#: A decision or an answer, applied to a turn.
Act = Callable[[Turn], None]


class Left(Exception):
    """The turn was left open in the log, for another process to resume."""


class Run:
    """One run of a turn. ``task``: the task that runs it. ``turn``: None until the log has its lease.

    ``started``: done when the log has the first event of this run, or when that failed. ``is_ending``: the run accepts
    nothing any more, and its task is about to release the lease.
    """

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.turn: Turn | None = None
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_ending = False
        self._is_needed_again = False
        self._is_leaving = False

    async def drive(self, agent: Agent, recorder: LogObserver, id: str, prompt: Prompt | None, act: Act | None) -> None:
        """Run the turn until it is over, or waits and nothing was applied in the meantime."""
        observers = [_Departure(self), recorder, _Start(self.started), *agent.observers]
        turn = agent.turn(id=id, state=recorder.state, observers=observers)
        if act is not None:
            act(turn)
        self.turn = turn
        try:
            while True:
                self._is_needed_again = False
                await turn.run(prompt)
                prompt = None
                if not self._is_needed_again:
                    return
        finally:
            self.is_ending = True

    def apply(self, act: Act) -> None:
        """Apply a decision or an answer. If it arrives while the run ends, the turn runs once more. Raises TurnMisused.

        A further run of a turn that is over adds nothing.
        """
        assert self.turn is not None
        act(self.turn)
        self._is_needed_again = True

    def stop(self, reason: str | None) -> None:
        """Cancel the turn, so that every call gets a result."""
        if self.turn is None:
            assert self.task is not None
            self.task.cancel()
        else:
            self.apply(lambda turn: turn.cancel(reason))

    def leave(self) -> None:
        """Stop the run and leave the turn open. The log keeps the results that have arrived."""
        assert self.task is not None
        self._is_leaving = True
        self.task.cancel()

    @property
    def is_leaving(self) -> bool:
        """Whether the cancellation of the task must not be recorded."""
        return self._is_leaving


class _Departure(Observer):
    """The first observer. It keeps the cancellation of a run that is left out of the log."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def input(self, input: Input) -> None:
        if self._run.is_leaving and isinstance(input, Cancel):
            raise Left


class _Start(Observer):
    """Signals that the log has an event of the turn. Observers run in order, and the log's recorder comes before."""

    def __init__(self, started: asyncio.Future[None]) -> None:
        self._started = started

    async def event(self, event: TurnEvent) -> None:
        if not self._started.done():
            self._started.set_result(None)
