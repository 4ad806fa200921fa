"""The rows of turns: one, a page of a list, and the deletion of old ones."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection

from ..errors import UnknownTurn
from .rows import TurnRow
from .tables import turns


def unknown(turn: str) -> UnknownTurn:
    """Return the error for a turn that the log does not have."""
    return UnknownTurn(f"the log has no turn {turn!r}")


def held(now: ColumnElement[float]) -> ColumnElement[bool]:
    """Return the condition that a runner holds the lease of a turn."""
    return sa.and_(turns.c.owner.is_not(None), turns.c.lease_until > now)


def unlocked(*conditions: ColumnElement[bool]) -> sa.Select[Any]:
    """Return the query that locks the turns which meet the conditions and are not locked, and returns their ids.

    On SQLite, a transaction that writes has already locked all turns.
    """
    return sa.select(turns.c.id).where(*conditions).with_for_update(skip_locked=True)


def matching(status: str | None, conversation: str | None, user: str | None) -> list[ColumnElement[bool]]:
    """Return the conditions for turns with these values; None matches every value."""
    wanted = ((turns.c.status, status), (turns.c.conversation, conversation), (turns.c.user_id, user))
    return [column == value for column, value in wanted if value is not None]


def turn_row(connection: Connection, now: ColumnElement[float], turn: str) -> TurnRow:
    """Return the row of a turn. Raises UnknownTurn."""
    row = connection.execute(_rows(now).where(turns.c.id == turn)).first()
    if row is None:
        raise unknown(turn)
    return _turn_row(row)


def turn_rows(
    connection: Connection,
    now: ColumnElement[float],
    conditions: list[ColumnElement[bool]],
    before: str | None,
    limit: int,
) -> list[TurnRow]:
    """Return the rows that meet the conditions, newest first, after the row of ``before``. Raises UnknownTurn."""
    if before is not None:
        created = connection.scalar(sa.select(turns.c.created).where(turns.c.id == before))
        if created is None:
            raise unknown(before)
        older = sa.and_(turns.c.created == created, turns.c.id < before)
        conditions = [*conditions, sa.or_(turns.c.created < created, older)]
    query = _rows(now).where(*conditions).order_by(turns.c.created.desc(), turns.c.id.desc()).limit(limit)
    return [_turn_row(row) for row in connection.execute(query)]


def delete_over(connection: Connection, now: ColumnElement[float], older_than: float, limit: int) -> list[str]:
    """Delete up to ``limit`` turns that have been over for so many seconds, and return their ids."""
    old = sa.and_(turns.c.status == "over", turns.c.updated < now - older_than, sa.not_(held(now)))
    ids = list(connection.scalars(unlocked(old).order_by(turns.c.updated).limit(limit)))
    connection.execute(sa.delete(turns).where(turns.c.id.in_(ids)))
    return ids


def _rows(now: ColumnElement[float]) -> sa.Select[Any]:
    return sa.select(turns, held(now).label("held"))


def _turn_row(row: Any) -> TurnRow:
    columns = row._mapping
    same = {name: columns[name] for name in TurnRow.__struct_fields__ if name not in ("held", "user")}
    return TurnRow(**same, held=bool(row.held), user=row.user_id or None)
