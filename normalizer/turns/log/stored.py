"""Queries that rebuild a turn's packed documents and its states from the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from ... import json_codec
from ..machine.state import TurnState, load
from .changes import applied
from .parts import references, unpack
from .tables import parts, states

#: The most values that one query fetches.
_MOST = 500


def parts_of(connection: Connection, turn: str, texts: Iterable[str | None]) -> dict[str, str]:
    """Return the long values that these packed documents refer to, by digest (see `parts.unpack`)."""
    found: dict[str, str] = {}
    wanted = list(references(texts))
    for first in range(0, len(wanted), _MOST):
        digests = wanted[first : first + _MOST]
        chosen = sa.select(parts.c.digest, parts.c.value).where(parts.c.turn_id == turn, parts.c.digest.in_(digests))
        found.update((digest, value) for digest, value in connection.execute(chosen))
    return found


def changes_of(connection: Connection, turn: str) -> list[tuple[int, str]]:
    """Return the number and the change (JSON text, unpacked) of each stored state, in order."""
    chosen = sa.select(states.c.number, states.c.change).where(states.c.turn_id == turn).order_by(states.c.number)
    rows = connection.execute(chosen).all()
    stored = parts_of(connection, turn, (row.change for row in rows))
    return [(row.number, unpack(row.change, stored)) for row in rows]


def state_of(connection: Connection, turn: str) -> tuple[TurnState, bool] | None:
    """Return the last stored state, and whether it is stored as a state of this version. None if there is none.

    Raises InvalidState if this program cannot load it.
    """
    document: Any = None
    for _, change in changes_of(connection, turn):
        document = applied(document, json_codec.decode(change))
    if document is None:
        return None
    state = load(json_codec.encode(document))
    return state, document.get("version") == state.version
