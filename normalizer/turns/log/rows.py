"""Conversion of blocks, events and calls to rows, and of rows back to the exact blocks and events.

PostgreSQL's text type rejects NUL, and no database accepts a lone surrogate; models write both (failure UNI-02). In
columns that people query, U+FFFD replaces such a character. JSONB writes large floats without their exponent and
returns them as integers. Where a column would lose information, the row also holds the exact JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import json_codec
from ..events import CallProgress, TurnBlock, TurnEvent
from ..machine.state import CallState, RoundState, TurnState
from .parts import unpack

_UNSAYABLE = re.compile("[\x00\ud800-\udfff]")


class EventRow(Struct, frozen=True, gc=False):
    """An event of the turn. ``seq``: its number. ``data``: the event as JSON text."""

    seq: int
    type: str
    data: str

    @property
    def event(self) -> TurnEvent:
        """The decoded event."""
        return cast(TurnEvent, msgspec.convert(json_codec.decode(self.data), TurnEvent))


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
    """Return the columns of a block. ``cut``: the answer ended inside it."""
    shown = TurnBlock(block.sequence, block.block_type, block.text_content, msgspec.to_builtins(block.content))
    text, content = _plain(shown.text_content), _plain(shown.content)
    same = (text, content) == (shown.text_content, shown.content) and not _respelled(content)
    return {
        "sequence": block.sequence,
        "block_type": block.block_type,
        "text_content": text,
        "content": content,
        "round": round,
        "cut": cut,
        "exact": None if same else json_codec.text(shown),
    }


def block_of(row: Any, stored: Mapping[str, str]) -> TurnBlock:
    """Return the block of a row. ``stored``: the turn's long values by digest. Raises KeyError if one is missing."""
    if row.exact is not None:
        return msgspec.convert(json_codec.decode(unpack(row.exact, stored)), TurnBlock)
    return TurnBlock(row.sequence, row.block_type, row.text_content, row.content)


def call_rows(before: TurnState | None, state: TurnState) -> Iterable[dict[str, Any]]:
    """Yield the columns of every call in ``state`` that is new or has changed since ``before``."""
    earlier = before.rounds if before is not None else []
    for number, round in enumerate(state.rounds):
        known = earlier[number].calls if number < len(earlier) else []
        for place, call in enumerate(round.calls):
            if place >= len(known) or known[place] is not call:
                yield _call_row(round, call)


def plain(text: str) -> str:
    """Return the text with U+FFFD for each NUL and lone surrogate, so that every database accepts it."""
    return _UNSAYABLE.sub("\ufffd", text)


def _call_row(round: RoundState, call: CallState) -> dict[str, Any]:
    return {
        "key": call.key,
        "round": round.round_number,
        "call_id": plain(call.id),
        "name": plain(call.name),
        "status": call.status,
        "how": call.outcome,
        "attempts": call.attempts,
        "server": None if call.server is None else plain(call.server),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(name): _plain(item) for name, item in value.items()}
    return value


def _respelled(value: Any) -> bool:
    """Return whether the value contains a number that JSONB, or SQLite for a single number, would change."""
    if isinstance(value, int):
        return abs(value) >= 2**63
    if isinstance(value, float):
        return abs(value) >= 1e15 or str(value) == "-0.0"
    if isinstance(value, (list, dict)):
        return any(map(_respelled, value.values() if isinstance(value, dict) else value))
    return False
