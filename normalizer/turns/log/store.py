"""The log of turns: who may write one, what stands in it, and how a turn that a crash left is brought to an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import URL, Connection

from ...errors import InvalidState, TurnHeld, UnknownTurn
from ..effects import Tell
from ..events import TurnBlock, TurnFailed
from ..happenings import Cancelled, Resumed
from ..machine import step
from ..state import TurnState
from .bells import Bells
from .database import Clock, Database
from .engine import PATIENCE, make_engine
from .migrate import migrate
from .parts import unpack
from .recorder import Recorder
from .rows import CallRow, EventRow, block_of
from .steps import StepRow, recording
from .stored import changes_of, parts_of, state_of
from .tables import calls, events, steps, turn_blocks, turns

#: How long a runner may be silent before others may take its turn, in seconds. It renews in a third of that.
LEASE = 60.0


class KeptTurn(Struct, frozen=True):
    """What the log holds of a turn.

    ``status``: open, waiting or over. ``seq``: the number of the next event. ``held``: somebody runs it now.
    ``blocks``: in sequence. ``calls``: every kept call. ``state``: null for a turn that ended before it began.
    """

    id: str
    status: str
    wire: str
    policy: str
    termination: str | None
    seq: int
    held: bool
    created: float
    updated: float
    blocks: list[TurnBlock]
    calls: list[CallRow]
    state: TurnState | None


class Page(Struct, frozen=True):
    """Events in order. ``seq``: the number of the turn's next event; ``over``: it will never come."""

    events: list[EventRow]
    seq: int
    over: bool


class Log:
    """The log in a database: a URL (`sqlite:///turns.db`, `postgresql://…`), or the path of a SQLite file.

    Opening makes the tables or brings them to the present version. ``lease``: see `LEASE`. ``clock``: for tests; the
    leases of all processes go by the database's clock. Serves any number of event loops. Every method raises LogFailed
    where the database fails; opening also NewerLog and MissingExtra.

    ``patience``: seconds that a method waits for a database that does not answer before it raises LogFailed. What it
    was given to write stays in line, and is written as soon as the database answers, while the log is open.
    """

    def __init__(
        self,
        url: str | URL | Path,
        *,
        lease: float = LEASE,
        patience: float = PATIENCE,
        clock: Clock | None = None,
    ) -> None:
        engine = make_engine(url, patience)
        try:
            migrate(engine)
        except BaseException:
            engine.dispose()
            raise
        self._database = Database(engine, clock, patience)
        self._bells = Bells()
        self._lease = lease

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Write what waits, and close every connection."""
        self._database.dispose()

    # writing

    @asynccontextmanager
    async def record(self) -> AsyncIterator[Recorder]:
        """The observer of a turn that is to begin. Entering writes nothing."""
        async with Recorder(self._database, self._bells.ring, self._lease) as recorder:
            yield recorder

    @asynccontextmanager
    async def take(self, turn: str, *, force: bool = False) -> AsyncIterator[Recorder]:
        """The observer of a turn that is there, to go on from its ``state``: one at a time, in all processes.

        ``force``: whoever ran it is known to be gone, so their lease need not run out. Raises UnknownTurn, TurnHeld,
        InvalidState.
        """
        recorder = Recorder(self._database, self._bells.ring, self._lease)
        await recorder.claim(turn, force=force)
        async with recorder:
            if recorder.state is None:
                raise UnknownTurn(f"turn {turn!r} ended before it began", hint="close it")
            yield recorder

    async def close(self, turn: str, reason: str | None = None, *, force: bool = False) -> TurnState | None:
        """Bring a turn to an end without asking or running anything: every open call is answered, and it is cancelled.

        ``reason`` is told to the model where the conversation goes on. A turn that is over stays as it is. Gives the
        state, null for a turn that ended before it began. Raises what `take` raises.
        """
        recorder = Recorder(self._database, self._bells.ring, self._lease)
        await recorder.claim(turn, force=force)
        async with recorder:
            state = recorder.state
            if state is None:
                page = await self.events(turn, limit=0)
                if not page.over:
                    await recorder.keep([TurnFailed(page.seq, "cancelled", "The turn ended before it began.")], None)
                return None
            if state.phase == "over":
                return state
            for happening in (Resumed(), Cancelled(reason)):
                state, effects = step(state, happening)
                await recorder.happened(happening)
                await recorder.keep([effect.event for effect in effects if isinstance(effect, Tell)], state)
            return state

    async def forget(self, turn: str) -> None:
        """Delete all that the log holds of a turn. Raises UnknownTurn, and TurnHeld for one that is run."""

        def write(connection: Connection) -> None:
            held = turns.c.owner.is_not(None) & (turns.c.lease_until >= self._database.now())
            if connection.execute(sa.delete(turns).where(turns.c.id == turn, sa.not_(held))).rowcount == 1:
                return
            if connection.scalar(sa.select(turns.c.id).where(turns.c.id == turn)) is None:
                raise _unknown(turn)
            raise TurnHeld(f"turn {turn!r} is run by somebody", hint="forget it when it is over")

        await self._database.write(write)

    # reading

    async def turn(self, turn: str) -> KeptTurn:
        """All that is known of a turn but for its events. Raises UnknownTurn, InvalidState."""
        return await self._database.read(lambda connection: self._turn(connection, turn))

    async def events(self, turn: str, after: int = -1, *, limit: int = 500) -> Page:
        """The events behind number ``after``, at most ``limit`` of them. Raises UnknownTurn."""

        def read(connection: Connection) -> Page:
            found = connection.execute(sa.select(turns.c.seq, turns.c.status).where(turns.c.id == turn)).first()
            if found is None:
                raise _unknown(turn)
            rows: list[EventRow] = []
            if limit and after + 1 < found.seq:
                chosen = sa.select(events.c.seq, events.c.type, events.c.data)
                chosen = chosen.where(events.c.turn_id == turn, events.c.seq > after)
                rows = _event_rows(connection, turn, chosen.order_by(events.c.seq).limit(limit))
            return Page(rows, found.seq, found.status == "over")

        return await self._database.read(read)

    async def recording(self, turn: str) -> bytes:
        """The turn as it happened, for `orchestration.replay`, which runs it again and gives the same events.

        One that was gone on with begins anew with the state that it went on from. Raises UnknownTurn; InvalidState
        where the log does not hold its steps (an earlier version wrote it, or nobody told the recorder what happened).
        """

        def read(connection: Connection) -> bytes:
            if connection.scalar(sa.select(turns.c.id).where(turns.c.id == turn)) is None:
                raise _unknown(turn)
            chosen = sa.select(*(steps.c[name] for name in StepRow.__struct_fields__))
            happened = connection.execute(chosen.where(steps.c.turn_id == turn).order_by(steps.c.number)).all()
            if not happened:
                raise InvalidState("the log holds no steps of this turn", where=turn)
            told = sa.select(events.c.seq, events.c.type, events.c.data).where(events.c.turn_id == turn)
            rows = _event_rows(connection, turn, told.order_by(events.c.seq))
            stored = parts_of(connection, turn, (row.happening for row in happened))
            taken = [replace(StepRow(*row), happening=unpack(row.happening, stored)) for row in happened]
            return b"".join(recording(taken, rows, changes_of(connection, turn)))

        return await self._database.read(read)

    async def turns(self, status: str | None = None) -> list[str]:
        """The ids of all turns, or of those of that status, oldest first."""
        chosen = sa.select(turns.c.id).order_by(turns.c.created, turns.c.id)
        if status is not None:
            chosen = chosen.where(turns.c.status == status)
        return await self._database.read(lambda connection: list(connection.scalars(chosen)))

    async def left(self) -> list[str]:
        """The ids of turns that are open and that nobody runs: a crash left them. Resume or close them."""
        free = turns.c.owner.is_(None) | (turns.c.lease_until < self._database.now())
        chosen = sa.select(turns.c.id).where(turns.c.status == "open", free).order_by(turns.c.created, turns.c.id)
        return await self._database.read(lambda connection: list(connection.scalars(chosen)))

    def listen(self, turn: str) -> AbstractContextManager[asyncio.Event]:
        """An event that is set when this process wrote something of the turn. Clear it, read, then wait."""
        return self._bells.listen(turn)

    def _turn(self, connection: Connection, turn: str) -> KeptTurn:
        held = turns.c.owner.is_not(None) & (turns.c.lease_until >= self._database.now())
        row = connection.execute(sa.select(turns, held.label("held")).where(turns.c.id == turn)).first()
        if row is None:
            raise _unknown(turn)
        blocks = sa.select(turn_blocks).where(turn_blocks.c.turn_id == turn).order_by(turn_blocks.c.sequence)
        called = sa.select(calls).where(calls.c.turn_id == turn).order_by(calls.c.round)
        found = connection.execute(blocks).all()
        stored = parts_of(connection, turn, (block.exact for block in found))
        state = state_of(connection, turn)
        order = [call.key for round in (state.rounds if state is not None else ()) for call in round.calls]
        known = {row.key: CallRow(*row[1:]) for row in connection.execute(called)}
        return KeptTurn(
            row.id,
            row.status,
            row.wire,
            row.policy,
            row.termination,
            row.seq,
            bool(row.held),
            row.created,
            row.updated,
            [block_of(block, stored) for block in found],
            [known.pop(key) for key in order if key in known] + list(known.values()),
            state,
        )


def _event_rows(connection: Connection, turn: str, chosen: sa.Select[Any]) -> list[EventRow]:
    """The events that a statement finds, each with its long values."""
    found = connection.execute(chosen).all()
    stored = parts_of(connection, turn, (row.data for row in found))
    return [EventRow(row.seq, row.type, unpack(row.data, stored)) for row in found]


def _unknown(turn: str) -> UnknownTurn:
    return UnknownTurn(f"the log holds no turn {turn!r}")
