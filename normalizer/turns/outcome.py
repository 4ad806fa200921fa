"""How a turn ended, and how the conversation goes on from there."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..conversation import Request, TextPart, User
from ..model import Error, ToolCall, Usage
from .happenings import Cancelled
from .machine import step
from .places import place
from .state import Termination, TurnState

_WENT_ON = "the conversation went on without it"


class Waiting(Struct, frozen=True):
    """A call that waits for somebody outside. ``wants``: "decision" (`Turn.decide`), or "result" (`Turn.answer`).

    ``arguments``: null where the call has a text and no object. ``server``: whose tool it is, where the provider would
    run it. ``key``: names this call for ever, for whoever runs it elsewhere; "" where the provider would.
    """

    id: str
    name: str
    wants: Literal["decision", "result"]
    arguments: dict[str, Any] | None
    arguments_text: str
    key: str
    server: str | None = None


class Outcome(Struct, frozen=True):
    """``text``: the answer; ``written``: by the model, or by the turn itself for want of one.

    ``waiting``: the calls that want a decision or a result; then the turn is not over. ``state``: all of it.
    """

    state: TurnState
    text: str
    written: bool
    termination: Termination | None
    waiting: list[Waiting]
    usage: Usage | None
    error: Error | None

    def next(self, message: str) -> Request:
        """The request with which the conversation goes on: the whole history, and what the user says next.

        Of a turn that waits, the calls that ran keep their results, and those that wait are answered as not executed.
        """
        said = User([TextPart(message)])
        closed, _ = step(self.state, Cancelled(_WENT_ON))
        return replace(self.state.request, turns=[*closed.history(), said])


def outcome_of(state: TurnState) -> Outcome:
    """The outcome of a state."""
    waiting = _waiting(state) if state.phase == "acting" else []
    return Outcome(state, state.text, state.written, state.termination, waiting, state.usage, state.error)


def _waiting(state: TurnState) -> list[Waiting]:
    found = []
    for call in state.waiting:
        asked = place(call, state.rounds[-1], state.settings)[1]
        arguments = asked.arguments if isinstance(asked, ToolCall) else None
        wants: Literal["decision", "result"] = "result" if call.status == "waiting_result" else "decision"
        found.append(Waiting(call.id, call.name, wants, arguments, asked.arguments_text, call.key, call.server))
    return found
