"""The recorder's SQL statements, built once per database because building them costs more than running them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Executable, Table

from .tables import calls, events, parts, states, steps, turn_blocks, turns


class Statements:
    """Statements for one SQL ``dialect``. ``at``: the current time, see `Database.at` and `Database.times`.

    ``advance`` sets the number of a turn's next event to ``next_seq``, if ``mine`` owns the turn, its next event is
    ``first`` and its runners have written ``before`` transactions. ``settle`` also sets the status and the termination.
    ``begin`` inserts a turn and returns its id, or no row if the id exists. ``void`` deletes the blocks from
    ``first_block`` on.
    """

    def __init__(self, dialect: str, at: ColumnElement[float]) -> None:
        until = at + sa.bindparam("lease", type_=sa.Double)
        mine = (turns.c.id == sa.bindparam("turn"), turns.c.owner == sa.bindparam("mine"))
        here = (turns.c.seq == sa.bindparam("first"), turns.c.written == sa.bindparam("before"))
        moved: dict[str, Any] = {"seq": sa.bindparam("next_seq"), "updated": at, "lease_until": until}
        moved["written"] = turns.c.written + 1
        said: dict[str, Any] = {"status": sa.bindparam("now_status"), "termination": sa.bindparam("now_termination")}
        self.advance = sa.update(turns).where(*mine, *here).values(moved)
        self.settle = sa.update(turns).where(*mine, *here).values({**moved, **said})
        self.renew = sa.update(turns).where(*mine).values(lease_until=until)
        self.release = sa.update(turns).where(*mine).values(owner=None, lease_until=None)
        insert = _insert(dialect)
        new = {"created": at, "updated": at, "lease_until": until}
        self.begin = insert(turns).values(new).on_conflict_do_nothing().returning(turns.c.id)
        self.event = sa.insert(events)
        self.step = sa.insert(steps)
        self.state = sa.insert(states)
        self.part = insert(parts).on_conflict_do_nothing()
        self.void = sa.delete(turn_blocks).where(
            turn_blocks.c.turn_id == sa.bindparam("turn"), turn_blocks.c.sequence >= sa.bindparam("first_block")
        )
        self.block = _upsert(insert, turn_blocks)
        self.call = _upsert(insert, calls)


def _insert(dialect: str) -> Any:
    """Return the dialect's `insert`, which supports ON CONFLICT."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
    return insert


def _upsert(insert: Any, table: Table) -> Executable:
    """Return a statement that inserts a row, or replaces the row with the same primary key."""
    key = [column.name for column in table.primary_key]
    made = insert(table)
    rest = {column.name: made.excluded[column.name] for column in table.c if column.name not in key}
    replaced: Executable = made.on_conflict_do_update(index_elements=key, set_=rest)
    return replaced
