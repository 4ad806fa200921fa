"""Observer that writes one turn to the log while it runs, under a lease that excludes other runners.

The steps of a group share a transaction: their events, and the last state that must be saved. Each transaction first
checks that this observer still owns the turn, and that its first event has the next number in the log. So the log never
holds a state without the events before it, and a runner that lost its lease cannot write.

A transaction stores only new data: a state as its difference from the state before, and a long value that is already
stored as a reference. So the amount of data grows linearly with the turn. A transaction may be retried after a broken
connection: it then detects whether the database has already committed it.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import asdict, replace
from sqlalchemy import Connection

from toolparity.normalizer import json_codec

from ..errors import InvalidState, LogFailed, TurnHeld
from ..events import (
    CallProgress,
    Noted,
    RoundStarted,
    TurnBlockDelta,
    TurnBlockReset,
    TurnBlockRevised,
    TurnBlockStart,
    TurnBlockStop,
    TurnComplete,
    TurnEvent,
    TurnFailed,
    TurnStarted,
)
from ..machine.inputs import AnswerFailed, Input
from ..machine.state import TurnState
from ..observer import Observer, Step
from ..secrets import storable
from .batch import Batch, Statement
from .changes import changes
from .database import Database
from .listing import unknown, unlocked
from .parts import Parts
from .rows import block_row, call_rows, event_row, state_of
from .steps import StepRow, Steps
from .tables import states, steps, turns

#: Events that may be lost if the machine crashes: a resumed turn sends the request of an unfinished round again. A
#: block of a result or of a whole answer is written with a state.
_SOFT = (TurnBlockStart, TurnBlockDelta, TurnBlockReset, TurnBlockStop, TurnBlockRevised, CallProgress, Noted)
#: Seconds until a session that was ended has released its locks, and between two attempts to take its turn.
_ENDING, _PAUSE = 1.0, 0.05

#: A statement and its rows.
_Insert = tuple[Statement, list[dict[str, Any]]]


class _Transaction(Struct, frozen=True):
    """A transaction of a turn. ``number``: from 1. ``expected``: the number of the turn's next event, None for a new
    turn. ``first``: the number of the first of ``events``.
    """

    number: int
    turn: str
    expected: int | None
    first: int
    events: Sequence[TurnEvent]
    state: TurnState | None

    @property
    def next_seq(self) -> int:
        """The number of the next event after this transaction."""
        return self.events[-1].seq + 1 if self.events else self.first

    @property
    def usage(self) -> dict[str, Any]:
        """The columns of the usage and the cost so far."""
        state = self.state
        last = self.events[-1] if self.events else None
        usage = state.usage if state is not None else getattr(last, "usage", None)
        prices = state.settings.prices if state is not None else None
        return {
            "input_tokens": usage.input_tokens if usage is not None else None,
            "output_tokens": usage.output_tokens if usage is not None else None,
            "cost": prices.cost(usage) if prices is not None else None,
        }

    @property
    def status(self) -> tuple[str, str | None] | None:
        """The new status and termination of the turn, None if neither changes.

        The status is "open", "waiting" (the turn needs a decision or a result from outside), or "over".
        """
        state = self.state
        if state is None:
            last = self.events[-1] if self.events else None
            return ("over", last.termination_reason) if isinstance(last, (TurnComplete, TurnFailed)) else None
        if state.phase == "over":
            return "over", state.termination
        open_calls = [call for call in state.rounds[-1].calls if not call.settled] if state.phase == "acting" else []
        waits = any(call.waits for call in open_calls) and not any(call.submitted for call in open_calls)
        return ("waiting" if waits else "open"), None


class Membership(Struct, frozen=True):
    """Where a new turn belongs. ``position``: its number in the conversation, from 0."""

    user: str | None = None
    conversation: str | None = None
    position: int = 0


_NONE = Membership()


class LogObserver(Observer):
    """The observer of one turn. `Log.record` and `Log.take` create it.

    ``turn``: the id of the turn, None before the first event of a new turn. ``state``: the state to resume from, None
    for a new turn. Writing raises TurnHeld if another runner owns the turn or another turn has its position in the
    conversation, InvalidState if the events do not continue those in the log, and LogFailed.
    """

    def __init__(
        self, database: Database, notify: Callable[[str], None], lease: float, membership: Membership = _NONE
    ) -> None:
        self.turn: str | None = None
        self.state: TurnState | None = None
        self._database = database
        self._notify = notify
        self._statements = database.statements
        self._lease = lease
        self._membership = membership
        self._owner = uuid.uuid4().hex
        self._next_seq: int | None = None  # the number of the next event; None while the turn has no row
        self._transactions = 0  # of this turn
        self._holds = True  # the lease: the transaction that ends the turn releases it
        self._is_released = False  # that transaction is on disk
        self._saved: TurnState | None = None  # the last state that was written
        self._state_number = 0
        self._parts = Parts()
        self._steps = Steps()
        self._renewal: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._renewal = asyncio.create_task(self._renew(), name="lease of a turn")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
        with suppress(LogFailed):  # then the lease expires
            await self._release()

    async def input(self, input: Input) -> None:
        """Note an input of the machine. The next `record` writes it with its events."""
        self._steps.add(_storable_input(input))

    async def event(self, event: TurnEvent) -> None:
        """Write one event."""
        await self.record([event], None)

    async def save(self, state: TurnState) -> None:
        """Write the state."""
        await self.record([], state)

    async def record(self, events: Sequence[TurnEvent], state: TurnState | None) -> None:
        """Write the noted inputs, the events, their blocks and the state like `record_steps`."""
        await self.record_steps([Step(None, events, state)])

    async def record_steps(self, steps: Sequence[Step]) -> None:
        """Write the steps in one transaction: their inputs, their events with the blocks, and the last state.

        Raises LogFailed also if the database does not answer in time. The write then stays in the queue: unless it
        begins a new turn, it happens as soon as the database answers, while this process lives.
        """
        events = [event for step in steps for event in step.events]
        state = next((step.state for step in reversed(steps) if step.state is not None), None)
        if not events and state is None:
            for step in steps:
                if step.input is not None:
                    await self.input(step.input)
            return
        turn = self.turn = self.turn or _turn_of(events, state)
        state = _storable_state(state) if state is not None else None
        first = events[0].seq if events else self._next_seq or 0
        self._transactions += 1
        transaction = _Transaction(self._transactions, turn, self._next_seq, first, events, state)
        self._holds = self._holds and (transaction.status or ("open",))[0] != "over"
        # The database writes queued jobs in order, even after LogFailed. So the next event number is already certain.
        self._next_seq = transaction.next_seq
        inserts = self._inserts(transaction, steps)

        def write(batch: Batch) -> None:
            begins_turn = transaction.expected is None
            is_new = self._insert(batch, transaction) if begins_turn else self._advance(batch, transaction)
            for statement, rows in inserts if is_new else ():
                if statement is self._statements.void:
                    batch.flush()  # it deletes rows that an earlier statement inserted
                batch.add(statement, rows)

        soft = state is None and all(isinstance(event, _SOFT) for event in events)
        try:
            await self._database.write(write, turn, soft=soft, first=transaction.expected is None)
            self._is_released = not self._holds
        finally:
            self._notify(turn)

    def _inserts(self, transaction: _Transaction, given: Sequence[Step]) -> list[_Insert]:
        """Return the statements of a transaction, each with its rows. Retries of the transaction reuse them."""
        turn, events, state = transaction.turn, transaction.events, transaction.state
        statements, pack = self._statements, self._parts.pack
        own = {"turn_id": turn}
        inserts: list[_Insert] = []
        if events:
            rows = [event_row(event) for event in events]
            inserts.append(
                (statements.event, [{**own, "seq": row.seq, "type": row.type, "data": pack(row.data)} for row in rows])
            )
        blocks: list[dict[str, Any]] = []
        for event in events:
            if isinstance(event, (TurnBlockStop, TurnBlockRevised)):
                block = block_row(event.block, event.round, isinstance(event, TurnBlockStop) and event.cut)
                block["exact"] = None if block["exact"] is None else pack(block["exact"])
                blocks.append(own | block)
            elif isinstance(event, RoundStarted) and event.attempt > 1:
                inserts.append((statements.block, blocks))
                inserts.append((statements.void, [{**own, "turn": turn, "first_block": event.first_block}]))
                blocks = []
        inserts.append((statements.block, blocks))
        begins_with: int | None = None
        ends_with: int | None = None
        if state is not None:
            inserts.append((statements.call, [own | row for row in call_rows(self._saved, state)]))
            initial = [_initial(self.state, state)] if self._steps.begins(given) else []
            begins_with = self._state_number + len(initial)
            inserts.append((statements.state, [own | self._change(saved) for saved in (*initial, state)]))
            ends_with = self._state_number
        steps: list[StepRow] = []
        seq = transaction.first
        last = max((number for number, step in enumerate(given) if step.state is not None), default=None)
        for number, (input, step_events, step_state) in enumerate(given):
            if input is not None:
                self._steps.add(_storable_input(input))
            if step_events or step_state is not None:
                steps += self._steps.rows(seq, step_events, begins_with, ends_with if number == last else None)
                seq += len(step_events)
        inserts.append((statements.step, [{**own, **asdict(step), "input": pack(step.input)} for step in steps]))
        if parts := self._parts.take():
            inserts.insert(0, (statements.part, [own | part for part in parts]))
        return [insert for insert in inserts if insert[1]]

    def _change(self, state: TurnState) -> dict[str, Any]:
        """Return the row of the next state, and advance its number."""
        changed = json_codec.text(changes(self._saved, state))
        self._saved, self._state_number = state, self._state_number + 1
        return {"number": self._state_number, "seq": state.seq, "change": self._parts.pack(changed)}

    async def claim(self, turn: str, *, force: bool = False) -> None:
        """Take the lease of an existing turn and load its state.

        ``force``: take it even from a runner whose lease has not expired; pass it only if that runner is dead.
        Raises UnknownTurn, TurnHeld, InvalidState for a state that this program cannot load, and LogFailed.
        """
        claimed: list[Any] = []  # the row, or None if another transaction locks it
        is_ending = False

        def write(batch: Batch) -> None:
            nonlocal is_ending
            now = self._database.now()
            mine = turns.c.owner == self._owner  # an earlier attempt was committed, but its confirmation was lost
            is_free = sa.true() if force else sa.or_(turns.c.owner.is_(None), turns.c.lease_until <= now, mine)
            update = sa.update(turns).where(turns.c.id.in_(unlocked(turns.c.id == turn, is_free)))
            update = update.values(owner=self._owner, lease_until=now + self._lease)
            row = batch.connection.execute(update.returning(turns.c.seq, turns.c.written)).first()
            if row is None:
                query = sa.select(is_free, turns.c.lease_until - now).where(turns.c.id == turn)
                free, left = batch.connection.execute(query).first() or (None, 0.0)
                if free is None:
                    raise unknown(turn)
                if not free:
                    hint = f"its lease ends in {left:.0f} s unless it is renewed; force=True if the runner is dead"
                    raise TurnHeld(f"another runner holds turn {turn!r}", hint=hint)
                is_ending = self._database.end_idle(batch.connection) or is_ending
            claimed[:] = [row]

        await self._database.write_apart(write, turn)
        end = time.monotonic() + (self._database.patience if force else _ENDING)
        while claimed[0] is None and (force or is_ending) and time.monotonic() < end:
            await asyncio.sleep(_PAUSE)
            await self._database.write_apart(write, turn)
        if claimed[0] is None:
            raise TurnHeld(f"another transaction locks turn {turn!r}", hint="its process may be stopped: try again")
        self.turn, (self._next_seq, self._transactions) = turn, claimed[0]
        try:
            step_number, self._state_number, stored = await self._database.read(lambda c: _last(c, turn))
        except BaseException:
            with suppress(LogFailed):
                await self._release()
            raise
        state, is_current = stored or (None, True)
        self._saved = state if is_current else None  # the next change is then the whole state
        if state is not None:
            # Clients may have seen events that came after this state, so their numbers are not used again.
            state = replace(state, seq=max(state.seq, self._next_seq))
        self.state = state
        self._steps = Steps(step_number)

    async def _release(self) -> None:
        def write(batch: Batch) -> None:
            batch.add(self._statements.release, [{"turn": self.turn, "mine": self._owner}])

        if self.turn is not None and self._next_seq is not None and not self._is_released:
            await self._database.write(write, self.turn, soft=True)  # if it is lost, the lease expires

    async def _renew(self) -> None:
        lost: list[bool] = []

        def write(batch: Batch) -> None:
            mine = {"turn": self.turn, "mine": self._owner, "lease": self._lease}
            done = batch.connection.execute(self._statements.renew, {**mine, **self._database.times()})
            lost[:] = [done.rowcount == 0]

        while True:
            await asyncio.sleep(self._lease / 3)
            if self._holds and self.turn is not None and self._next_seq is not None:
                with suppress(LogFailed):  # retried at the next renewal
                    await self._database.write(write, self.turn, soft=True)
                    if lost[0]:
                        return  # the next write raises TurnHeld

    def _insert(self, batch: Batch, transaction: _Transaction) -> bool:
        """Insert the turn. Return False if an earlier attempt was already committed (see `_is_written`).

        In a shared transaction only the insert is added: if the turn exists, each job runs without others.
        """
        turn, state = transaction.turn, transaction.state
        if transaction.first != 0:
            raise InvalidState(f"the first event of a turn must be number 0, got {transaction.first}", where=turn)
        started = next((event for event in transaction.events if isinstance(event, TurnStarted)), None)
        status, termination = transaction.status or ("open", None)
        row = {
            "id": turn,
            "status": status,
            "wire": state.wire if state is not None else started.wire if started is not None else "",
            "policy": state.settings.policy if state is not None else started.policy if started is not None else "",
            "termination": termination,
            "seq": transaction.next_seq,
            "owner": self._owner,
            "written": 1,
            "conversation": self._membership.conversation,
            "position": self._membership.position if self._membership.conversation is not None else None,
            "user_id": self._membership.user or "",
            **transaction.usage,
            "lease": self._lease if self._holds else 0.0,
            **self._database.times(),
        }
        if batch.shared:
            batch.change(self._statements.begin, row)
            return True
        if batch.changes(self._statements.begin, row):
            return True
        if self._is_written(batch.connection, transaction):
            return False
        if batch.connection.scalar(sa.select(turns.c.id).where(turns.c.id == turn)) is None:
            what = f"another turn continues the conversation {self._membership.conversation!r}"
            raise TurnHeld(what, where=turn, hint="start the turn again when that one is over")
        raise TurnHeld(f"the log already has turn {turn!r}", hint="take it, or give the new turn another id")

    def _advance(self, batch: Batch, transaction: _Transaction) -> bool:
        """Update the turn's row, if this observer still owns it and its next event has the expected number.

        Return False if an earlier attempt was already committed. Raises InvalidState and TurnHeld. In a shared
        transaction only the update is added: if it does not find the row, each job runs without others.
        """
        turn, expected = transaction.turn, transaction.expected
        values: dict[str, Any] = {"turn": turn, "mine": self._owner}
        values |= {"first": expected, "before": transaction.number - 1}
        lease = self._lease if self._holds else 0.0
        values |= {"next_seq": transaction.next_seq, "lease": lease, **self._database.times()}
        statement, status = self._statements.advance, transaction.status
        if status is not None:
            statement = self._statements.settle
            values["now_status"], values["now_termination"] = status
            values |= {f"now_{name}": value for name, value in transaction.usage.items()}
        if transaction.first == expected:
            if batch.shared:
                batch.change(statement, values)
                return True
            if batch.changes(statement, values):
                return True
            if self._is_written(batch.connection, transaction):
                return False
        row = batch.connection.execute(sa.select(turns.c.owner, turns.c.seq).where(turns.c.id == turn)).first()
        if row is not None and row.owner == self._owner:
            raise InvalidState(f"the next event must be number {row.seq}, got {transaction.first}", where=turn)
        raise TurnHeld(f"another runner took over turn {turn!r}", hint="stop running it here")

    def _is_written(self, connection: Connection, transaction: _Transaction) -> bool:
        """Return whether an earlier attempt of the transaction was committed, but its confirmation was lost."""
        query = sa.select(turns.c.owner, turns.c.written).where(turns.c.id == transaction.turn)
        row = connection.execute(query).first()
        return row is not None and row.owner == self._owner and row.written >= transaction.number


def _storable_input(input: Input) -> Input:
    if isinstance(input, AnswerFailed):
        input = replace(input, error=storable(input.error))
    response = getattr(input, "response", None)
    return replace(input, response=storable(response)) if response is not None else input


def _storable_state(state: TurnState) -> TurnState:
    if state.error is not None:
        state = replace(state, error=storable(state.error))
    last = state.rounds[-1] if state.rounds else None
    if last is not None and last.response is not None and last.response.error is not None:
        state = replace(state, rounds=[*state.rounds[:-1], replace(last, response=storable(last.response))])
    return state


def _turn_of(events: Sequence[TurnEvent], state: TurnState | None) -> str:
    if state is not None:
        return state.id
    if events and isinstance(events[0], TurnStarted):
        return events[0].turn
    raise InvalidState("the first event of a turn must be turn_started")


def _last(connection: Connection, turn: str) -> tuple[int, int, tuple[TurnState, bool] | None]:
    """Return the number of the next step, that of the last state, and the state (see `state_of`)."""
    last_step = connection.scalar(sa.select(sa.func.max(steps.c.number)).where(steps.c.turn_id == turn))
    last_state = connection.scalar(sa.select(sa.func.max(states.c.number)).where(states.c.turn_id == turn))
    return (last_step or 0) + 1, last_state or 0, state_of(connection, turn)


def _initial(before: TurnState | None, state: TurnState) -> TurnState:
    """Return the state before the first step, whose request and wire may differ from ``before`` after a hand-over."""
    if before is None:
        return state.initial
    return replace(before, wire=state.wire, request=state.request)
