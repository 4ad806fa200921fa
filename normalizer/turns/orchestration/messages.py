"""Messages between the parts of an orchestrated turn and to its listeners: phases, recoveries and retries.

    Reasoning -> ToolExecution -> Synthesis -> Reasoning -> … -> FinalResponse

The phases follow from the steps of the machine alone: the same steps yield the same phases. The turn's stream and its
log contain the messages as `noted` events.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from ... import json_codec
from .. import events
from ..events import CallsKnown, RoundFinished
from ..machine.effects import Ask, Effect, Emit, StopTasks
from ..machine.inputs import AddNote
from ..machine.state import TurnState

#: Levels of recovery, in ascending order: a fallback tool, a retry of the round with a shorter request, a last answer
#: without tools, an answer that the program assembles from the results.
RecoveryLevel = Literal["tool", "round", "session", "assembled"]
LEVELS: tuple[RecoveryLevel, ...] = ("tool", "round", "session", "assembled")


class _Message(Struct, tag_field="type", frozen=True, gc=False):
    round: int


class Reasoning(_Message, tag="reasoning", frozen=True, gc=False):
    """A request to the model. ``attempt``: from 1, in its round. ``last``: the model may not call tools any more."""

    attempt: int
    last: bool


class ToolExecution(_Message, tag="tool_execution", frozen=True, gc=False):
    """Calls are about to run. ``calls``: the id and the tool name of each."""

    calls: list[tuple[str, str]]


class Synthesis(_Message, tag="synthesis", frozen=True, gc=False):
    """The results of a round are complete. ``found`` and ``failed``: ids of the calls that succeeded and failed."""

    found: list[str]
    failed: list[str]


class FinalResponse(_Message, tag="final_response", frozen=True, gc=False):
    """The turn is over. ``text`` and ``uncertainty``: see `Orchestrated`."""

    termination: str
    text: str = ""
    uncertainty: str = ""


class Recovery(_Message, tag="recovery", frozen=True, gc=False):
    """A recovery step. ``why``: the failure. ``call_id``: the call that failed. ``tool``: the fallback that ran."""

    level: RecoveryLevel
    why: str
    call_id: str | None = None
    tool: str | None = None


class Retry(_Message, tag="retry", frozen=True, gc=False):
    """The provider is overloaded: the same request is sent again after ``seconds``, as the ``attempt``-th of its round.

    ``demanded``: the seconds that the provider demands, None if it demands none. ``status``: the HTTP status, if any.
    """

    attempt: int
    seconds: float
    why: str
    demanded: float | None = None
    status: int | None = None


Phase = Reasoning | ToolExecution | Synthesis | FinalResponse
Message = Phase | Recovery | Retry


def phases(state: TurnState, effects: list[Effect]) -> list[Phase]:
    """Return the phases that one step of the machine ends and begins. ``state``: the state after the step."""
    found: list[Phase] = []
    for effect in effects:
        if isinstance(effect, Emit) and isinstance(effect.event, CallsKnown) and effect.event.kept:
            known = effect.event
            found.append(ToolExecution(known.round, [(ref.id, ref.name) for ref in known.kept]))
        elif isinstance(effect, Emit) and isinstance(effect.event, RoundFinished):
            results = state.rounds[effect.event.round - 1].tool_results
            if results:
                failed = [one.call_id for one in results if one.is_error]
                fine = [one.call_id for one in results if not one.is_error]
                found.append(Synthesis(effect.event.round, fine, failed))
        elif isinstance(effect, Ask) and state.round is not None:
            found.append(Reasoning(effect.round, state.round.attempt, effect.last))
        elif isinstance(effect, StopTasks) and state.termination is not None:
            found.append(FinalResponse(len(state.rounds), state.termination))
    return found


def noted(message: Message) -> AddNote:
    """Return a message as an input of the machine. The state keeps recoveries for the note in the final answer."""
    data: dict[str, Any] = json_codec.decode(json_codec.encode(message))  # equal to what a log returns
    note, round = data.pop("type"), data.pop("round")
    return AddNote(round, note, data, isinstance(message, Recovery))


def message_of(event: events.Noted) -> Message:
    """Return the message that a `noted` event contains."""
    return cast(Message, msgspec.convert({**event.data, "type": event.note, "round": event.round}, Message))


def recoveries(state: TurnState) -> list[Recovery]:
    """Return the recoveries that a turn's state contains, those of earlier coordinators included."""
    return [
        msgspec.convert({**one.data, "round": one.round}, Recovery) for one in state.notes if one.note == "recovery"
    ]
