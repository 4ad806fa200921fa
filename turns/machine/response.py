"""Transitions of an answer: its blocks while it arrives, and its consequence (laws `incomplete`, `stop`, `answered`).

The consequence is to run calls, to ask again, or to end the turn. The content of the answer decides before its stop
reason: client calls that can run do run (FIN-02).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import TextPart, User
from toolparity.normalizer.model import ApprovalRequest, Choice, Response, ToolCall
from toolparity.normalizer.policies import Selection, select
from toolparity.normalizer.wires.stop_reason import CUTS

from .. import events
from . import inputs
from .calls import record_selection, start_ready_calls
from .history import PAUSES, answer_text
from .rounds import close_round, end_turn, next_round, start_round
from .state import CallState, CallStatus, TurnState, add_usage, fingerprint, key_of
from .step_builder import StepBuilder

_LAST = "the turn is at its end and runs no more tools"
_BUDGET = "the budget of this turn is used up"
#: How often the model is asked for its last answer if it calls tools instead.
_LAST_ANSWERS = 2
_REFUSALS = ("refusal", "content_filter")
_BROKEN = ("malformed_call", "error")


def start_block(builder: StepBuilder, input: inputs.BlockStarted) -> None:
    sequence = builder.round.first_block + input.key
    builder.set(block=max(builder.state.block, sequence + 1))
    builder.emit_in_round(events.TurnBlockStart, sequence, input.block_type, input.id, input.name)


def extend_block(builder: StepBuilder, input: inputs.BlockExtended) -> None:
    round = builder.round
    builder.emit(events.TurnBlockDelta, round.round_number, round.first_block + input.key, input.text)


def replace_block(builder: StepBuilder, input: inputs.BlockReplaced) -> None:
    builder.emit_in_round(events.TurnBlockReset, builder.round.first_block + input.key, input.text)


def end_block(builder: StepBuilder, input: inputs.BlockEnded) -> None:
    builder.emit_in_round(events.TurnBlockStop, _block(builder, input), input.cut)


def revise_block(builder: StepBuilder, input: inputs.BlockRevised) -> None:
    builder.emit_in_round(events.TurnBlockRevised, _block(builder, input))


def receive_answer(builder: StepBuilder, input: inputs.AnswerReceived) -> None:
    """Process the whole answer of the open round."""
    response = input.response
    _record_answer(builder, response)
    builder.set(phase="acting")
    choice = builder.state.choice_of(response)
    if response.error is not None:
        end_turn(builder, "provider_failed", response.error)
    elif not response.complete or choice is None:
        end_turn(builder, "incomplete")
    elif builder.round.last:
        _end_with_answer(builder, choice, _selection(builder, response))
    else:
        _follow_answer(builder, input, choice, _selection(builder, response))


def fail(builder: StepBuilder, input: inputs.AnswerFailed) -> None:
    """End the turn, because the provider failed."""
    response = input.response
    if response is not None:
        builder.set_round(response=response, usage=response.usage)
        builder.set(usage=add_usage(builder.state.usage, response.usage))
    end_turn(builder, "provider_failed", input.error)


def cancel_answer(builder: StepBuilder, input: inputs.Cancel) -> None:
    """End the turn while an answer arrives. If the answer is whole nevertheless, its calls are rejected."""
    response = input.response
    if response is not None:
        _record_answer(builder, response)
        choice = builder.state.choice_of(response)
        if choice is not None and choice.calls and response.complete and response.error is None:
            why = f": {input.reason}" if input.reason else ""
            _reject_all(builder, _selection(builder, response), f"the turn was cancelled{why}")
    end_turn(builder, "cancelled")


def _follow_answer(builder: StepBuilder, input: inputs.AnswerReceived, choice: Choice, selection: Selection) -> None:
    """Run the calls of an answer, ask the next round, or end the turn."""
    reason = choice.stop.reason
    refused, broken = reason in _REFUSALS, reason in _BROKEN
    approvals = [] if refused or broken else [block for block in choice.blocks if isinstance(block, ApprovalRequest)]
    if selection.kept or approvals:
        _run_calls(builder, input, choice, selection, approvals)
        return
    has_calls = bool(selection.dropped or selection.rejected)
    if has_calls:
        record_selection(builder, selection, [])
    if refused:
        end_turn(builder, "refused")
    elif broken or reason in CUTS:
        end_turn(builder, "incomplete")
    elif reason in PAUSES:
        _continue_pause(builder)
    elif has_calls:
        close_round(builder)
        next_round(builder)
    elif input.correction is not None and not _is_budget_used(builder):
        _correct_answer(builder, input.correction)
    else:
        end_turn(builder, "natural_completion")


def _run_calls(
    builder: StepBuilder,
    input: inputs.AnswerReceived,
    choice: Choice,
    selection: Selection,
    approvals: list[ApprovalRequest],
) -> None:
    """Start the calls of an answer, unless the budget is used up or all of them are repeated too often."""
    if _is_budget_used(builder):
        _reject_all(builder, selection, _BUDGET)
        end_turn(builder, "budget_exceeded")
        return
    selection = _within_max_calls(builder, _without_loops(builder, selection, choice))
    calls: list[CallState] = []
    for ref in selection.kept:
        key = key_of(builder.state.id, builder.round.round_number, _call_at(choice, ref.block))
        status: CallStatus = "waiting_approval" if ref.id in input.needs_approval else "approved"
        calls.append(CallState(ref.id, ref.name, ref.block, key, status, deferred=ref.id in input.deferred))
    for request in approvals:
        calls.append(CallState(request.id, request.name, -1, "", "waiting_approval", server=request.server))
    record_selection(builder, selection, calls)
    if calls:
        start_ready_calls(builder)
    else:
        close_round(builder)
        start_round(builder, "budget_exceeded" if _calls_left(builder.state) == 0 else "loop_detected")


def _end_with_answer(builder: StepBuilder, choice: Choice, selection: Selection) -> None:
    """End the turn with a last answer. Its calls are rejected; if it has no text, the model is asked once more."""
    if choice.calls:
        _reject_all(builder, selection, _LAST)
    close_round(builder)
    lasts = sum(round.last for round in builder.state.rounds)
    if choice.calls and not answer_text(builder.state) and lasts < _LAST_ANSWERS:
        start_round(builder)
    elif choice.stop.reason in _REFUSALS:
        end_turn(builder, "refused", is_closed=True)
    else:
        end_turn(builder, builder.state.ending or "max_rounds_reached", is_closed=True)


def _correct_answer(builder: StepBuilder, correction: str) -> None:
    """Add a user message to the answer that states what is wrong with it, and ask the model again."""
    close_round(builder)
    builder.set_round(messages=[*builder.round.messages, User([TextPart(correction)])])
    next_round(builder)


def _continue_pause(builder: StepBuilder) -> None:
    """Ask again after a pause, with the answer so far, so that the provider continues (failure SRV-01)."""
    pauses = builder.state.pauses + 1
    builder.set(pauses=pauses)
    if pauses > builder.state.settings.max_pauses:
        end_turn(builder, "incomplete")
    elif _is_budget_used(builder):
        end_turn(builder, "budget_exceeded")
    else:
        close_round(builder)
        start_round(builder)


def _record_answer(builder: StepBuilder, response: Response) -> None:
    state = builder.state
    builder.set_round(response=response, usage=response.usage, result_block=state.block)
    builder.set(usage=add_usage(state.usage, response.usage))


def _selection(builder: StepBuilder, response: Response) -> Selection:
    settings = builder.state.settings
    return select(response, settings.policy, settings.limit, settings.choice)


def _is_budget_used(builder: StepBuilder) -> bool:
    return builder.state.settings.is_spent(builder.state.usage)


def _without_loops(builder: StepBuilder, selection: Selection, choice: Choice) -> Selection:
    """Return the selection without calls beyond ``loop_limit``. Report repeated calls (REQ: report, do not drop)."""
    settings = builder.state.settings
    repeats = dict(builder.state.repeats)
    reasons: dict[int, str] = {}
    for ref in selection.kept:
        same = fingerprint(_call_at(choice, ref.block))
        times = repeats[same] = repeats.get(same, 0) + 1
        if settings.loop_limit is not None and times > settings.loop_limit:
            reasons[ref.block] = f"the same call was made {times} times in this turn"
        if ref.block in reasons or times >= settings.loop_after:
            builder.emit_in_round(events.LoopSuspected, ref.id, ref.name, times, ref.block in reasons)
    builder.set(repeats=repeats)
    return _rejecting(selection, reasons)


def _within_max_calls(builder: StepBuilder, selection: Selection) -> Selection:
    """Return the selection without calls beyond ``max_calls``."""
    left = _calls_left(builder.state)
    if left is None:
        return selection
    why = f"the limit of {builder.state.settings.max_calls} calls in this turn is reached"
    return _rejecting(selection, {ref.block: why for ref in selection.kept[left:]})


def _calls_left(state: TurnState) -> int | None:
    """Return how many calls may run, None for any number."""
    if state.settings.max_calls is None:
        return None
    return max(state.settings.max_calls - sum(call.server is None for round in state.rounds for call in round.calls), 0)


def _reject_all(builder: StepBuilder, selection: Selection, reason: str) -> None:
    """Reject and answer all calls. ``reason`` appears in their results."""
    record_selection(builder, _rejecting(selection, {ref.block: reason for ref in selection.kept}), [])


def _rejecting(selection: Selection, reasons: dict[int, str]) -> Selection:
    """Return the selection with the kept calls in these blocks rejected. ``reasons``: index of the block -> reason."""
    if not reasons:
        return selection
    kept = [ref for ref in selection.kept if ref.block not in reasons]
    rejected = [replace(ref, reason=reasons[ref.block]) for ref in selection.kept if ref.block in reasons]
    in_order = sorted([*selection.rejected, *rejected], key=lambda ref: (ref.choice, ref.block))
    return replace(selection, kept=kept, rejected=in_order)


def _call_at(choice: Choice, index: int) -> ToolCall:
    call = choice.blocks[index]
    assert isinstance(call, ToolCall)
    return call


def _block(builder: StepBuilder, input: inputs.BlockEnded | inputs.BlockRevised) -> Any:
    return builder.block(builder.round.first_block + input.key, input.block_type, input.text_content, input.content)
