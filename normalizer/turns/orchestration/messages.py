"""What the parts of the pipeline tell each other, and whoever listens: phases, and what was done when one failed.

    Reasoning -> ToolExecution -> Synthesis -> Reasoning -> … -> FinalResponse

They are read off the steps of the machine: the same steps give the same messages. They stand among the events of the
turn, and so in its log and in what a browser gets, as `noted`.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from ... import json_codec
from .. import events
from ..effects import Ask, Effect, Stop, Tell
from ..events import CallsKnown, RoundFinished
from ..happenings import Noted
from ..state import TurnState

#: What helped, from the least to the most: another tool, the round asked again with less, one answer without tools,
#: an answer put together of what was found.
RecoveryLevel = Literal["tool", "round", "session", "assembled"]
LEVELS: tuple[RecoveryLevel, ...] = ("tool", "round", "session", "assembled")


class _Message(Struct, tag_field="type", frozen=True, gc=False):
    round: int


class Reasoning(_Message, tag="reasoning", frozen=True, gc=False):
    """The model is asked. ``attempt`` above 1: again. ``last``: it may not call any more."""

    attempt: int
    last: bool


class ToolExecution(_Message, tag="tool_execution", frozen=True, gc=False):
    """Calls are about to run: their ids, and the names of their tools."""

    calls: list[tuple[str, str]]


class Synthesis(_Message, tag="synthesis", frozen=True, gc=False):
    """A round is over, and what it found is put to the rest: ``found`` and ``failed`` are ids of calls."""

    found: list[str]
    failed: list[str]


class FinalResponse(_Message, tag="final_response", frozen=True, gc=False):
    """The answer is there, or nothing more will come. ``text`` and ``uncertainty``: as `Orchestrated` has them."""

    termination: str
    text: str = ""
    uncertainty: str = ""


class Recovery(_Message, tag="recovery", frozen=True, gc=False):
    """Something failed, and this was done about it. ``call_id``: of the call, where it is about one."""

    level: RecoveryLevel
    why: str
    call_id: str | None = None
    tool: str | None = None


class Retry(_Message, tag="retry", frozen=True, gc=False):
    """The provider is overloaded: the same request is sent again after ``seconds``, as the ``attempt``-th of its round.

    ``demanded``: seconds that the provider asked for, None where it did not. ``status``: of its refusal.
    """

    attempt: int
    seconds: float
    why: str
    demanded: float | None = None
    status: int | None = None


Phase = Reasoning | ToolExecution | Synthesis | FinalResponse
Message = Phase | Recovery | Retry


def phases(state: TurnState, effects: list[Effect]) -> list[Phase]:
    """The phases that one step of the machine ends and begins. ``state``: the one after it."""
    found: list[Phase] = []
    for effect in effects:
        if isinstance(effect, Tell) and isinstance(effect.event, CallsKnown) and effect.event.kept:
            known = effect.event
            found.append(ToolExecution(known.round, [(ref.id, ref.name) for ref in known.kept]))
        elif isinstance(effect, Tell) and isinstance(effect.event, RoundFinished):
            results = state.rounds[effect.event.round - 1].tool_results
            if results:
                failed = [one.call_id for one in results if one.is_error]
                fine = [one.call_id for one in results if not one.is_error]
                found.append(Synthesis(effect.event.round, fine, failed))
        elif isinstance(effect, Ask) and state.round is not None:
            found.append(Reasoning(effect.round, state.round.attempt, effect.last))
        elif isinstance(effect, Stop) and state.termination is not None:
            found.append(FinalResponse(len(state.rounds), state.termination))
    return found


def noted(message: Message) -> Noted:
    """A message as what the machine is told of it. A recovery stays known: the answer will have to say so."""
    data: dict[str, Any] = json_codec.decode(json_codec.encode(message))  # as a log gives it back
    note, round = data.pop("type"), data.pop("round")
    return Noted(round, note, data, isinstance(message, Recovery))


def message_of(event: events.Noted) -> Message:
    """The message of an event that tells it."""
    return cast(Message, msgspec.convert({**event.data, "type": event.note, "round": event.round}, Message))


def recoveries(state: TurnState) -> list[Recovery]:
    """What was done in a turn so far where something failed, whoever directed it."""
    return [
        msgspec.convert({**one.data, "round": one.round}, Recovery) for one in state.notes if one.note == "recovery"
    ]
