"""The steps of a turn as rows, and the rows as a recording that can be run again (`orchestration.replay`).

A step is what the machine was told, and what came of it. Most steps of an answer that is streamed are told word for
word by their one event: of those nothing is written but the event, and what the machine was told is read off it. So
a recording costs a few rows a round, however many pieces the answer came in.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ... import json_codec
from ...errors import InvalidState
from ..events import (
    Acknowledged,
    BlockDelta,
    BlockReset,
    BlockSettled,
    BlockStart,
    BlockStop,
    CallProgress,
    RoundStarted,
    TurnEvent,
)
from ..happenings import Acknowledging, Closed, Grew, Happening, Opened, Progressed, Replaced, Settled
from ..orchestration.recording import head_line, step_line
from ..state import dump, load
from .changes import applied
from .rows import EventRow

#: What its one event tells word for word.
TOLD = (Opened, Grew, Replaced, Closed, Settled, Progressed, Acknowledging)


class StepRow(Struct, frozen=True, gc=False):
    """A step of which more is to be known than its events. ``seq``: the number of the first of its ``told`` events, or
    of the next event where it told none. ``happening``: JSON. ``ends_with``: the number of the state that was kept.
    ``begins_with``: that of the state before it, where the turn began or was gone on with. ``state``: the digest of the
    state in steps of version 2, which kept no states.
    """

    number: int
    seq: int
    told: int
    happening: str
    state: str | None = None
    begins_with: int | None = None
    ends_with: int | None = None


class Steps:
    """Follows one runner of a turn. ``number``: that of its first step."""

    def __init__(self, number: int = 1) -> None:
        self._number = number
        self._told: list[Happening] = []
        self._begun = False  # a step of this runner has been written

    @property
    def begins(self) -> bool:
        """Whether the next state is the first that a step of this runner ends with."""
        return not self._begun and bool(self._told)

    def happened(self, happening: Happening) -> None:
        """Take it down; what comes of it follows."""
        if self._told and isinstance(self._told[-1], TOLD):
            self._told.pop()  # it changed nothing, or is told
        self._told.append(happening)

    def rows(
        self, seq: int, events: Sequence[TurnEvent], begins_with: int | None, ends_with: int | None
    ) -> list[StepRow]:
        """Return what is to be written with these events, the first of which has the number ``seq``.

        ``ends_with``: the number of the state that is kept with them. ``begins_with``: that of the state before the
        first step; where no state is kept yet, no step is.
        """
        steps: list[Happening] = [one for one in self._told[:-1] if not isinstance(one, TOLD)]
        says = bool(self._told) and not (isinstance(self._told[-1], TOLD) and ends_with is None and len(events) == 1)
        if says:  # else the one event is all there is to know of the last step; those before it told nothing
            steps.append(self._told[-1])
        self._told = []
        if not steps or (not self._begun and ends_with is None):
            return []
        found = [StepRow(self._number + place, seq, 0, json_codec.text(one)) for place, one in enumerate(steps)]
        if says:
            found[-1] = replace(found[-1], told=len(events), ends_with=ends_with)
        if not self._begun:
            found[0] = replace(found[0], begins_with=begins_with)
        self._begun = True
        self._number += len(found)
        return found


def recording(
    steps: Iterable[StepRow], events: Iterable[EventRow], states: Iterable[tuple[int, str]]
) -> Iterator[bytes]:
    """Yield the lines of a recording. Raises InvalidState where the log does not hold every step.

    ``states``: the number and the change of each, in order.
    """
    left = deque(events)
    chain = _Chain(states)
    blocks: dict[int, int] = {}  # round -> its first block
    begun = False
    for step in steps:
        while left and left[0].seq < step.seq:
            row = left.popleft()
            if begun:  # else it was told before steps were kept
                yield step_line(_told_by(row, blocks), [json_codec.decode(row.data)], None)
        if step.begins_with is not None:
            begun = True
            yield head_line(json_codec.decode(chain.dumped(step.begins_with)))
        told = [left.popleft() for _ in range(min(step.told, len(left)))]
        for row in told:
            if row.type == "round_started":
                started = cast(RoundStarted, row.event)
                blocks[started.round] = started.first_block
        digest = step.state if step.ends_with is None else hashlib.sha256(chain.dumped(step.ends_with)).hexdigest()
        yield step_line(json_codec.decode(step.happening), [json_codec.decode(row.data) for row in told], digest)
    for row in left:
        yield step_line(_told_by(row, blocks), [json_codec.decode(row.data)], None)


class _Chain:
    """The states of a turn, one after the other."""

    def __init__(self, states: Iterable[tuple[int, str]]) -> None:
        self._left = deque(states)
        self._document: Any = None

    def dumped(self, number: int) -> bytes:
        """The JSON of the state of that number. They can only be read in order."""
        while self._left and self._left[0][0] <= number:
            self._document = applied(self._document, json_codec.decode(self._left.popleft()[1]))
        return dump(load(json_codec.encode(self._document)))


def _told_by(row: EventRow, blocks: dict[int, int]) -> Happening:
    """What the machine was told, by the event that says all of it."""
    event = row.event
    make = _MADE.get(type(event))
    if make is None:
        raise InvalidState(f"event {row.seq}, {row.type}, is of a step that the log does not hold")
    return cast(Happening, make(event, blocks))


def _key(event: Any, blocks: dict[int, int]) -> int:
    number: int = event.block.sequence if isinstance(event, (BlockStop, BlockSettled)) else event.sequence
    return number - blocks[event.round]


_MADE: dict[type, Callable[[Any, dict[int, int]], Any]] = {
    BlockStart: lambda e, blocks: Opened(_key(e, blocks), e.block_type, e.tool_use_id, e.tool_name),
    BlockDelta: lambda e, blocks: Grew(_key(e, blocks), e.text),
    BlockReset: lambda e, blocks: Replaced(_key(e, blocks), e.text),
    BlockStop: lambda e, blocks: Closed(
        _key(e, blocks), e.block.block_type, e.block.text_content, e.block.content, e.cut
    ),
    BlockSettled: lambda e, blocks: Settled(_key(e, blocks), e.block.block_type, e.block.text_content, e.block.content),
    CallProgress: lambda e, blocks: Progressed(e.call_id, e.data),
    Acknowledged: lambda e, blocks: Acknowledging(e.text, e.spoken, e.round),
}
