"""Assignment of stream deltas to steps, by the index and type of the delta.

Translating proxies send deltas with the index of another item on every wire. Nothing shows which call misplaced
arguments belong to. Every call that may lack them is therefore marked as doubtful, so that it does not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...events import Event
from ...model import Block
from ..block_stream import BlockStream
from .stream_state import IMPLIED, StepState


class RoutedStream(BlockStream[StepState]):
    """The part of a stream's decoder that assigns deltas to steps. A step starts its blocks itself."""

    state_type = StepState
    noun = "step"

    def add(
        self,
        kind: str | None,
        start: Any,
        index: int,
        out: list[Event],
        before: StepState | None = None,
        implied: bool = False,
    ) -> StepState:
        """Add a step. It has no block yet, and its index forgets the step before."""
        state = StepState(None, index, -1, start)
        self.blocks.append(state)
        return state

    def step_for(self, index: int | None, kind: str | None, out: list[Event]) -> StepState | None:
        """Return the step for a delta, which may be a new one; None for a delta of an unknown type without a step."""
        placed = self.at(index)
        if kind not in IMPLIED and (placed is None or not placed.takes(kind)):
            return None
        return self.holder(kind, index, kind, out)

    def misplaced(self, kind: str, index: int | None, placed: StepState | None, out: list[Event]) -> StepState:
        """See `BlockStream.misplaced`. ``kind``: the type of the delta."""
        fitting = (state for state in reversed(self.blocks) if not state.stopped and state.takes(kind))
        state = next(fitting, None) if placed is not None else None
        if state is None:
            state = self.imply(None, IMPLIED[kind](), index, out)
            if placed is None:
                self.by_index[state.index] = state
        if kind == "arguments_delta":
            self.has_misplaced = state.doubtful = True
        return state

    def in_order(self) -> list[StepState]:
        """See `BlockStream.in_order`. After misplaced arguments, calls without any are doubtful."""
        if self.has_misplaced:
            for state in self.blocks:
                state.doubtful = state.doubtful or state.has_no_arguments()
        return super().in_order()

    def doubted(self, states: list[StepState], blocks: list[Block]) -> Iterable[StepState]:
        """See `BlockStream.doubted`."""
        return [state for state in states if state.doubtful and state.block >= 0]
