"""Blocks, events and states as rows, and back: exactly what was told, whatever characters it holds.

PostgreSQL's text takes no NUL, and no database takes half a surrogate pair; models write both (failure UNI-02). In
columns that people query such a character stands as U+FFFD. JSONB writes large floats without their exponent, so that
they come back as integers. Where a column would not give back what was told, the exact JSON is kept beside it.
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
from ..state import CallState, RoundState, TurnState
from .parts import unpack

_UNSAYABLE = re.compile("[\x00\ud800-\udfff]")


class EventRow(Struct, frozen=True, gc=False):
    """An event as it was told. ``data``: its JSON."""

    seq: int
    type: str
    data: str

    @property
    def event(self) -> TurnEvent:
        """The event itself."""
        return cast(TurnEvent, msgspec.convert(json_codec.decode(self.data), TurnEvent))


class CallRow(Struct, frozen=True):
    """What a call is at. ``key``: names it for ever; ``status``, ``how``: see `turns.state`."""

    key: str
    round: int
    call_id: str
    name: str
    status: str
    how: str | None
    attempts: int
    server: str | None


def event_row(event: TurnEvent) -> EventRow:
    """An event as its row."""
    try:
        data = json_codec.text(event)
    except (TypeError, ValueError, RecursionError):
        if not isinstance(event, CallProgress):
            raise
        data = json_codec.text(replace(event, data=repr(event.data)))  # a tool may say what it likes of itself
    return EventRow(event.seq, str(event.__struct_config__.tag), data)


def block_row(block: TurnBlock, round: int, cut: bool) -> dict[str, Any]:
    """The columns of a block."""
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
    """The block of a row. ``stored``: the turn's parts by their digests."""
    if row.exact is not None:
        return msgspec.convert(json_codec.decode(unpack(row.exact, stored)), TurnBlock)
    return TurnBlock(row.sequence, row.block_type, row.text_content, row.content)


def call_rows(before: TurnState | None, state: TurnState) -> Iterable[dict[str, Any]]:
    """The columns of every kept call that changed since the state before."""
    earlier = before.rounds if before is not None else []
    for number, round in enumerate(state.rounds):
        known = earlier[number].calls if number < len(earlier) else []
        for place, call in enumerate(round.calls):
            if place >= len(known) or known[place] is not call:
                yield _call_row(round, call)


def plain(text: str) -> str:
    """Text that every database takes."""
    return _UNSAYABLE.sub("\ufffd", text)


def _call_row(round: RoundState, call: CallState) -> dict[str, Any]:
    return {
        "key": call.key,
        "round": round.round_number,
        "call_id": plain(call.id),
        "name": plain(call.name),
        "status": call.status,
        "how": call.how,
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
    """Whether there is a number in it that JSONB, or SQLite where it stands alone, gives back as another one."""
    if isinstance(value, int):
        return abs(value) >= 2**63
    if isinstance(value, float):
        return abs(value) >= 1e15 or str(value) == "-0.0"
    if isinstance(value, (list, dict)):
        return any(map(_respelled, value.values() if isinstance(value, dict) else value))
    return False
