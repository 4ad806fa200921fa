"""Transitions of the calls of a round: selection, approval, execution and results.

Each call has exactly one result when the round is over.
"""

from __future__ import annotations

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import ToolResult
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.pairing import unanswered
from toolparity.normalizer.policies import Selection

from .. import events
from ..block_rows import row_of_result
from .effects import Approve, Execute, Wait
from .history import results_without_run
from .inputs import CallDecided, CallProgressed, CallSettled, CallStarting, Cancel, ResultSupplied, Resume, ReviseRound
from .rounds import close_round, emit_turn_started, end_turn, next_round, start_round
from .state import CallOutcome, CallState, CallStatus
from .step_builder import StepBuilder

#: Outcome of a call -> its final status.
_STATUS: dict[CallOutcome, CallStatus] = {
    "returned": "done",
    "failed": "done",
    "raised": "done",
    "unsayable": "done",
    "timeout": "abandoned",
    "cancelled": "abandoned",
    "unknown_outcome": "abandoned",
    "unknown_tool": "skipped",
    "invalid_arguments": "skipped",
    "denied": "denied",
    "skipped": "skipped",
}
UNKNOWN_OUTCOME = (
    "This call was started, and the program ended before it returned: whether it took effect is not known. "
    "It was not run again."
)
CANCELLED_RUNNING = "This call was cancelled while it ran: whether it took effect is not known."
CANCELLED_ELSEWHERE = (
    "This call was handed out, and the turn was cancelled before its result came: whether it took effect is not known."
)


def decide(builder: StepBuilder, input: CallDecided) -> None:
    call, approved, reason = builder.call(input.call_id), input.approved, input.reason
    builder.emit_in_round(events.ApprovalDecided, call.id, call.name, approved, reason)
    if call.server is not None:
        builder.set_call(call.id, status="done" if approved else "denied", reason=reason)
        content = {"approval_request_id": call.id, "approve": approved, "reason": reason}
        block = builder.block(_result_sequence(builder, call), "approval_response", None, content)
        builder.emit_in_round(events.TurnBlockStart, block.sequence, block.block_type, None, call.name)
        builder.emit_in_round(events.TurnBlockStop, block)
    elif approved:
        builder.set_call(call.id, status="approved", reason=reason)
    else:
        why = f": {reason}" if reason else "."
        _settle_without_run(builder, call, f"This call was not executed: it was not allowed{why}", "denied")
    builder.save()
    start_ready_calls(builder)


def start_call(builder: StepBuilder, input: CallStarting) -> None:
    call = builder.call(input.call_id)
    call = builder.set_call(call.id, status="started", submitted=True, attempts=call.attempts + 1)
    builder.emit_in_round(events.CallStarted, call.id, call.name, call.key, call.attempts)
    builder.save()


def report_progress(builder: StepBuilder, input: CallProgressed) -> None:
    call = builder.call(input.call_id)
    builder.emit_in_round(events.CallProgress, call.id, call.name, input.data)


def end_call(builder: StepBuilder, input: CallSettled | ResultSupplied) -> None:
    """Settle a call with the result that the executor or the caller reports."""
    _settle(builder, builder.call(input.call_id), input.result, input.outcome)
    builder.save()
    start_ready_calls(builder)


def revise_round(builder: StepBuilder, input: ReviseRound) -> None:
    """Replace results of settled calls, and keep a message to the model that follows the results."""
    for result in input.results:
        call = builder.round.call(result.call_id)
        if call is not None and call.result is not None:
            builder.set_call(call.id, result=result)
            row = row_of_result(result)
            builder.emit_in_round(events.TurnBlockRevised, builder.block(_result_sequence(builder, call), *row))
    builder.set_round(added=input.message or builder.round.added)
    builder.save()


def cancel_calls(builder: StepBuilder, input: Cancel) -> None:
    """Answer every open call and end the turn (failure CANC-01)."""
    why = f": {input.reason}" if input.reason else "."
    for call in builder.round.calls:
        if call.settled:
            continue
        if call.server is not None:
            builder.set_call(call.id, status="denied", reason=input.reason or "cancelled")
        elif call.attempts > (call.id in input.unstarted):  # also a call that was to run again after a resume
            text = CANCELLED_ELSEWHERE if call.deferred else CANCELLED_RUNNING
            _settle_without_run(builder, call, text, "cancelled")
        else:
            _settle_without_run(builder, call, f"This call was not executed: the turn was cancelled{why}", "skipped")
    end_turn(builder, "cancelled")


def resume_calls(builder: StepBuilder, input: Resume) -> None:
    """Resume the open calls after the process that ran them ended (failure DUP-01).

    A started call runs again only if its id is in ``rerun``. Otherwise it is settled as `unknown_outcome`.
    """
    emit_turn_started(builder, resumed=True)
    for call in builder.round.calls:
        if call.settled:
            continue
        if call.status == "started" and call.id not in input.rerun:
            _settle_without_run(builder, call, UNKNOWN_OUTCOME, "unknown_outcome")
        else:
            status: CallStatus = "approved" if call.status == "started" else call.status
            builder.set_call(call.id, submitted=False, status=status)
    builder.save()
    _request_approvals(builder)
    start_ready_calls(builder)


def record_selection(builder: StepBuilder, selection: Selection, calls: list[CallState]) -> None:
    """Record the selection, answer the calls that are not kept, and ask for the approvals that are needed."""
    kept, dropped, rejected = selection.kept, selection.dropped, selection.rejected
    builder.set_round(calls=calls, dropped=dropped, rejected=rejected)
    builder.emit_in_round(events.CallsKnown, selection.policy, kept, dropped, rejected)
    if dropped:
        builder.emit_in_round(events.Dropped, len(kept) + len(dropped) + len(rejected), kept, dropped)
    for number, result in results_without_run(builder.state):
        _emit_result(builder, builder.round.result_block + number, result)
    builder.save()
    _request_approvals(builder)


def start_ready_calls(builder: StepBuilder) -> None:
    """Start the calls that may run, here or elsewhere.

    If no call starts here, finish the round once all calls are settled, or wait if none runs and some wait.
    """
    if builder.state.settings.policy == "batch":
        ready = _next_of_batch(builder)
    else:
        ready = [call for call in builder.round.calls if call.status == "approved" and not call.submitted]
    here = [call for call in ready if not call.deferred]
    for call in ready:
        if call.deferred:
            _hand_over(builder, call)
        else:
            builder.set_call(call.id, submitted=True)
    if here:
        builder.do(Execute([builder.state.tool_call(call) for call in here]))
        return
    calls = builder.round.calls
    if all(call.settled for call in calls):
        _finish_round(builder)
    elif not any(call.submitted and not call.settled for call in calls):
        waiting = builder.state.waiting
        ids = [call.id for call in waiting]
        builder.emit(events.TurnWaiting, ids, [call.id for call in waiting if call.status == "waiting_result"])
        builder.save()
        builder.do(Wait(ids))


def _request_approvals(builder: StepBuilder) -> None:
    """Emit an event for each call that waits for approval, and request the decisions."""
    waiting = [call for call in builder.state.waiting if call.status == "waiting_approval"]
    for call in waiting:
        _, block = builder.state.block_of(call)
        arguments = block.arguments if isinstance(block, ToolCall) else None
        members = (call.id, call.name, arguments, block.arguments_text, call.server)
        builder.emit_in_round(events.ApprovalNeeded, *members)
    if waiting:
        builder.do(Approve([call.id for call in waiting]))


def _hand_over(builder: StepBuilder, call: CallState) -> None:
    """Hand a call over, once. It counts as started, because it may run elsewhere from now on."""
    block = builder.state.tool_call(call)
    builder.set_call(call.id, status="waiting_result", attempts=call.attempts + 1)
    members = (call.id, call.name, block.arguments, block.arguments_text, call.key)
    builder.emit_in_round(events.ResultNeeded, *members)
    builder.save()


def _next_of_batch(builder: StepBuilder) -> list[CallState]:
    """Return the next call of a batch, once all calls before it are settled.

    With ``on_error`` "stop", a failed call settles all open calls as skipped.
    """
    own = [call for call in builder.round.calls if call.server is None]
    failed = next((call for call in own if call.settled and call.result is not None and call.result.is_error), None)
    if failed is not None and builder.state.settings.on_error == "stop":
        for call in own:
            if not call.settled:
                text = f"This call was not executed: {failed.name} ({failed.id}), before it, failed."
                _settle_without_run(builder, call, text, "skipped")
        return []
    following = next((call for call in own if not call.settled), None)
    return [following] if following is not None and following.status == "approved" and not following.submitted else []


def _settle_without_run(builder: StepBuilder, call: CallState, text: str, outcome: CallOutcome) -> None:
    """Settle a call with an error result of this text, because it does not run, or not to its end."""
    _settle(builder, call, unanswered(builder.state.tool_call(call), text), outcome)


def _settle(builder: StepBuilder, call: CallState, result: ToolResult, outcome: CallOutcome) -> None:
    """Set the one result of a call, and emit its block and `call_finished`."""
    builder.set_call(call.id, status=_STATUS[outcome], outcome=outcome, result=result)
    _emit_result(builder, _result_sequence(builder, call), result)
    builder.emit_in_round(events.CallFinished, call.id, call.name, outcome, result.is_error)


def _finish_round(builder: StepBuilder) -> None:
    """Close the round and ask the next one. If every tool failed, follow the setting ``on_all_failed``."""
    on_all_failed = builder.state.settings.on_all_failed if builder.round.all_failed else "continue"
    if on_all_failed == "stop":
        end_turn(builder, "all_tools_failed")
        return
    close_round(builder)
    if on_all_failed == "answer":
        start_round(builder, "all_tools_failed")
    else:
        next_round(builder)


def _emit_result(builder: StepBuilder, sequence: int, result: ToolResult) -> None:
    row = row_of_result(result)
    block = builder.block(sequence, *row)
    content = row.content["content"]
    text = content if isinstance(content, str) else json_codec.text(content)
    builder.emit_in_round(events.TurnBlockStart, sequence, row.block_type, result.call_id, result.name)
    builder.emit_in_round(events.TurnBlockDelta, sequence, text)
    builder.emit_in_round(events.TurnBlockStop, block)


def _result_sequence(builder: StepBuilder, call: CallState) -> int:
    return builder.round.result_block + builder.state.block_of(call)[0]
