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

from toolparity.normalizer import json_codec

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
from ..observer import Step
from ..orchestration.recording import head_line, step_line
from .changes import applied
from .rows import EventRow

#: Inputs that can be derived from their one event.
DERIVABLE = (
    BlockStarted,
    BlockExtended,
    BlockReplaced,
    BlockEnded,
    BlockRevised,
    CallProgressed,
    AcknowledgementReady,
)


class StepRow(Struct, frozen=True, gc=False):
    """A step whose input cannot be derived from its events.

    ``seq``: the number of its first event, or of the next event if it has none. ``input``: the input as JSON text.
    ``ends_with``: the number of the state stored with it. ``begins_with``: the number of the state before it, if a
    runner begins or resumes the turn with this step. ``state``: the digest of the state, only in rows that version 2 of
    the tables wrote, which stored no states.
    """

    number: int
    seq: int
    event_count: int
    input: str
    state: str | None = None
    begins_with: int | None = None
    ends_with: int | None = None


class Steps:
    """Collects the steps of one observer. ``number``: the number of its first step."""

    def __init__(self, number: int = 1) -> None:
        self._number = number
        self._inputs: list[Input] = []
        self._has_rows = False  # a step of this observer has been written

    def begins(self, steps: Sequence[Step]) -> bool:
        """Return whether these steps, or those noted before, are the first ones of this observer."""
        return not self._has_rows and (bool(self._inputs) or any(step.input is not None for step in steps))

    def add(self, input: Input) -> None:
        """Note an input of the machine. Its events follow in the next call of `rows`."""
        if self._inputs and isinstance(self._inputs[-1], DERIVABLE):
            self._inputs.pop()  # it had no effect, or its event contains it
        self._inputs.append(input)

    def rows(
        self, seq: int, events: Sequence[TurnEvent], begins_with: int | None, ends_with: int | None
    ) -> list[StepRow]:
        """Return the rows to write with these events, the first of which has the number ``seq``.

        ``ends_with``: the number of the state that is stored for them, None if there is none. ``begins_with``: the
        number of the state before the first step, None if the transaction stores no state. Before the first state is
        stored, there are no rows.
        """
        inputs, self._inputs = self._inputs, []
        if not inputs or (begins_with is None and not self._has_rows):
            return []
        kept: list[Input] = [input for input in inputs[:-1] if not isinstance(input, DERIVABLE)]
        # Often the one event contains the last input. The inputs before it produced no events.
        keeps_last = not (isinstance(inputs[-1], DERIVABLE) and ends_with is None and len(events) == 1)
        if keeps_last:
            kept.append(inputs[-1])
        if not kept:
            return []
        rows = [StepRow(number, seq, 0, json_codec.text(input)) for number, input in enumerate(kept, self._number)]
        if keeps_last:
            rows[-1] = replace(rows[-1], event_count=len(events), ends_with=ends_with)
        if not self._has_rows:
            rows[0] = replace(rows[0], begins_with=begins_with)
        self._has_rows = True
        self._number += len(rows)
        return rows


def recording(
    steps: Iterable[StepRow], events: Iterable[EventRow], states: Iterable[tuple[int, str]]
) -> Iterator[bytes]:
    """Yield the lines of a recording for `orchestration.replay`. Raises InvalidState if the log lacks a step.

    ``states``: the number and the change (JSON text) of each stored state, in order.
    """
    left = deque(events)
    chain = _StateChain(states)
    first_blocks: dict[int, int] = {}  # by round
    has_begun = False
    for step in steps:
        while left and left[0].seq < step.seq:
            row = left.popleft()
            if has_begun:  # else the event is older than the first stored step
                yield _derived_line(row, first_blocks)
        if step.begins_with is not None:
            has_begun = True
            yield head_line(json_codec.decode(chain.dumped(step.begins_with)))
        rows = [left.popleft() for _ in range(min(step.event_count, len(left)))]
        for row in rows:
            if row.type == "round_started":
                started = cast(RoundStarted, row.event)
                first_blocks[started.round] = started.first_block
        digest = step.state if step.ends_with is None else hashlib.sha256(chain.dumped(step.ends_with)).hexdigest()
        yield step_line(json_codec.decode(step.input), [json_codec.decode(row.data) for row in rows], digest)
    for row in left:
        yield _derived_line(row, first_blocks)


class _StateChain:
    """Rebuilds the states of a turn, one after the other, from their changes."""

    def __init__(self, states: Iterable[tuple[int, str]]) -> None:
        self._left = deque(states)
        self._document: Any = None

    def dumped(self, number: int) -> bytes:
        """Return the JSON of state ``number``. Successive calls must pass ascending numbers."""
        while self._left and self._left[0][0] <= number:
            self._document = applied(self._document, json_codec.decode(self._left.popleft()[1]))
        return dump(load(json_codec.encode(self._document)))


def _derived_line(row: EventRow, first_blocks: dict[int, int]) -> bytes:
    """Return the line of a step with the input that produced this event. ``first_blocks``: the first block by round.

    Raises InvalidState if an event of this type does not determine its input.
    """
    event = row.event
    to_input = _INPUTS.get(type(event))
    if to_input is None:
        raise InvalidState(f"the log lacks the step of event {row.seq}, {row.type}")
    return step_line(to_input(event, first_blocks), [json_codec.decode(row.data)], None)


def _key(event: Any, first_blocks: dict[int, int]) -> int:
    number: int = event.block.sequence if isinstance(event, (TurnBlockStop, TurnBlockRevised)) else event.sequence
    return number - first_blocks[event.round]


#: Event -> the function that returns its input, given the event and the first block of each round.
_INPUTS: dict[type, Callable[[Any, dict[int, int]], Any]] = {
    TurnBlockStart: lambda e, first: BlockStarted(_key(e, first), e.block_type, e.tool_use_id, e.tool_name),
    TurnBlockDelta: lambda e, first: BlockExtended(_key(e, first), e.text),
    TurnBlockReset: lambda e, first: BlockReplaced(_key(e, first), e.text),
    TurnBlockStop: lambda e, first: BlockEnded(
        _key(e, first), e.block.block_type, e.block.text_content, e.block.content, e.cut
    ),
    TurnBlockRevised: lambda e, first: BlockRevised(
        _key(e, first), e.block.block_type, e.block.text_content, e.block.content
    ),
    CallProgress: lambda e, first: CallProgressed(e.call_id, e.data),
    Acknowledged: lambda e, first: AcknowledgementReady(e.text, e.spoken, e.round),
}
