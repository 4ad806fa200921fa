"""The outcome of a turn, and the request that continues the conversation."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..conversation import Request, TextPart, User
from ..model import Error, ToolCall, Usage
from .machine.inputs import Cancel
from .machine.state import Termination, TurnState
from .machine.table import step

_WENT_ON = "the conversation went on without it"


class Waiting(Struct, frozen=True):
    """A call that waits for the caller. ``wants``: "decision" (`Turn.decide`) or "result" (`Turn.answer`).

    ``arguments``: None if the argument text is not a JSON object. ``key``: the permanent key of the call, "" if the
    provider would run it. ``server``: the MCP server, if the provider would run it.
    """

    id: str
    name: str
    wants: Literal["decision", "result"]
    arguments: dict[str, Any] | None
    arguments_text: str
    key: str
    server: str | None = None


class Outcome(Struct, frozen=True):
    """The result of running a turn. ``text``: the answer. ``written``: whether the model wrote it, not the turn.

    ``waiting``: the calls that wait for a decision or a result; while there are any, the turn is not over. ``state``:
    the complete state, which can be saved and resumed.
    """

    state: TurnState
    text: str
    written: bool
    termination: Termination | None
    waiting: list[Waiting]
    usage: Usage | None
    error: Error | None

    def next(self, message: str) -> Request:
        """Return the request that continues the conversation: the whole history and the next user message.

        If the turn still waits, it is cancelled in the history: calls with results keep them, and a waiting call gets
        an error result.
        """
        said = User([TextPart(message)])
        closed, _ = step(self.state, Cancel(_WENT_ON))
        return replace(self.state.request, messages=[*closed.history(), said])


def outcome_of(state: TurnState) -> Outcome:
    """Return the outcome of a state."""
    waiting = _waiting(state) if state.phase == "acting" else []
    return Outcome(state, state.text, state.written, state.termination, waiting, state.usage, state.error)


def _waiting(state: TurnState) -> list[Waiting]:
    found = []
    for call in state.waiting:
        _, asked = state.block_of(call)
        arguments = asked.arguments if isinstance(asked, ToolCall) else None
        wants: Literal["decision", "result"] = "result" if call.status == "waiting_result" else "decision"
        found.append(Waiting(call.id, call.name, wants, arguments, asked.arguments_text, call.key, call.server))
    return found
