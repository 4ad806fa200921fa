"""Assignment of stream deltas to steps, by the index and type of the delta.

Translating proxies send deltas with the index of another item on every wire. Nothing shows which call misplaced
arguments belong to. Every call that may lack them is therefore marked as doubtful, so that it does not run.
"""

from __future__ import annotations

from msgspec import Struct

from ..decode_context import Context
from ..schema import Unknown, Wire
from .stream_state import IMPLIED, StepState


class StepRouter(Struct, eq=False):
    """The steps of one stream. ``all``: in the order of their starts. ``by_index``: the last step of each index."""

    _context: Context
    all: list[StepState] = []
    by_index: dict[int, StepState] = {}
    _has_misplaced: bool = False

    def begin(self, step: Wire, index: int | None) -> StepState:
        """Add the step of a start event, and return its state."""
        at = len(self.all) if index is None else index
        if at in self.by_index:
            self._context.find("index-reused", f"a second step under index {at}")
        state = StepState(step, at)
        self.all.append(state)
        self.by_index[at] = state
        return state

    def at(self, index: int | None) -> StepState | None:
        """Return the last step of an index, or the last step of all if ``index`` is None; None if there is none."""
        if index is None:
            return self.all[-1] if self.all else None
        return self.by_index.get(index)

    def step_for(self, index: int | None, kind: str | None) -> StepState | None:
        """Return the step for a delta, which may be a new one; None for a delta of an unknown type without a step."""
        placed = self.at(index)
        if placed is not None and placed.takes(kind):
            return placed
        implied = IMPLIED.get(kind)
        if implied is None:
            return None
        location = "where no step was started" if placed is None else f"which is a {_type(placed.step)} step"
        self._context.find_once("delta-misplaced", f"{kind} under index {index}, {location}")
        fitting = (state for state in reversed(self.all) if not state.stopped and state.takes(kind))
        state = next(fitting, None) if placed is not None else None
        if state is None:
            state = StepState(implied(), len(self.all) if index is None else index)
            self.all.append(state)
            if placed is None:
                self.by_index[state.index] = state
        if kind == "arguments_delta":
            self._has_misplaced = state.doubtful = True
        return state

    def in_order(self) -> list[StepState]:
        """Return the steps by index, or in the order of their starts if two have the same index."""
        if self._has_misplaced:
            for state in self.all:
                state.doubtful = state.doubtful or state.has_no_arguments()
        if len(self.by_index) == len(self.all):
            return sorted(self.all, key=_by_index)
        return self.all


def _by_index(state: StepState) -> int:
    return state.index


def _type(step: Wire) -> str:
    return str(step.wire_type if type(step) is Unknown else step.__struct_config__.tag)
