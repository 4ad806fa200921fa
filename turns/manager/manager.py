"""Runs the turns of a server: start, resume, decide, answer, cancel, subscribe, list and clean up.

    async with TurnManager(log, agent) as manager:
        id = await manager.start("Is there a boat on Friday?", conversation="c-1", user="ana")
        async for piece in manager.subscribe(id):  # server-sent events
            ...

A turn runs in a task of the manager, not in that of a client, and everything that others may know of it is in the log.
So a client that disconnects ends nothing, any process can show a turn, and another process can resume one that waits or
whose process has ended.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self

from msgspec import Struct

from .. import sse
from ..agent import Agent
from ..errors import LogFailed, TurnHeld, TurnMisused, UnknownTurn
from ..log import Log, TurnRow
from ..machine.state import TurnState
from ..outcome import Waiting, outcome_of
from ..prompts import Prompt
from .hub import Hub
from .runs import Act, Left, Run

_log = logging.getLogger("toolparity")
_STOPPED = "the program was stopped"
#: How many turns `resume_left` resumes at once, so that one that waits delays no other.
_RESUMED_AT_ONCE = 8


class TurnOrigin(Struct, frozen=True):
    """A turn for which an agent is needed. ``state``: the saved state of a turn that resumes, None for a new one."""

    id: str
    conversation: str | None
    user: str | None
    state: TurnState | None = None


class TurnStatus(TurnRow, frozen=True):
    """A turn as the log has it. ``running``: this process runs it. ``text``: the answer of a turn that is over.

    ``waiting``: the calls that wait for a decision or a result.
    """

    running: bool
    text: str
    waiting: list[Waiting]


#: One agent for all turns, or a function that returns the agent of a turn.
AgentSource = Agent | Callable[[TurnOrigin], Agent | Awaitable[Agent]]


class TurnManager:
    """Runs turns and records them in a log. Use one in each process, in one event loop.

    ``on_exit``: what happens to running turns when the context ends. "cancel" ends them, and every call gets a result.
    "leave" stops them and leaves them open, for another process to resume. ``resume_every``: seconds between two calls
    of `resume_left` while the context is open, None for never.
    """

    def __init__(
        self,
        log: Log,
        agent: AgentSource,
        *,
        on_exit: Literal["cancel", "leave"] = "cancel",
        resume_every: float | None = None,
    ) -> None:
        self.log = log
        self._agent = agent
        self._on_exit = on_exit
        self._resume_every = resume_every
        self._hub = Hub(log)
        self._runs: dict[str, Run] = {}
        self._failed: set[str] = set()  # turns that failed here: this process does not resume them by itself
        self._resuming: asyncio.Task[None] | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        if self._resume_every is not None:
            self._resuming = asyncio.create_task(self._keep_resuming(self._resume_every), name="resuming turns")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        if self._resuming is not None:
            self._resuming.cancel()
            await asyncio.wait([self._resuming])
        runs = list(self._runs.values())
        for run in runs:
            if self._on_exit == "leave":
                run.leave()
            else:
                run.stop(_STOPPED)
        if runs:
            await asyncio.wait([run.task for run in runs if run.task is not None])

    # running turns

    async def start(
        self, message: Prompt, *, conversation: str | None = None, user: str | None = None, id: str | None = None
    ) -> str:
        """Start a turn, and return its id as soon as the log has its first event.

        ``conversation``: of the last turn of this conversation, the new one continues the history, and then the message
        must be text. None begins a conversation, whose id is that of the turn. ``user``: their conversations are apart
        from those of others; None for the only user of the conversation. ``id``: random by default.

        Raises TurnMisused if the last turn is not over, or if ``user`` is None and several users have such a one;
        TurnHeld if another turn continues it at the same time or has this id, and LogFailed.
        """
        id = id or uuid.uuid4().hex
        position = 0
        if conversation is not None:
            message, position, user = await self._continued(message, conversation, user)
        origin = TurnOrigin(id, conversation or id, user)
        agent = await self._agent_of(origin)

        async def work(run: Run) -> None:
            recording = self.log.record(user=user, conversation=origin.conversation, position=position)
            async with recording as recorder:
                await run.drive(agent, recorder, id, message, None)

        await self._spawn(id, work)
        return id

    async def resume(self, id: str) -> None:
        """Resume a turn that waits, or that its process has left. Return when it runs.

        Raises TurnMisused if it runs here or is over, TurnHeld if another process runs it, and UnknownTurn.
        """
        await self._resume(id, None)

    async def decide(self, id: str, call_id: str, approved: bool, reason: str | None = None) -> None:
        """Approve or deny a call that waits for a decision. A turn that does not run is resumed.

        Raises TurnMisused if the call does not wait for a decision, TurnHeld if another process runs the turn, and
        UnknownTurn.
        """
        await self._apply(id, lambda turn: turn.decide(call_id, approved, reason))

    async def answer(self, id: str, call_id: str, value: Any) -> None:
        """Supply the result of a call that was handed over, or an exception. A turn that does not run is resumed.

        Raises TurnMisused if the call does not wait for a result, TurnHeld if another process runs the turn, and
        UnknownTurn.
        """
        await self._apply(id, lambda turn: turn.answer(call_id, value))

    async def cancel(self, id: str, reason: str | None = None) -> bool:
        """Cancel a turn; every open call gets a result. Return False if the turn is over.

        ``reason`` goes into the results of calls that did not start. Raises TurnHeld if another process runs the turn,
        and UnknownTurn.
        """
        run = await self._running(id)
        if run is not None and run.turn is not None:
            if run.turn.state.phase == "over":
                return False
            run.stop(reason)
            return True
        if (await self.log.row(id)).status == "over":
            return False
        await self.log.close(id, reason)
        return True

    async def resume_left(self) -> list[str]:
        """Resume the open turns that no process runs, as after a crash, and return their ids.

        The turns of a process that was killed are among them once their leases have expired. A turn that failed in this
        process is not resumed again.
        """
        ids = iter(await self.log.left())
        resumed: list[str] = []

        async def work() -> None:
            for id in ids:  # the next one that no other worker has taken
                if id not in self._runs and id not in self._failed and await self._resume_one_left(id):
                    resumed.append(id)

        await asyncio.gather(*(work() for _ in range(_RESUMED_AT_ONCE)))
        return resumed

    async def _resume_one_left(self, id: str) -> bool:
        try:
            await self.resume(id)
            return True
        except (TurnHeld, TurnMisused):
            pass  # another process was first, or it is over now
        except UnknownTurn:
            with suppress(TurnHeld, UnknownTurn):
                await self.log.close(id)  # its process ended before the first step
        except LogFailed:
            raise
        except Exception:
            self._failed.add(id)
            _log.exception("turn %s cannot be resumed", id)
        return False

    # reading

    async def status(self, id: str) -> TurnStatus:
        """Return the status of a turn. Raises UnknownTurn."""
        logged = await self.log.turn(id)
        outcome = outcome_of(logged.state) if logged.state is not None else None
        return TurnStatus(
            **{name: getattr(logged, name) for name in TurnRow.__struct_fields__},
            running=id in self._runs,
            text=outcome.text if outcome is not None else "",
            waiting=outcome.waiting if outcome is not None else [],
        )

    async def turns(
        self,
        *,
        status: str | None = None,
        conversation: str | None = None,
        user: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[TurnRow]:
        """Return the turns with these values, newest first. ``before``: the last id of the page before."""
        return await self.log.rows(status, conversation=conversation, user=user, before=before, limit=limit)

    def subscribe(self, id: str, last_event_id: str | int | None = None) -> AsyncIterator[bytes]:
        """Return the server-sent events of a turn after ``last_event_id`` (the unchanged header), until it is over.

        All subscribers of a turn share one reader of the log. Raises UnknownTurn at the first piece.
        """
        return sse.events(self._hub, id, last_event_id, poll=sse.HEARTBEAT)

    async def has_ended(self, id: str, last_event_id: str | int | None = None) -> bool:
        """Return whether the turn is over and no event follows ``last_event_id``. Raises UnknownTurn."""
        return await sse.over(self._hub, id, last_event_id)

    async def clean_up(self, older_than: float) -> list[str]:
        """Delete the turns that have been over for ``older_than`` seconds, and return their ids."""
        return await self.log.clean_up(older_than)

    # runs

    async def _continued(self, message: Prompt, conversation: str, user: str | None) -> tuple[Prompt, int, str | None]:
        """Return the prompt of the next turn of a conversation, its position, and its user."""
        last = await self.log.last(conversation, user)
        if last is None:
            return message, 0, user
        if last.status != "over" or last.state is None:
            raise TurnMisused(
                "the last turn of the conversation is not over", where=last.id, hint="resume or cancel it"
            )
        if not isinstance(message, str):
            raise TurnMisused("a later message of a conversation must be text", hint="begin another conversation")
        assert last.position is not None
        return outcome_of(last.state).next(message), last.position + 1, last.user

    async def _agent_of(self, origin: TurnOrigin) -> Agent:
        if isinstance(self._agent, Agent):
            return self._agent
        agent = self._agent(origin)
        return await agent if inspect.isawaitable(agent) else agent

    async def _apply(self, id: str, act: Act) -> None:
        run = await self._running(id)
        if run is None:
            await self._resume(id, act)
        else:
            run.apply(act)

    async def _resume(self, id: str, act: Act | None) -> None:
        async def work(run: Run) -> None:
            async with self.log.take(id) as recorder:
                state = recorder.state
                if state is None or state.phase == "over":
                    raise TurnMisused("the turn is over", where=id)
                row = await self.log.row(id)
                agent = await self._agent_of(TurnOrigin(id, row.conversation, row.user, state))
                await run.drive(agent, recorder, id, None, act)

        await self._spawn(id, work)

    async def _running(self, id: str) -> Run | None:
        """Return the run of a turn once it has started, None if the turn does not run here or has just ended."""
        while (run := self._runs.get(id)) is not None:
            if run.is_ending:
                await asyncio.wait([run.task] if run.task is not None else [])
            elif not run.started.done():
                await asyncio.wait([run.started])
            else:
                return run
        return None

    async def _spawn(self, id: str, work: Callable[[Run], Awaitable[None]]) -> None:
        """Run ``work`` in a task, and return when its turn has started. Raises the error that prevents it."""
        if await self._running(id) is not None:
            raise TurnMisused("the turn is running", where=id)
        if self._is_closed:
            raise TurnMisused("the manager is closed")
        run = self._runs[id] = Run()
        run.task = asyncio.create_task(self._run(id, run, work), name=f"turn {id}")
        await asyncio.shield(run.started)  # a caller that is cancelled does not cancel the turn

    async def _run(self, id: str, run: Run, work: Callable[[Run], Awaitable[None]]) -> None:
        error: BaseException | None = None
        try:
            await work(run)
        except Left:
            error = TurnMisused("the manager is closed")
            _log.info("turn %s is left for another process", id)
        except asyncio.CancelledError:
            error = TurnMisused("the manager is closed")
            raise
        except Exception as failure:
            error = failure
            if run.started.done() and isinstance(failure, TurnHeld):
                _log.warning("another process has taken turn %s", id)
            elif run.started.done():
                _log.exception("turn %s stopped", id)
                if not isinstance(failure, LogFailed):
                    self._failed.add(id)
        finally:
            run.is_ending = True
            del self._runs[id]
            if not run.started.done():
                if error is None:
                    run.started.set_result(None)
                else:
                    run.started.set_exception(error)
                    run.started.exception()  # the caller may have been cancelled

    async def _keep_resuming(self, seconds: float) -> None:
        while True:
            try:
                await self.resume_left()
            except LogFailed:
                _log.exception("the turns that were left cannot be resumed now")
            await asyncio.sleep(seconds)
