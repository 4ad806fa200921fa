"""Conversion of blocks, events and calls to rows, and of rows back to exact blocks, events and states.

PostgreSQL's text type rejects NUL, and no database accepts a lone surrogate; models write both (failure UNI-02). In
columns that people query, U+FFFD replaces such a character. JSONB writes large floats without their exponent and
returns them as integers. Where a column would lose information, the row also holds the exact JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from toolparity.normalizer import json_codec

from ..events import CallProgress, TurnBlock, TurnEvent
from ..machine.state import CallState, RoundState, TurnState, load
from .changes import applied
from .parts import references, unpack
from .tables import parts, states

#: The most values that one query fetches.
_MAX_VALUES = 500
#: Characters that a database does not store.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class EventRow(Struct, frozen=True, gc=False):
    """An event of the turn. ``seq``: its number. ``data``: the event as JSON text."""

    seq: int
    type: str
    data: str

    @property
    def event(self) -> TurnEvent:
        """The decoded event."""
        return cast(TurnEvent, json_codec.convert(json_codec.decode(self.data), TurnEvent))


class TurnRow(Struct, frozen=True):
    """A turn in the log, without its content.

    ``status``: "open", "waiting" (for a decision or a result) or "over". ``seq``: the number of the next event.
    ``held``: a runner holds the lease now. ``created``, ``updated``: seconds since 1970. ``position``: the number of
    the turn in its conversation, from 0. ``input_tokens``, ``output_tokens``: of all answers so far. ``cost``: by the
    turn's option ``prices``.
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
    conversation: str | None
    position: int | None
    user: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


class CallRow(Struct, frozen=True):
    """The progress of a call. ``key``: its permanent identifier. For ``status`` and ``outcome`` see `turns.state`."""

    key: str
    round: int
    call_id: str
    name: str
    status: str
    outcome: str | None
    attempts: int
    server: str | None


def event_row(event: TurnEvent) -> EventRow:
    """Return the row of an event. Progress data that is not JSON-serializable is stored as its `repr`."""
    try:
        data = json_codec.text(event)
    except (TypeError, ValueError, RecursionError):
        if not isinstance(event, CallProgress):
            raise
        data = json_codec.text(replace(event, data=repr(event.data)))  # a tool may report any Python object
    return EventRow(event.seq, str(event.__struct_config__.tag), data)


def block_row(block: TurnBlock, round: int, cut: bool) -> dict[str, Any]:
    """Return the columns of a block, with its content as JSON. ``cut``: the answer ended inside it."""
    whole = TurnBlock(block.sequence, block.block_type, block.text_content, msgspec.to_builtins(block.content))
    text, content = _storable(whole.text_content), _storable(whole.content)
    is_exact = (text, content) == (whole.text_content, whole.content) and not _is_respelled(content)
    return {
        "sequence": block.sequence,
        "block_type": block.block_type,
        "text_content": text,
        "content": None if content is None else json_codec.text(content),
        "round": round,
        "cut": cut,
        "exact": None if is_exact else json_codec.text(whole),
    }


def block_of(row: Any, stored: Mapping[str, str]) -> TurnBlock:
    """Return the block of a row. ``stored``: the turn's long values by digest. Raises KeyError if one is missing."""
    if row.exact is not None:
        return cast(TurnBlock, json_codec.convert(json_codec.decode(unpack(row.exact, stored)), TurnBlock))
    return TurnBlock(row.sequence, row.block_type, row.text_content, row.content)


def call_rows(before: TurnState | None, state: TurnState) -> Iterable[dict[str, Any]]:
    """Yield the columns of every call in ``state`` that is new or has changed since ``before``."""
    earlier = before.rounds if before is not None else []
    for number, round in enumerate(state.rounds):
        known = earlier[number].calls if number < len(earlier) else []
        for index, call in enumerate(round.calls):
            if index >= len(known) or known[index] is not call:
                yield _call_row(round, call)


def parts_of(connection: Connection, turn: str, texts: Iterable[str | None]) -> dict[str, str]:
    """Return the long values that these packed documents refer to, by digest (see `parts.unpack`)."""
    values: dict[str, str] = {}
    digests = list(references(texts))
    for first in range(0, len(digests), _MAX_VALUES):
        query = sa.select(parts.c.digest, parts.c.value).where(
            parts.c.turn_id == turn, parts.c.digest.in_(digests[first : first + _MAX_VALUES])
        )
        values.update((digest, value) for digest, value in connection.execute(query))
    return values


def changes_of(connection: Connection, turn: str) -> list[tuple[int, str]]:
    """Return the number and the change (JSON text, unpacked) of each stored state, in order."""
    query = sa.select(states.c.number, states.c.change).where(states.c.turn_id == turn).order_by(states.c.number)
    rows = connection.execute(query).all()
    values = parts_of(connection, turn, (row.change for row in rows))
    return [(row.number, unpack(row.change, values)) for row in rows]


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


def _call_row(round: RoundState, call: CallState) -> dict[str, Any]:
    return {
        "key": call.key,
        "round": round.round_number,
        "call_id": _storable(call.id),
        "name": _storable(call.name),
        "status": call.status,
        "outcome": call.outcome,
        "attempts": call.attempts,
        "server": _storable(call.server),
    }


def _storable(value: Any) -> Any:
    """Return the value with U+FFFD for each NUL and lone surrogate, so that every database accepts it."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return value


def _is_respelled(value: Any) -> bool:
    """Return whether the value contains a number that JSONB, or SQLite for a single number, would change."""
    if isinstance(value, int):
        return abs(value) >= 2**63
    if isinstance(value, float):
        return abs(value) >= 1e15 or str(value) == "-0.0"
    if isinstance(value, (list, dict)):
        return any(map(_is_respelled, value.values() if isinstance(value, dict) else value))
    return False
