"""The turn log: writing a turn under a lease, reading turns, and resuming or closing those that a crash left open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import asdict, replace
from sqlalchemy import URL, Connection

from ..errors import InvalidState, TurnHeld, TurnMisused, UnknownTurn
from ..events import TurnBlock, TurnFailed
from ..machine.effects import Emit
from ..machine.inputs import Cancel, Resume
from ..machine.state import TurnState
from ..machine.table import step
from .batch import Batch
from .database import Clock, Database
from .engine import PATIENCE, make_engine
from .listing import delete_over, held, matching, turn_row, turn_rows, unknown, unlocked
from .migrate import migrate
from .notify import Notifier
from .parts import unpack
from .recorder import LogObserver, Membership
from .rows import CallRow, EventRow, TurnRow, block_of, changes_of, parts_of, state_of
from .steps import StepRow, recording
from .tables import calls, events, steps, turn_blocks, turns

#: Seconds until a runner's lease expires and another runner may take the turn. A third of that passes between renewals.
LEASE = 60.0
#: The least seconds after which PostgreSQL ends a transaction of a process that stopped. It is a third of the lease or
#: of the patience, so that others can take its turns when their leases have expired.
_LEAST_IDLE = 1.0
#: How many turns one transaction of `Log.clean_up` deletes, so that other writers need not wait long.
_DELETED_AT_ONCE = 100


class StoredTurn(TurnRow, frozen=True):
    """A turn in the log, without its events.

    ``blocks``: in sequence. ``calls``: in the order of the state. ``state``: None for a turn that was closed before its
    first step.
    """

    blocks: list[TurnBlock]
    calls: list[CallRow]
    state: TurnState | None


class Page(Struct, frozen=True):
    """Events in order. ``seq``: the number of the turn's next event. ``over``: the turn has ended, so none follows."""

    events: list[EventRow]
    seq: int
    over: bool


class Log:
    """A turn log in a database. ``url``: `sqlite:///turns.db`, `postgresql://…`, or the path of a SQLite file.

    The constructor creates the tables or migrates them to the current version. It raises NewerLog and MissingExtra. All
    methods raise LogFailed if the database fails. One log serves any number of event loops.

    ``lease``: seconds, see `LEASE`. ``patience``: seconds that a method waits for a database that does not answer
    before it raises LogFailed; its write stays in the queue, and happens as soon as the database answers, while the log
    is open. ``clock``: for tests only; by default, leases depend on the database's clock, which all processes share.
    """

    def __init__(
        self,
        url: str | URL | Path,
        *,
        lease: float = LEASE,
        patience: float = PATIENCE,
        clock: Clock | None = None,
    ) -> None:
        idle = max(_LEAST_IDLE, min(lease, patience) / 3)
        engine = make_engine(url, patience, idle)
        try:
            migrate(engine)
        except BaseException:
            engine.dispose()
            raise
        self._database = Database(engine, clock, patience, idle)
        self._notifier = Notifier()
        self._lease = lease

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Write the queued jobs, if the database answers within ``patience`` seconds, and close every connection."""
        self._database.dispose()

    # writing

    @asynccontextmanager
    async def record(
        self, *, user: str | None = None, conversation: str | None = None, position: int = 0
    ) -> AsyncIterator[LogObserver]:
        """Yield the observer of a new turn. The first event creates the turn in the log.

        ``position``: the number of the turn in its conversation, from 0. The first event raises TurnHeld if another
        turn has this position.
        """
        membership = Membership(user, conversation, position)
        async with LogObserver(self._database, self._notifier.notify, self._lease, membership) as observer:
            yield observer

    @asynccontextmanager
    async def take(self, turn: str, *, force: bool = False) -> AsyncIterator[LogObserver]:
        """Yield the observer of an existing turn, which resumes from the observer's ``state``.

        Only one runner at a time, in all processes, holds the lease of a turn. ``force``: take a lease that has not
        expired; pass it only if the previous runner is dead. Raises UnknownTurn (also for a turn without a state),
        TurnHeld if another runner holds the lease, and InvalidState for a state that this program cannot load.
        """
        observer = LogObserver(self._database, self._notifier.notify, self._lease)
        await observer.claim(turn, force=force)
        async with observer:
            if observer.state is None:
                raise UnknownTurn(f"turn {turn!r} was closed before its first step", hint="close it")
            yield observer

    async def close(self, turn: str, reason: str | None = None, *, force: bool = False) -> TurnState | None:
        """Cancel a turn without a request or a tool call: every open call gets a result, and the turn ends.

        ``reason`` goes into these results, which the model sees if the conversation continues. A turn that is over does
        not change. Return the state, None for a turn without a state. For ``force`` and the errors see `take`.
        """
        observer = LogObserver(self._database, self._notifier.notify, self._lease)
        await observer.claim(turn, force=force)
        async with observer:
            state = observer.state
            if state is None:
                page = await self.events(turn, limit=0)
                if not page.over:
                    await observer.record(
                        [TurnFailed(page.seq, "cancelled", "The turn was closed before its first step.")], None
                    )
                return None
            if state.phase == "over":
                return state
            for input in (Resume(), Cancel(reason)):
                state, effects = step(state, input)
                await observer.input(input)
                await observer.record([effect.event for effect in effects if isinstance(effect, Emit)], state)
            return state

    async def forget(self, turn: str) -> None:
        """Delete a turn from the log. Raises UnknownTurn, and TurnHeld while a runner holds its lease."""

        def write(batch: Batch) -> None:
            connection = batch.connection
            free = turns.c.id.in_(unlocked(turns.c.id == turn, sa.not_(held(self._database.now()))))
            if connection.execute(sa.delete(turns).where(free)).rowcount == 1:
                return
            if connection.scalar(sa.select(turns.c.id).where(turns.c.id == turn)) is None:
                raise unknown(turn)
            raise TurnHeld(f"a runner holds turn {turn!r}", hint="forget it when it is over")

        await self._database.write_apart(write, turn)

    async def clean_up(self, older_than: float) -> list[str]:
        """Delete the turns that have been over for ``older_than`` seconds, and return their ids."""
        deleted: list[str] = []
        while True:
            chunk: list[str] = []

            def write(batch: Batch, chunk: list[str] = chunk) -> None:
                chunk[:] = delete_over(batch.connection, self._database.now(), older_than, _DELETED_AT_ONCE)

            await self._database.write_apart(write)
            deleted += chunk
            if len(chunk) < _DELETED_AT_ONCE:
                return deleted

    # reading

    async def turn(self, turn: str) -> StoredTurn:
        """Return a turn without its events. Raises UnknownTurn, InvalidState."""
        return await self._database.read(lambda connection: self._turn(connection, turn))

    async def events(self, turn: str, after: int = -1, *, limit: int = 500) -> Page:
        """Return the events after number ``after``, at most ``limit`` of them. Raises UnknownTurn."""

        def read(connection: Connection) -> Page:
            row = connection.execute(sa.select(turns.c.seq, turns.c.status).where(turns.c.id == turn)).first()
            if row is None:
                raise unknown(turn)
            rows: list[EventRow] = []
            if limit and after + 1 < row.seq:
                query = sa.select(events.c.seq, events.c.type, events.c.data)
                query = query.where(events.c.turn_id == turn, events.c.seq > after)
                rows = _event_rows(connection, turn, query.order_by(events.c.seq).limit(limit))
            return Page(rows, row.seq, row.status == "over")

        return await self._database.read(read)

    async def recording(self, turn: str) -> bytes:
        """Return a recording of the turn for `orchestration.replay`, which repeats its steps and compares the events.

        Where a runner resumed the turn, the recording contains the state that it resumed from. Raises UnknownTurn, and
        InvalidState if the log lacks the steps, because an earlier version wrote the turn or `LogObserver.input` was
        not called.
        """

        def read(connection: Connection) -> bytes:
            if connection.scalar(sa.select(turns.c.id).where(turns.c.id == turn)) is None:
                raise unknown(turn)
            query = sa.select(*(steps.c[name] for name in StepRow.__struct_fields__))
            step_rows = connection.execute(query.where(steps.c.turn_id == turn).order_by(steps.c.number)).all()
            if not step_rows:
                raise InvalidState("the log has no steps of this turn", where=turn)
            query = sa.select(events.c.seq, events.c.type, events.c.data).where(events.c.turn_id == turn)
            event_rows = _event_rows(connection, turn, query.order_by(events.c.seq))
            values = parts_of(connection, turn, (row.input for row in step_rows))
            unpacked = [replace(StepRow(*row), input=unpack(row.input, values)) for row in step_rows]
            return b"".join(recording(unpacked, event_rows, changes_of(connection, turn)))

        return await self._database.read(read)

    async def row(self, turn: str) -> TurnRow:
        """Return a turn without its content. Raises UnknownTurn."""
        return await self._database.read(lambda connection: turn_row(connection, self._database.now(), turn))

    async def rows(
        self,
        status: str | None = None,
        *,
        conversation: str | None = None,
        user: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[TurnRow]:
        """Return the turns with these values, newest first, without their content.

        ``before``: the id of the last turn of the page before. Raises UnknownTurn if the log no longer has it.
        """
        conditions = matching(status, conversation, user)
        now = self._database.now()
        return await self._database.read(lambda connection: turn_rows(connection, now, conditions, before, limit))

    async def last(self, conversation: str, user: str | None = None) -> StoredTurn | None:
        """Return the last turn of a user's conversation, None if the log has no turn of it.

        ``user``: None for the only user with a conversation of this name. Raises TurnMisused if there are several, and
        InvalidState.
        """
        of_name = matching(None, conversation, user)
        query = sa.select(turns.c.id).where(*of_name).order_by(turns.c.position.desc())
        users = sa.select(turns.c.user_id).where(*of_name).distinct().limit(2)

        def read(connection: Connection) -> StoredTurn | None:
            if user is None and len(connection.execute(users).all()) > 1:
                raise TurnMisused(f"several users have a conversation {conversation!r}", hint="pass the user")
            turn = connection.scalar(query.limit(1))
            return None if turn is None else self._turn(connection, turn)

        return await self._database.read(read)

    async def turns(
        self, status: str | None = None, *, conversation: str | None = None, user: str | None = None
    ) -> list[str]:
        """Return the ids of all turns, or of those with these values, oldest first."""
        query = sa.select(turns.c.id).where(*matching(status, conversation, user))
        query = query.order_by(turns.c.created, turns.c.id)
        return await self._database.read(lambda connection: list(connection.scalars(query)))

    async def left(self) -> list[str]:
        """Return the ids of open turns without a valid lease, oldest first. Resume or close them after a crash."""
        free = sa.not_(held(self._database.now()))
        query = sa.select(turns.c.id).where(turns.c.status == "open", free).order_by(turns.c.created, turns.c.id)
        return await self._database.read(lambda connection: list(connection.scalars(query)))

    def listen(self, turn: str) -> AbstractContextManager[asyncio.Event]:
        """Return an event that is set after every write of the turn in this process. Clear it, read, then wait."""
        return self._notifier.listen(turn)

    def _turn(self, connection: Connection, turn: str) -> StoredTurn:
        row = turn_row(connection, self._database.now(), turn)
        block_query = sa.select(turn_blocks).where(turn_blocks.c.turn_id == turn).order_by(turn_blocks.c.sequence)
        call_query = sa.select(calls).where(calls.c.turn_id == turn).order_by(calls.c.round)
        blocks = connection.execute(block_query).all()
        values = parts_of(connection, turn, (block.exact for block in blocks))
        stored_state = state_of(connection, turn)
        state = stored_state[0] if stored_state is not None else None
        order = [call.key for round in (state.rounds if state is not None else ()) for call in round.calls]
        by_key = {row.key: CallRow(*row[1:]) for row in connection.execute(call_query)}
        return StoredTurn(
            **asdict(row),
            blocks=[block_of(block, values) for block in blocks],
            calls=[by_key.pop(key) for key in order if key in by_key] + list(by_key.values()),
            state=state,
        )


def _event_rows(connection: Connection, turn: str, query: sa.Select[Any]) -> list[EventRow]:
    """Return the events that the query selects, with their long values restored."""
    rows = connection.execute(query).all()
    values = parts_of(connection, turn, (row.data for row in rows))
    return [EventRow(row.seq, row.type, unpack(row.data, values)) for row in rows]
