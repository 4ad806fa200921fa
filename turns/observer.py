"""The observer interface of a turn, which a turn log implements.

    class Log(Observer):
        async def save(self, state): ...    # write it down; when this returns, it is on disk
        async def event(self, event): ...

The order of the calls is guaranteed. `save` returns before the model is asked, before a tool starts, and after it
finished. `event` returns before the consumer of the stream gets the event. If either raises, the turn stops, so that
nothing runs that was not recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .events import TurnEvent
from .machine.inputs import Input
from .machine.state import TurnState


class Step(NamedTuple):
    """A step of the machine. ``state``: the state after it, None if it need not be saved.

    ``input``: None if it was passed to `Observer.input` before.
    """

    input: Input | None
    events: Sequence[TurnEvent]
    state: TurnState | None


class Observer:
    """Receives every input, event and state of a turn, and does nothing. Override the methods that you need."""

    async def record_steps(self, steps: Sequence[Step]) -> None:
        """Receive consecutive steps, before the effects of the first one start and its events reach the consumer.

        The default calls `input` and `record` for each. A log overrides this to write all in one transaction.
        """
        for step in steps:
            if step.input is not None:
                await self.input(step.input)
            if step.events or step.state is not None:
                await self.record(step.events, step.state)

    async def input(self, input: Input) -> None:
        """Receive an input of the machine, before the events that follow from it.

        All inputs in order are a recording of the turn: `machine.table.step` over them, from the first state, returns
        the same states, events and effects again.
        """

    async def record(self, events: Sequence[TurnEvent], state: TurnState | None) -> None:
        """Receive the events of one step in order, and the state after them if it must be saved.

        ``state.seq`` is the number after the last of ``events``. The default calls `event` for each, then `save`. A log
        overrides this to write both in one transaction. Otherwise a process that ends between the writes leaves a
        state and events that do not match.
        """
        for event in events:
            await self.event(event)
        if state is not None:
            await self.save(state)

    async def event(self, event: TurnEvent) -> None:
        """Receive an event, in the order of ``seq``. `block_stop` and `block_settled` contain the blocks to store."""

    async def save(self, state: TurnState) -> None:
        """Save the state.

        ``state.seq`` is the number of the next event. If the process ends before the next save, a log may hold later
        events. It then resumes the turn with ``replace(state, seq=…)``, so that no event number is used twice. The
        blocks of these events are emitted again with the same ``sequence``.
        """


def parts(observer: Observer, steps: Sequence[Step]) -> list[Sequence[Step]]:
    """Return the steps as an observer receives them: one by one, unless it records a group as a whole."""
    if not steps or type(observer).record_steps is not Observer.record_steps:
        return [steps] if steps else []
    return [[step] for step in steps]
