"""Conversion of a turn's steps to rows, and of the rows to a recording for `orchestration.replay`.

A step is an input of the machine, with the events and the state that it produces. Most steps of a streamed answer
produce one event that contains the whole input. Of those, only the event is stored, and the input is derived from it.
So a recording adds a few rows per round, however many chunks the answer has.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ... import json_codec
from ..errors import InvalidState
from ..events import (
    Acknowledged,
    CallProgress,
    RoundStarted,
    TurnBlockDelta,
    TurnBlockReset,
    TurnBlockRevised,
    TurnBlockStart,
    TurnBlockStop,
    TurnEvent,
)
from ..machine.inputs import (
    AcknowledgementReady,
    BlockEnded,
    BlockExtended,
    BlockReplaced,
    BlockRevised,
    BlockStarted,
    CallProgressed,
    Input,
)
from ..machine.state import dump, load
from ..orchestration.recording import head_line, step_line
from .changes import applied
from .rows import EventRow

#: Inputs that can be derived from their one event.
TOLD = (BlockStarted, BlockExtended, BlockReplaced, BlockEnded, BlockRevised, CallProgressed, AcknowledgementReady)


class StepRow(Struct, frozen=True, gc=False):
    """A step whose input cannot be derived from its events.

    ``seq``: the number of its first event, or of the next event if it has none. ``told``: how many events it has.
    ``happening``: the input as JSON text. ``ends_with``: the number of the state stored with it. ``begins_with``: the
    number of the state before it, if a runner begins or resumes the turn with this step. ``state``: the digest of the
    state, only in rows that version 2 of the tables wrote, which stored no states.
    """

    number: int
    seq: int
    told: int
    happening: str
    state: str | None = None
    begins_with: int | None = None
    ends_with: int | None = None


class Steps:
    """Collects the steps of one recorder. ``number``: the number of its first step."""

    def __init__(self, number: int = 1) -> None:
        self._number = number
        self._told: list[Input] = []
        self._begun = False  # a step of this recorder has been written

    @property
    def begins(self) -> bool:
        """Whether the next state is the first one after a step of this recorder."""
        return not self._begun and bool(self._told)

    def happened(self, happening: Input) -> None:
        """Note an input of the machine. Its events follow in the next call of `rows`."""
        if self._told and isinstance(self._told[-1], TOLD):
            self._told.pop()  # it had no effect, or its event contains it
        self._told.append(happening)

    def rows(
        self, seq: int, events: Sequence[TurnEvent], begins_with: int | None, ends_with: int | None
    ) -> list[StepRow]:
        """Return the rows to write with these events, the first of which has the number ``seq``.

        ``ends_with``: the number of the state that is stored with them, None if there is none. ``begins_with``: the
        number of the state before the first step. Before the first state is stored, there are no rows.
        """
        steps: list[Input] = [one for one in self._told[:-1] if not isinstance(one, TOLD)]
        says = bool(self._told) and not (isinstance(self._told[-1], TOLD) and ends_with is None and len(events) == 1)
        if says:  # else the one event contains the last input; the inputs before it produced no events
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
    """Yield the lines of a recording for `orchestration.replay`. Raises InvalidState if the log lacks a step.

    ``states``: the number and the change (JSON text) of each stored state, in order.
    """
    left = deque(events)
    chain = _Chain(states)
    blocks: dict[int, int] = {}  # round -> its first block
    begun = False
    for step in steps:
        while left and left[0].seq < step.seq:
            row = left.popleft()
            if begun:  # else the event is older than the first stored step
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
    """Rebuilds the states of a turn, one after the other, from their changes."""

    def __init__(self, states: Iterable[tuple[int, str]]) -> None:
        self._left = deque(states)
        self._document: Any = None

    def dumped(self, number: int) -> bytes:
        """Return the JSON of state ``number``. Successive calls must pass ascending numbers."""
        while self._left and self._left[0][0] <= number:
            self._document = applied(self._document, json_codec.decode(self._left.popleft()[1]))
        return dump(load(json_codec.encode(self._document)))


def _told_by(row: EventRow, blocks: dict[int, int]) -> Input:
    """Return the input that produced this event. ``blocks``: round -> its first block.

    Raises InvalidState if an event of this type does not determine its input.
    """
    event = row.event
    make = _MADE.get(type(event))
    if make is None:
        raise InvalidState(f"event {row.seq}, {row.type}, is of a step that the log does not hold")
    return cast(Input, make(event, blocks))


def _key(event: Any, blocks: dict[int, int]) -> int:
    number: int = event.block.sequence if isinstance(event, (TurnBlockStop, TurnBlockRevised)) else event.sequence
    return number - blocks[event.round]


_MADE: dict[type, Callable[[Any, dict[int, int]], Any]] = {
    TurnBlockStart: lambda e, blocks: BlockStarted(_key(e, blocks), e.block_type, e.tool_use_id, e.tool_name),
    TurnBlockDelta: lambda e, blocks: BlockExtended(_key(e, blocks), e.text),
    TurnBlockReset: lambda e, blocks: BlockReplaced(_key(e, blocks), e.text),
    TurnBlockStop: lambda e, blocks: BlockEnded(
        _key(e, blocks), e.block.block_type, e.block.text_content, e.block.content, e.cut
    ),
    TurnBlockRevised: lambda e, blocks: BlockRevised(
        _key(e, blocks), e.block.block_type, e.block.text_content, e.block.content
    ),
    CallProgress: lambda e, blocks: CallProgressed(e.call_id, e.data),
    Acknowledged: lambda e, blocks: AcknowledgementReady(e.text, e.spoken, e.round),
}
