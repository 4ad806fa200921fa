"""Transitions between rounds: asking the model, asking it a last time, and ending the turn."""

from __future__ import annotations

from msgspec.structs import replace

from ...conversation import Request, ToolChoice
from ...model import Error
from ...requests import with_policy
from ..events import RoundFinished, RoundStarted, TurnComplete, TurnFailed
from .effects import Ask, StopTasks
from .history import closed, note, without_result, words
from .state import RoundState, Termination, TurnState
from .step_builder import StepBuilder

#: Termination reasons without an answer of the model.
_FAILURES = ("provider_failed", "cancelled")


def start_round(work: StepBuilder, ending: Termination | None = None) -> None:
    """Start a round. ``ending``: makes it the last one, in which the model may not call tools, for this reason."""
    state = work.state
    if ending is not None:
        work.set(ending=ending)
    last = ending is not None or state.ending is not None
    round = RoundState(len(state.rounds) + 1, last=last, first_block=state.block)
    work.set(rounds=[*state.rounds, round], phase="asking")
    send_request(work)


def send_request(work: StepBuilder) -> None:
    """Send the request of the open round, for the first time or as a retry."""
    round = work.round
    work.tell(RoundStarted, round.round_number, round.attempt, round.first_block, round.last)
    work.save()
    work.do(Ask(request_of(work.state), round.round_number, round.last))


def request_of(state: TurnState) -> Request:
    """Return the request of the open round. It always declares the tools, but the last one forbids to call them.

    A tool choice that forces a call applies to the first round only. Otherwise the turn could never end.
    """
    request = with_policy(state.request, state.settings.policy)
    round, choice = state.rounds[-1], request.tool_choice
    if round.last:
        choice = ToolChoice("none") if request.tools else None
    elif len(state.rounds) > 1 and choice is not None and choice.mode in ("required", "named", "raw"):
        choice = None
    return replace(request, messages=state.history(), tool_choice=choice)


def close_round(work: StepBuilder, termination: Termination | None = None) -> None:
    """Close the open round: compute the messages that it adds to the history, and emit `round_finished`."""
    round = work.round
    turns = closed(round, work.state.settings)
    response = round.response
    stands = response is not None and response.complete and response.error is None and bool(turns)
    work.set_round(messages=turns, response=None if stands else response, termination_reason=termination)
    work.set(rounds=[*work.state.rounds[:-1], without_result(work.round)])
    work.tell(RoundFinished, round.round_number, round.tools_used, round.usage, termination)


def next_round(work: StepBuilder) -> None:
    """Ask the next round. It is the last one if ``max_rounds`` rounds had calls."""
    state = work.state
    acted = sum(bool(round.calls or round.rejected or round.dropped) for round in state.rounds)
    start_round(work, "max_rounds_reached" if acted >= state.settings.max_rounds else None)


def end_turn(
    work: StepBuilder, termination: Termination, error: Error | None = None, *, is_closed: bool = False
) -> None:
    """End the turn: close its round unless ``is_closed``, set its text, and emit the final event."""
    if work.state.rounds and not is_closed:
        close_round(work, termination)
    elif work.state.rounds:
        work.set_round(termination_reason=termination)
    work.set(phase="over", termination=termination, error=error)
    text = "" if termination in _FAILURES else words(work.state)
    if termination == "all_tools_failed" and not work.round.last:
        text = ""  # text besides calls is not an answer
    state = work.state
    work.set(text=text or note(state, termination), written=bool(text))
    state = work.state
    if termination in _FAILURES or (not state.written and termination in ("all_tools_failed", "incomplete")):
        work.tell(TurnFailed, termination, state.text, error, state.usage)
    else:
        work.tell(TurnComplete, termination, state.text, state.written, state.usage)
    work.save()
    work.do(StopTasks())
