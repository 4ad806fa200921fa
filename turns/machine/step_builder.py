"""The builder of one step of the machine: collects the new state and the effects in order."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..events import TurnBlock, TurnEvent
from .effects import Approve, Ask, Effect, Emit, Execute, Save, StopTasks, Wait
from .state import CallState, RoundState, TurnState


class StepBuilder:
    """Collects one step. ``state`` is replaced and never mutated, so that the previous state stays valid."""

    __slots__ = ("_actions", "_emits", "_saves", "state")

    def __init__(self, state: TurnState) -> None:
        self.state = state
        self._emits: list[Emit] = []
        self._saves = False
        self._actions: list[Ask | Execute | Approve | StopTasks | Wait] = []

    @property
    def effects(self) -> list[Effect]:
        """The effects in order: events, then at most one `Save` of the state after them, then actions."""
        return [*self._emits, *([Save(self.state)] if self._saves else []), *self._actions]

    @property
    def round(self) -> RoundState:
        """The current round."""
        return self.state.rounds[-1]

    def call(self, id: str) -> CallState:
        """Return the call of the current round with this id."""
        return next(call for call in self.round.calls if call.id == id)

    def emit(self, event: type[TurnEvent], *members: Any) -> None:
        """Emit an event with the next number. ``members``: its fields after ``seq``."""
        self._emits.append(Emit(event(self.state.seq, *members)))
        self.state = replace(self.state, seq=self.state.seq + 1)

    def emit_in_round(self, event: type[TurnEvent], *members: Any) -> None:
        """Emit an event of the current round. ``members``: its fields after ``round``."""
        self.emit(event, self.round.round_number, *members)

    def save(self) -> None:
        """Save the final state of the step before its actions."""
        self._saves = True

    def do(self, action: Ask | Execute | Approve | StopTasks | Wait) -> None:
        """Add an action."""
        self._actions.append(action)

    def set(self, **members: Any) -> None:
        """Replace fields of the state."""
        self.state = replace(self.state, **members)

    def set_round(self, **members: Any) -> None:
        """Replace fields of the current round."""
        self.set(rounds=[*self.state.rounds[:-1], replace(self.round, **members)])

    def set_call(self, id: str, **members: Any) -> CallState:
        """Replace fields of a call of the current round, and return the new call."""
        calls = [replace(call, **members) if call.id == id else call for call in self.round.calls]
        self.set_round(calls=calls)
        return self.call(id)

    def block(self, sequence: int, block_type: str, text_content: str | None, content: Any) -> TurnBlock:
        """Return a block with this number. Blocks without a number yet get later ones."""
        if sequence >= self.state.block:
            self.set(block=sequence + 1)
        return TurnBlock(sequence, block_type, text_content, content)
