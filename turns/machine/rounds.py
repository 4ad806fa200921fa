"""Transitions of rounds: begin, resume, send a request, retry it, and end the turn."""

from __future__ import annotations

from msgspec.structs import replace

from toolparity.normalizer.conversation import Request, TextPart, ToolChoice, User
from toolparity.normalizer.model import Error
from toolparity.normalizer.requests import with_policy

from .. import events
from ..secrets import public
from .effects import Ask, StopTasks
from .history import answer_text, messages_of_round, summary
from .inputs import AcknowledgementReady, AddNote, Begin, Cancel, Finalize, Resume, Retry
from .state import RoundState, Termination, TurnNote, TurnState, add_usage
from .step_builder import StepBuilder

#: Termination reasons without an answer of the model.
_FAILURES = ("provider_failed", "cancelled")


def begin(builder: StepBuilder, input: Begin | Resume) -> None:
    if isinstance(input, Begin) and input.trace:
        builder.set(trace=input.trace)
    emit_turn_started(builder)
    start_round(builder, "max_rounds_reached" if builder.state.settings.max_rounds == 0 else None)


def resume_round(builder: StepBuilder, input: Resume) -> None:
    """Ask again for the answer that had not arrived when the process ended."""
    emit_turn_started(builder, resumed=True)
    retry(builder, Retry())


def retry(builder: StepBuilder, input: Retry) -> None:
    """Send the request of the open round again. The blocks so far are void, but their tokens count."""
    state, round = builder.state, builder.round
    builder.set_round(attempt=round.attempt + 1, last=round.last or state.ending is not None)
    builder.set(block=round.first_block, usage=add_usage(state.usage, input.usage))
    _send_request(builder)


def finalize(builder: StepBuilder, input: Finalize) -> None:
    """Make the next round the last one, unless an earlier input did."""
    if builder.state.ending is None:
        builder.set(ending=input.ending)


def add_note(builder: StepBuilder, input: AddNote) -> None:
    """Emit a note, and keep it if requested."""
    if input.keep:
        builder.set(notes=[*builder.state.notes, TurnNote(input.round, input.note, input.data)])
    builder.emit(events.Noted, input.round, input.note, input.data)


def acknowledge(builder: StepBuilder, input: AcknowledgementReady) -> None:
    """Emit the acknowledgement, unless its round is over."""
    if input.round in (0, builder.round.round_number):
        builder.emit_in_round(events.Acknowledged, input.text, input.spoken)


def cancel(builder: StepBuilder, input: Cancel) -> None:
    """End a turn that has not begun."""
    end_turn(builder, "cancelled")


def emit_turn_started(builder: StepBuilder, *, resumed: bool = False) -> None:
    """Emit the event that a turn starts."""
    state = builder.state
    builder.emit(events.TurnStarted, state.id, state.wire, state.settings.policy, resumed)


def start_round(builder: StepBuilder, ending: Termination | None = None) -> None:
    """Start a round. ``ending``: makes it the last one, in which the model may not call tools, for this reason."""
    if ending is not None:
        builder.set(ending=ending)
    state = builder.state
    round = RoundState(len(state.rounds) + 1, last=state.ending is not None, first_block=state.block)
    builder.set(rounds=[*state.rounds, round], phase="asking")
    _send_request(builder)


def next_round(builder: StepBuilder) -> None:
    """Start the next round. It is the last one if ``max_rounds`` rounds had calls."""
    state = builder.state
    acted = sum(bool(round.calls or round.rejected or round.dropped) for round in state.rounds)
    start_round(builder, "max_rounds_reached" if acted >= state.settings.max_rounds else None)


def close_round(builder: StepBuilder, termination: Termination | None = None) -> None:
    """Close the open round: compute the messages that it adds to the history, and emit `round_finished`.

    The messages contain the results of its calls and its answer, so the round drops its copies of these. Only an answer
    that the messages do not contain unchanged stays.
    """
    round = builder.round
    messages = messages_of_round(builder.state)
    if round.added is not None:
        messages = [*messages, User([TextPart(round.added)])]
    response = round.response
    in_history = response is not None and response.complete and response.error is None and bool(messages)
    builder.set_round(
        messages=messages,
        response=None if in_history else response,
        termination_reason=termination,
        calls=[replace(call, result=None) for call in round.calls],
    )
    builder.emit_in_round(events.RoundFinished, round.tools_used, round.usage, termination)


def end_turn(
    builder: StepBuilder, termination: Termination, error: Error | None = None, *, is_closed: bool = False
) -> None:
    """End the turn: close its round unless ``is_closed``, set its text, and emit the final event."""
    if is_closed:
        builder.set_round(termination_reason=termination)
    elif builder.state.rounds:
        close_round(builder, termination)
    builder.set(phase="over", termination=termination, error=error)
    state = builder.state
    only_beside_calls = termination == "all_tools_failed" and not builder.round.last
    text = "" if termination in _FAILURES or only_beside_calls else answer_text(state)
    written, text = bool(text), text or summary(state, termination)
    builder.set(text=text, written=written)
    if termination in _FAILURES or (not written and termination in ("all_tools_failed", "incomplete")):
        builder.emit(events.TurnFailed, termination, text, public(error) if error else None, state.usage)
    else:
        builder.emit(events.TurnComplete, termination, text, written, state.usage)
    builder.save()
    builder.do(StopTasks())


def _send_request(builder: StepBuilder) -> None:
    round = builder.round
    builder.emit_in_round(events.RoundStarted, round.attempt, round.first_block, round.last)
    builder.save()
    builder.do(Ask(_request_of(builder.state), round.round_number, round.last))


def _request_of(state: TurnState) -> Request:
    """Return the request of the open round. It always declares the tools, but the last one forbids calls.

    A tool choice that forces a call applies to the first round only. Otherwise the turn could never end.
    """
    request = with_policy(state.request, state.settings.policy)
    choice = request.tool_choice
    if state.rounds[-1].last:
        choice = ToolChoice("none") if request.tools else None
    elif len(state.rounds) > 1 and choice is not None and choice.mode in ("required", "named", "raw"):
        choice = None
    return replace(request, messages=state.history(), tool_choice=choice)
