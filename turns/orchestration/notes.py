"""Messages between the parts of an orchestrated turn and to its listeners: phases, recoveries and retries.

    Reasoning -> ToolExecution -> Synthesis -> Reasoning -> … -> FinalResponse

The phases follow from the steps of the machine alone: the same steps yield the same phases. The turn's stream and its
log contain the messages as `to_input` events.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from msgspec import Struct

from toolparity.normalizer import json_codec

from .. import events
from ..events import CallsKnown, RoundFinished
from ..machine.effects import Ask, Effect, Emit, StopTasks
from ..machine.inputs import AddNote
from ..machine.state import TurnState

#: Levels of recovery, in ascending order: a fallback tool, a retry of the round with a shorter request, a last answer
#: without tools, an answer that the program assembles from the results.
RecoveryLevel = Literal["tool", "round", "session", "assembled"]
LEVELS: tuple[RecoveryLevel, ...] = ("tool", "round", "session", "assembled")


class _Note(Struct, tag_field="type", frozen=True, gc=False):
    round: int


class ReasoningPhase(_Note, tag="reasoning", frozen=True, gc=False):
    """A request to the model. ``attempt``: from 1, in its round. ``last``: the model may not call tools any more."""

    attempt: int
    last: bool


class ToolExecutionPhase(_Note, tag="tool_execution", frozen=True, gc=False):
    """Calls are about to run. ``calls``: the id and the tool name of each."""

    calls: list[tuple[str, str]]


class SynthesisPhase(_Note, tag="synthesis", frozen=True, gc=False):
    """The results of a round are complete. ``found`` and ``failed``: ids of the calls that succeeded and failed."""

    found: list[str]
    failed: list[str]


class FinalPhase(_Note, tag="final_response", frozen=True, gc=False):
    """The turn is over. ``text`` and ``uncertainty``: see `Orchestrated`."""

    termination: str
    text: str = ""
    uncertainty: str = ""


class Recovery(_Note, tag="recovery", frozen=True, gc=False):
    """A recovery step. ``why``: the failure. ``call_id``: the call that failed. ``tool``: the fallback that ran.

    ``seconds``: the wait before the next request.
    """

    level: RecoveryLevel
    why: str
    call_id: str | None = None
    tool: str | None = None
    seconds: float = 0.0


class RetryNote(_Note, tag="retry", frozen=True, gc=False):
    """The provider is overloaded: the same request is sent again after ``seconds``, as the ``attempt``-th of its round.

    ``demanded``: the seconds that the provider demands, None if it demands none. ``status``: the HTTP status, if any.
    """

    attempt: int
    seconds: float
    why: str
    demanded: float | None = None
    status: int | None = None


class Failover(_Note, tag="failover", frozen=True, gc=False, rename={"failed": "from"}):
    """A provider failed, and the turn continues with another one. Each has its ``wire``, ``name`` and ``model``."""

    failed: dict[str, str | None]
    to: dict[str, str | None]
    why: str
    status: int | None = None


class Instructed(_Note, tag="instructed", frozen=True, gc=False):
    """A provider refused a request with a form of the answer: the instructions contain the form from now on."""

    why: str
    status: int | None = None


class Steering(_Note, tag="steering", frozen=True, gc=False):
    """A listener decided on a phase (`listeners.Veto`, `Change`, `Add`). ``why``: the reason of a veto."""

    phase: str
    decision: Literal["veto", "change", "add"]
    why: str = ""


#: The notes that mark the phases of an orchestrated turn.
Phase = ReasoningPhase | ToolExecutionPhase | SynthesisPhase | FinalPhase
#: What `note_of` returns.
OrchestrationNote = Phase | Recovery | RetryNote | Failover | Instructed | Steering


def phases(state: TurnState, effects: list[Effect]) -> list[Phase]:
    """Return the phases that one step of the machine ends and begins. ``state``: the state after the step."""
    result: list[Phase] = []
    for effect in effects:
        event = effect.event if isinstance(effect, Emit) else None
        if isinstance(event, CallsKnown) and event.kept:
            result.append(ToolExecutionPhase(event.round, [(ref.id, ref.name) for ref in event.kept]))
        elif isinstance(event, RoundFinished):
            results = state.rounds[event.round - 1].tool_results
            if results:
                succeeded = [result.call_id for result in results if not result.is_error]
                failed = [result.call_id for result in results if result.is_error]
                result.append(SynthesisPhase(event.round, succeeded, failed))
        elif isinstance(effect, Ask) and state.round is not None:
            result.append(ReasoningPhase(effect.round, state.round.attempt, effect.last))
        elif isinstance(effect, StopTasks) and state.termination is not None:
            result.append(FinalPhase(len(state.rounds), state.termination))
    return result


def to_input(note: OrchestrationNote) -> AddNote:
    """Return a note as an input of the machine. The state keeps recoveries for the note in the final answer."""
    data: dict[str, Any] = json_codec.decode(json_codec.encode(note))  # equal to what a log returns
    return AddNote(data.pop("round"), data.pop("type"), data, isinstance(note, Recovery))


def note_of(event: events.Noted) -> OrchestrationNote:
    """Return the note that a `noted` event contains."""
    data = {**event.data, "type": event.note, "round": event.round}
    return cast(OrchestrationNote, json_codec.convert(data, OrchestrationNote))


def recoveries(state: TurnState) -> list[Recovery]:
    """Return the recoveries that a turn's state contains, those of earlier coordinators included."""
    kept = [note for note in state.notes if note.note == "recovery"]
    return [json_codec.convert({**note.data, "round": note.round}, Recovery) for note in kept]
