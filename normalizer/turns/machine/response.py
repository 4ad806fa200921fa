"""The consequence of an answer: run its calls, ask again, or end the turn (laws `incomplete`, `stop`, `answered`).

The content of the answer decides before its stop reason: client calls that can run do run (FIN-02).
"""

from __future__ import annotations

from msgspec.structs import replace

from ...model import ApprovalRequest, Choice, Response, ToolCall
from ...policies import Ref, Selection, select
from ...wires.stop_reason import CUTS
from ..events import LoopSuspected
from .calls import record_selection, start_ready_calls
from .history import PAUSES, words
from .inputs import AnswerReceived
from .lookup import chosen
from .rounds import close_round, end_turn, next_round, start_round
from .state import VERSION, CallState, Status, add_usage, fingerprint, key_of
from .step_builder import StepBuilder

_LAST = "the turn is at its end and runs no more tools"
_BUDGET = "the token budget of this turn is used up"
#: How often the model is asked for its last answer if it calls tools instead.
_LAST_ANSWERS = 2
_REFUSALS = ("refusal", "content_filter")
_BROKEN = ("malformed_call", "error")


def answered(work: StepBuilder, input: AnswerReceived) -> None:
    """Process the answer of the open round."""
    if work.state.phase != "asking":
        return  # arrived after the turn was cancelled
    response, state = input.response, work.state
    work.set_round(response=response, usage=response.usage, result_block=state.block)
    work.set(usage=add_usage(state.usage, response.usage), phase="acting")
    choice = chosen(response, state.settings)
    if response.error is not None:
        end_turn(work, "provider_failed", response.error)
    elif not response.complete or choice is None:
        end_turn(work, "incomplete")
    elif work.round.last:
        _last(work, response, choice)
    else:
        _judge(work, input, choice)


def refuse(work: StepBuilder, response: Response, reason: str) -> None:
    """Reject and answer all calls of a whole answer. ``reason`` appears in their results."""
    choice = chosen(response, work.state.settings)
    if choice is not None and choice.calls and response.complete and response.error is None:
        settings = work.state.settings
        selection = select(response, settings.policy, settings.limit, settings.choice)
        record_selection(work, _rejecting(selection, reason), [])


def _judge(work: StepBuilder, input: AnswerReceived, choice: Choice) -> None:
    response, settings, reason = input.response, work.state.settings, choice.stop.reason
    selection = select(response, settings.policy, settings.limit, settings.choice)
    dead = reason in _REFUSALS or reason in _BROKEN
    asked = [] if dead else [block for block in choice.blocks if isinstance(block, ApprovalRequest)]
    if selection.kept or asked:
        if _spent(work):
            record_selection(work, _rejecting(selection, _BUDGET), [])
            end_turn(work, "budget_exceeded")
            return
        selection = _unlooped(work, selection, choice)
        record_selection(work, selection, [*_calls(work, selection, choice, input), *map(_asked, asked)])
        if work.round.calls:
            start_ready_calls(work)
        else:
            close_round(work)
            start_round(work, "loop_detected")
        return
    if selection.dropped or selection.rejected:
        record_selection(work, selection, [])
    if reason in _REFUSALS:
        end_turn(work, "refused")
    elif reason in _BROKEN or reason in CUTS:
        end_turn(work, "incomplete")
    elif reason in PAUSES:
        _pause(work)
    elif selection.dropped or selection.rejected:
        close_round(work)
        next_round(work)
    else:
        end_turn(work, "natural_completion")


def _last(work: StepBuilder, response: Response, choice: Choice) -> None:
    """Process a last answer. Calls in it are rejected, and if there is no text, the model is asked once more."""
    settings = work.state.settings
    selection = select(response, settings.policy, settings.limit, settings.choice)
    if choice.calls:
        record_selection(work, _rejecting(selection, _LAST), [])
    ending = work.state.ending or "max_rounds_reached"
    close_round(work)
    lasts = sum(round.last for round in work.state.rounds)
    if choice.calls and not words(work.state) and lasts < _LAST_ANSWERS:
        start_round(work)
    elif choice.stop.reason in _REFUSALS:
        end_turn(work, "refused", is_closed=True)
    else:
        end_turn(work, ending, is_closed=True)


def _pause(work: StepBuilder) -> None:
    """Ask again after a pause, with the answer so far, so that the provider continues (failure SRV-01)."""
    pauses = work.state.pauses + 1
    work.set(pauses=pauses)
    if pauses > work.state.settings.max_pauses:
        end_turn(work, "incomplete")
    elif _spent(work):
        end_turn(work, "budget_exceeded")
    else:
        close_round(work)
        start_round(work)


def _spent(work: StepBuilder) -> bool:
    budget, usage = work.state.settings.budget, work.state.usage
    if budget is None or usage is None:
        return False
    return (usage.input_tokens or 0) + (usage.output_tokens or 0) >= budget


def _rejecting(selection: Selection, reason: str) -> Selection:
    """Return the selection with all kept calls rejected for this reason."""
    refused = [replace(ref, reason=reason) for ref in selection.kept]
    rejected = sorted([*selection.rejected, *refused], key=lambda ref: (ref.choice, ref.block))
    return replace(selection, kept=[], rejected=rejected)


def _unlooped(work: StepBuilder, selection: Selection, choice: Choice) -> Selection:
    """Return the selection without calls beyond ``loop_limit``. Report repeated calls (REQ: report, do not drop)."""
    settings = work.state.settings
    repeats = dict(work.state.repeats)
    stopped: dict[int, str] = {}
    for ref in selection.kept:
        call = choice.blocks[ref.block]
        assert isinstance(call, ToolCall)
        alike = fingerprint(call)
        times = repeats[alike] = repeats.get(alike, 0) + 1
        if settings.loop_limit is not None and times > settings.loop_limit:
            stopped[ref.block] = f"the same call was made {times} times in this turn"
        if ref.block in stopped or times >= settings.loop_after:
            work.tell(LoopSuspected, work.round.round_number, ref.id, ref.name, times, ref.block in stopped)
    work.set(repeats=repeats)
    if not stopped:
        return selection
    kept = [ref for ref in selection.kept if ref.block not in stopped]
    rejected = [replace(ref, reason=stopped[ref.block]) for ref in selection.kept if ref.block in stopped]
    return replace(selection, kept=kept, rejected=sorted([*selection.rejected, *rejected], key=_place))


def _place(ref: Ref) -> tuple[int, int]:
    return ref.choice, ref.block


def _calls(work: StepBuilder, selection: Selection, choice: Choice, input: AnswerReceived) -> list[CallState]:
    made: list[CallState] = []
    for ref in selection.kept:
        call = choice.blocks[ref.block]
        assert isinstance(call, ToolCall)
        key = key_of(work.state.id, work.round.round_number, call)
        status: Status = "waiting_approval" if ref.id in input.needs_approval else "approved"
        made.append(CallState(ref.id, ref.name, ref.block, key, status, deferred=ref.id in input.deferred))
    if any(call.deferred for call in made):
        work.set(version=VERSION)
    return made


def _asked(block: ApprovalRequest) -> CallState:
    return CallState(block.id, block.name, -1, "", "waiting_approval", server=block.server)
