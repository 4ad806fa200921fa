"""Starts, resumes and cancels the turns of the demo. The page reads their events from the log only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import Struct

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.turns.errors import TurnMisused
from toolparity.normalizer.turns.events import TurnEvent
from toolparity.normalizer.turns.log import Log
from toolparity.normalizer.turns.observer import Observer
from toolparity.normalizer.turns.outcome import outcome_of
from toolparity.normalizer.turns.turn import Turn

from .factory import TurnFactory, TurnRequest, new_id, request_of_logged_turn
from .trace import Trace

_log = logging.getLogger("toolparity")

#: The number of turns whose traces are stored.
_STORED = 200
_CANCELLED = "the user cancelled"


class TurnStatus(Struct, frozen=True):
    """``status``: open, waiting or over. ``running``: this process runs it. ``held``: a process holds its lease."""

    status: str
    running: bool
    held: bool


class Sessions:
    """Holds the running turns. Create, use and close it in one event loop."""

    def __init__(self, log: Log, factory: TurnFactory) -> None:
        self.log = log
        self.acts = factory.acts
        self.surfaces = list(factory.clients)
        self._factory = factory
        self._turn_requests: dict[str, TurnRequest] = {}
        self._traces: dict[str, Trace] = {}
        self._turns: dict[str, Turn] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._decided: set[str] = set()

    async def start(self, turn_request: TurnRequest) -> str:
        """Start a turn. Return its id as soon as the log has its first event. Raises ToolparityError."""
        request = await self._request(turn_request)
        id = new_id(turn_request)
        self._store_request(id, turn_request)
        started = _Started()

        def make(recorder: Observer) -> Turn:
            settings: dict[str, Any] = {"policy": turn_request.policy, "limit": turn_request.limit}
            if turn_request.narrator:
                settings["on_all_failed"] = "answer"  # the narrator reports the failure, too
            return self._turn(id, request, recorder, started, **settings)

        self._spawn(id, self._first(id, make, request), started)
        await started.wait()
        return id

    async def decide(self, id: str, call_id: str, approved: bool, reason: str | None = None) -> None:
        """Approve or deny a call of a turn; a turn that is not running is resumed. Raises ToolparityError."""
        self._decided.add(id)
        if id in self._turns:
            self._turns[id].decide(call_id, approved, reason)
        else:
            await self.resume(id, (call_id, approved, reason))

    async def resume(self, id: str, decision: tuple[str, bool, str | None] | None = None) -> None:
        """Resume a turn that waits for a decision, or that a crash interrupted. Raises ToolparityError."""
        if id in self._tasks:
            await asyncio.wait([self._tasks[id]])
        logged = await self.log.turn(id)
        if logged.state is None or logged.status == "over":
            raise TurnMisused("the turn is over", where=id)
        waiting = [call.id for call in logged.state.waiting]
        if decision is not None and decision[0] not in waiting:
            raise TurnMisused(f"the call {decision[0]!r} does not wait for a decision", where=id)
        started = _Started()
        self._spawn(id, self._again(id, decision, started), started)
        await started.wait()

    async def cancel(self, id: str) -> bool:
        """Cancel a turn; every call gets a result. Return False if the turn is over. Raises ToolparityError."""
        turn = self._turns.get(id)
        if turn is None:  # it waits, or a crash interrupted it
            if id in self._tasks:
                await asyncio.wait([self._tasks[id]])
            if (await self.log.turn(id)).status == "over":
                return False
            await self.log.close(id, _CANCELLED)
            return True
        if turn.state.phase == "over":
            return False
        turn.cancel(_CANCELLED)
        return True

    async def status(self, id: str) -> TurnStatus:
        """Return the status of a turn. Raises UnknownTurn."""
        logged = await self.log.turn(id)
        return TurnStatus(logged.status, id in self._turns, logged.held)

    def trace(self, id: str) -> Trace | None:
        """Return the trace of a turn, as far as this process ran it, or None if it has been removed."""
        return self._traces.get(id)

    async def aclose(self) -> None:
        """Cancel the running turns."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # running turns

    async def _first(self, id: str, make: Callable[[Observer], Turn], request: Request) -> None:
        async with self.log.record() as recorder:
            await self._run(id, make(recorder), request)

    async def _again(self, id: str, decision: tuple[str, bool, str | None] | None, started: Observer) -> None:
        async with self.log.take(id) as recorder:
            state = recorder.state
            assert state is not None  # `take` raises otherwise
            turn = self._turn(id, state.request, recorder, started, state=state)
            if decision is not None:
                turn.decide(*decision)
            await self._run(id, turn, None)

    async def _run(self, id: str, turn: Turn, request: Request | None) -> None:
        """Run the turn until it is over, or waits and no decision arrived in the meantime."""
        self._turns[id] = turn
        try:
            while True:
                self._decided.discard(id)
                outcome = await turn.run(request)
                request = None
                if not outcome.waiting or id not in self._decided:
                    return
        finally:
            del self._turns[id]

    def _spawn(self, id: str, work: Coroutine[Any, Any, None], started: _Started) -> None:
        task = self._tasks[id] = asyncio.create_task(work, name=f"turn {id}")

        def done(task: asyncio.Task[None]) -> None:
            if self._tasks.get(id) is task:
                del self._tasks[id]
            error = None if task.cancelled() else task.exception()
            if error is not None:
                _log.error("turn %s stopped", id, exc_info=error)
            started.over(error)

        task.add_done_callback(done)

    def _turn(self, id: str, request: Request, *observers: Observer, **settings: Any) -> Turn:
        turn_request = self._turn_requests.get(id) or request_of_logged_turn(id, request)
        trace = self._traces.setdefault(id, Trace())
        return self._factory.turn(id, turn_request, request, trace, observers, **settings)

    async def _request(self, turn_request: TurnRequest) -> Request:
        if turn_request.after is None:
            return self._factory.request(turn_request)
        logged = await self.log.turn(turn_request.after)
        if logged.state is None or logged.status != "over":
            raise TurnMisused("the previous turn is not over", where=turn_request.after)
        return outcome_of(logged.state).next(turn_request.message)

    def _store_request(self, id: str, turn_request: TurnRequest) -> None:
        self._turn_requests[id] = turn_request
        self._traces[id] = Trace()
        for stored in (self._turn_requests, self._traces):
            while len(stored) > _STORED:
                del stored[next(iter(stored))]


class _Started(Observer):
    """Signals that the log has the first event of a turn.

    Observers run in order, and the log's recorder comes first.
    """

    def __init__(self) -> None:
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def event(self, event: TurnEvent) -> None:
        self.over(None)

    def over(self, error: BaseException | None) -> None:
        """Resolve the signal, with the error if there is one."""
        if self._started.done():
            return
        if error is None:
            self._started.set_result(None)
        else:
            self._started.set_exception(error)

    async def wait(self) -> None:
        """Wait for the first event. Raises the error that prevented the turn from starting."""
        await self._started
