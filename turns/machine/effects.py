"""The effects that the state machine returns. The driver performs them in order, and reports results as inputs.

A step returns its events first, then at most one `Save` with the state after them, then the actions. So a log can write
a step in one transaction, before any of its actions starts.
"""

from __future__ import annotations

from msgspec import Struct

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import ToolCall

from ..events import TurnEvent
from .state import TurnState


class Emit(Struct, frozen=True):
    """Emit this event."""

    event: TurnEvent


class Save(Struct, frozen=True):
    """Save this state before performing the effects after it. It includes every event of its step."""

    state: TurnState


class Ask(Struct, frozen=True):
    """Send this request. Report inputs for the blocks of the answer, then `AnswerReceived` or `AnswerFailed`.

    ``last``: the model may not call tools any more.
    """

    request: Request
    round: int
    last: bool = False


class Execute(Struct, frozen=True):
    """Run these calls according to the policy. Report `CallStarting` and `CallSettled` for each."""

    calls: list[ToolCall]


class Approve(Struct, frozen=True):
    """Get a decision on these calls, now or later. Report `CallDecided` for each."""

    call_ids: list[str]


class StopTasks(Struct, frozen=True):
    """End everything that still runs for this turn."""


class Wait(Struct, frozen=True):
    """No call runs, and these calls wait for a decision or a result. The state can be stored until one arrives."""

    call_ids: list[str]


Effect = Emit | Save | Ask | Execute | Approve | StopTasks | Wait
