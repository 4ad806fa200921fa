"""Transitions of the calls of a round: selection, approval, execution and results.

Each call has exactly one result when the round is over.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import ToolResult
from ...model import ToolCall
from ...pairing import unanswered
from ...policies import Selection
from ..block_rows import result_content, result_row
from ..errors import TurnMisused
from ..events import (
    ApprovalDecided,
    ApprovalNeeded,
    CallFinished,
    CallProgress,
    CallsKnown,
    CallStarted,
    Dropped,
    ResultNeeded,
    TurnBlockDelta,
    TurnBlockStart,
    TurnBlockStop,
    TurnWaiting,
)
from .effects import Approve, Execute, Wait
from .history import refused_results
from .inputs import CallDecided, CallEnded, CallProgressed, CallStarting, Input, ResultSupplied
from .lookup import called, place
from .rounds import close_round, end_turn, next_round, start_round
from .state import CallOutcome, CallState, Status, TurnState
from .step_builder import StepBuilder

#: How a call came to its result -> its final status.
_STATUS: dict[CallOutcome, Status] = {
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


def record_selection(work: StepBuilder, selection: Selection, calls: list[CallState]) -> None:
    """Record the selection, answer the calls that are not kept, and ask for the approvals that are needed."""
    round = work.round
    kept, dropped, rejected = selection.kept, selection.dropped, selection.rejected
    work.set_round(calls=calls, dropped=dropped, rejected=rejected)
    work.tell(CallsKnown, round.round_number, selection.policy, kept, dropped, rejected)
    if dropped:
        total = len(kept) + len(dropped) + len(rejected)
        work.tell(Dropped, round.round_number, total, kept, dropped)
    for number, result in refused_results(work.round, work.state.settings):
        _tell_result(work, round.result_block + number, result)
    work.save()
    request_approvals(work)


def request_approvals(work: StepBuilder) -> None:
    """Emit an event for each call that waits for approval, and request the decisions."""
    waiting = [call for call in work.state.waiting if call.status == "waiting_approval"]
    for call in waiting:
        asked = place(call, work.round, work.state.settings)[1]
        arguments = asked.arguments if isinstance(asked, ToolCall) else None
        work.tell(
            ApprovalNeeded, work.round.round_number, call.id, call.name, arguments, asked.arguments_text, call.server
        )
    if waiting:
        work.do(Approve([call.id for call in waiting]))


def start_ready_calls(work: StepBuilder) -> None:
    """Start the calls that may run, here or elsewhere.

    If no call starts here, finish the round once all calls are settled, or wait if none runs and some wait.
    """
    settings, calls = work.state.settings, work.round.calls
    if settings.policy == "batch":
        ready = _next_of_batch(work)
    else:
        ready = [call for call in calls if call.status == "approved" and not call.submitted]
    here = [call for call in ready if not call.deferred]
    for call in ready:
        if call.deferred:
            _hand_out(work, call)
        else:
            work.set_call(call.id, submitted=True)
    if here:
        work.do(Execute([_called(work, call) for call in here]))
        return
    calls = work.round.calls
    if all(call.settled for call in calls):
        _finish(work)
    elif not any(call.submitted and not call.settled for call in calls):
        waiting = work.state.waiting
        results = [call.id for call in waiting if call.status == "waiting_result"]
        work.tell(TurnWaiting, [call.id for call in waiting], results)
        work.save()
        work.do(Wait([call.id for call in waiting]))


def _hand_out(work: StepBuilder, call: CallState) -> None:
    """Hand a call over, once. It counts as started, because it may run elsewhere from now on."""
    asked = _called(work, call)
    work.set_call(call.id, status="waiting_result", attempts=call.attempts + 1)
    work.tell(
        ResultNeeded, work.round.round_number, call.id, call.name, asked.arguments, asked.arguments_text, call.key
    )
    work.save()


def _next_of_batch(work: StepBuilder) -> list[CallState]:
    """Return the next call of a batch, once all calls before it are settled.

    With ``on_error`` "stop", a failed call settles all open calls as skipped.
    """
    if work.state.settings.on_error == "stop":
        own = [call for call in work.round.calls if call.server is None]
        failed = next((call for call in own if call.settled and call.result is not None and call.result.is_error), None)
        for call in own if failed is not None else ():
            if not call.settled and failed is not None:
                reason = f"This call was not executed: {failed.name} ({failed.id}), before it, failed."
                settle_call(work, call, unanswered(_called(work, call), reason), "skipped")
    unsettled = next((call for call in work.round.calls if not call.settled and call.server is None), None)
    ready = unsettled is not None and unsettled.status == "approved" and not unsettled.submitted
    return [unsettled] if ready and unsettled is not None else []


def decided(work: StepBuilder, input: CallDecided) -> None:
    """Approve or deny a call. Raises TurnMisused for a call that does not wait for approval."""
    call = awaited(work.state, input.call_id, "waiting_approval")
    approved, reason = input.approved, input.reason
    work.tell(ApprovalDecided, work.round.round_number, call.id, call.name, approved, reason)
    if call.server is not None:
        work.set_call(call.id, status="done" if approved else "denied", reason=reason)
        content = {"approval_request_id": call.id, "approve": approved, "reason": reason}
        block = work.block(work.round.result_block + _number(work, call), "approval_response", None, content)
        work.tell(TurnBlockStart, work.round.round_number, block.sequence, block.block_type, None, call.name)
        work.tell(TurnBlockStop, work.round.round_number, block)
    elif approved:
        work.set_call(call.id, status="approved", reason=reason)
    else:
        said = f"This call was not executed: it was not allowed{f': {reason}' if reason else '.'}"
        settle_call(work, call, unanswered(_called(work, call), said), "denied")
    work.save()
    start_ready_calls(work)


def supplied(work: StepBuilder, input: ResultSupplied) -> None:
    """Settle a call that was handed over. Raises TurnMisused for a call that does not wait for a result."""
    call = awaited(work.state, input.call_id, "waiting_result")
    settle_call(work, call, input.result, input.outcome)
    work.save()
    start_ready_calls(work)


def awaited(state: TurnState, id: str, status: Status) -> CallState:
    """Return the call with this id and waiting status. Raises TurnMisused if there is none."""
    waiting = [call for call in state.waiting if call.status == status]
    found = next((call for call in waiting if call.id == id), None)
    if found is None:
        wanted = "result" if status == "waiting_result" else "decision"
        known = ", ".join(call.id for call in waiting) or "none"
        raise TurnMisused(f"{id!r} waits for no {wanted}", hint=f"these do: {known}")
    return found


def is_late(state: TurnState, input: Input) -> bool:
    """Return whether a decision or result is too late: an earlier one counted, or the turn was cancelled."""
    if not isinstance(input, (CallDecided, ResultSupplied)):
        return False
    wanted = "waiting_approval" if isinstance(input, CallDecided) else "waiting_result"
    return not any(call.id == input.call_id and call.status == wanted for call in state.waiting)


def starting(work: StepBuilder, input: CallStarting) -> None:
    """Mark an approved call as started. A call with any other status may not run and stays unchanged."""
    call = work.round.call(input.call_id) if work.state.phase == "acting" else None
    if call is None or call.status != "approved":
        return
    call = work.set_call(call.id, status="started", attempts=call.attempts + 1)
    work.tell(CallStarted, work.round.round_number, call.id, call.name, call.key, call.attempts)
    work.save()


def progressed(work: StepBuilder, input: CallProgressed) -> None:
    """Emit the progress of a started call. Progress of any other call is ignored."""
    call = work.round.call(input.call_id) if work.state.phase == "acting" else None
    if call is not None and call.status == "started":
        work.tell(CallProgress, work.round.round_number, call.id, call.name, input.data)


def finished(work: StepBuilder, input: CallEnded) -> None:
    """Settle a call that ran here. A second result, or one after the end of the turn, is ignored."""
    call = work.round.call(input.call_id) if work.state.phase == "acting" else None
    if call is None or call.settled or call.status == "waiting_result":
        return
    settle_call(work, call, input.result, input.outcome)
    work.save()
    start_ready_calls(work)


def settle_call(work: StepBuilder, call: CallState, result: ToolResult, outcome: CallOutcome) -> None:
    """Set the one result of a call, and emit its block and `call_finished`."""
    work.set_call(call.id, status=_STATUS[outcome], outcome=outcome, result=result)
    _tell_result(work, work.round.result_block + _number(work, call), result)
    work.tell(CallFinished, work.round.round_number, call.id, call.name, outcome, result.is_error)


def give_up(work: StepBuilder, reason: str | None) -> None:
    """Answer every open call, because the turn is cancelled (failure CANC-01)."""
    why = f": {reason}" if reason else "."
    for call in work.round.calls:
        if call.settled:
            continue
        if call.server is not None:
            work.set_call(call.id, status="denied", reason=reason or "cancelled")
        elif call.attempts:  # also a call that was to run again after a resume
            said = CANCELLED_ELSEWHERE if call.deferred else CANCELLED_RUNNING
            settle_call(work, call, unanswered(_called(work, call), said), "cancelled")
        else:
            said = f"This call was not executed: the turn was cancelled{why}"
            settle_call(work, call, unanswered(_called(work, call), said), "skipped")


def recover(work: StepBuilder, rerun: list[str]) -> None:
    """Resume the open calls after the process that ran them ended (failure DUP-01).

    A started call runs again only if its id is in ``rerun``. Otherwise it is settled as `unknown_outcome`.
    """
    for call in work.round.calls:
        if call.settled:
            continue
        if call.status == "started" and call.id not in rerun:
            settle_call(work, call, unanswered(_called(work, call), UNKNOWN_OUTCOME), "unknown_outcome")
        else:
            again: dict[str, Any] = {"status": "approved"} if call.status == "started" else {}
            work.set_call(call.id, submitted=False, **again)
    work.save()
    request_approvals(work)
    start_ready_calls(work)


def _finish(work: StepBuilder) -> None:
    """Close the round and ask the next one. If every tool failed, follow the setting ``on_all_failed``."""
    settings = work.state.settings
    failed = work.round.all_failed
    if failed and settings.on_all_failed == "stop":
        end_turn(work, "all_tools_failed")
        return
    close_round(work)
    if failed and settings.on_all_failed == "answer":
        start_round(work, "all_tools_failed")
    else:
        next_round(work)


def _tell_result(work: StepBuilder, sequence: int, result: ToolResult) -> None:
    made = result_row(result)
    block = work.block(sequence, *made)
    round = work.round.round_number
    said = result_content(result)
    work.tell(TurnBlockStart, round, sequence, made.block_type, result.call_id, result.name)
    work.tell(TurnBlockDelta, round, sequence, said if isinstance(said, str) else json_codec.text(said))
    work.tell(TurnBlockStop, round, block)


def _number(work: StepBuilder, call: CallState) -> int:
    return place(call, work.round, work.state.settings)[0]


def _called(work: StepBuilder, call: CallState) -> ToolCall:
    return called(call, work.round, work.state.settings)
