"""The state machine of a turn, without I/O: ``step`` returns the next state and its effects.

    state, effects = step(state, input)

    new --Begun--> asking --Answered--> acting --all calls answered--> asking … --> over
                     |                    |  (waits, while calls need approval or a result from outside)
                     +--Broke, Cancelled--+--------------------------------------> over

``step`` is deterministic: it uses no clock, no random numbers and no SDK. A replay of the same inputs returns the same
states and effects. Inputs that come too late change nothing, such as a result after the turn was cancelled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import events
from ..errors import TurnMisused
from ..events import (
    Acknowledged,
    TurnBlockDelta,
    TurnBlockReset,
    TurnBlockRevised,
    TurnBlockStart,
    TurnBlockStop,
    TurnStarted,
)
from .calls import decided, finished, give_up, progressed, recover, starting, supplied
from .effects import Effect
from .inputs import (
    AcknowledgementReady,
    AddNote,
    AnswerFailed,
    AnswerReceived,
    Begin,
    BlockEnded,
    BlockExtended,
    BlockReplaced,
    BlockRevised,
    BlockStarted,
    CallDecided,
    CallEnded,
    CallProgressed,
    CallStarting,
    Cancel,
    Finalize,
    Input,
    ResultSupplied,
    Resume,
    Retry,
)
from .response import answered, refuse
from .rounds import end_turn, send_request, start_round
from .state import Note, TurnState, add_usage
from .step_builder import StepBuilder


def step(state: TurnState, input: Input) -> tuple[TurnState, list[Effect]]:
    """Apply an input to a state. Return the next state and the effects, in the order in which to perform them.

    Raises TurnMisused for an input that the state does not allow: a second beginning, or a decision or result for a
    call that does not wait for it.
    """
    work = StepBuilder(state)
    _STEPS[type(input)](work, input)
    return work.state, work.effects


def _begun(work: StepBuilder, input: Begin) -> None:
    state = work.state
    if state.phase != "new":
        raise TurnMisused("the turn has begun before", where=state.id, hint="resume it, or make another one")
    work.tell(TurnStarted, state.id, state.wire, state.settings.policy)
    if state.settings.max_rounds > 0:
        start_round(work)
    else:
        start_round(work, "max_rounds_reached")


def _resumed(work: StepBuilder, input: Resume) -> None:
    state = work.state
    if state.phase == "new":
        _begun(work, Begin())
        return
    if state.phase == "over":
        return
    work.tell(TurnStarted, state.id, state.wire, state.settings.policy, True)
    if state.phase == "acting":
        recover(work, input.rerun)
        return
    _again(work, Retry())


def _again(work: StepBuilder, input: Retry) -> None:
    round = work.round if work.state.phase == "asking" else None
    if round is None:
        return
    work.set_round(attempt=round.attempt + 1, last=round.last or work.state.ending is not None)
    work.set(block=round.first_block, usage=add_usage(work.state.usage, input.usage))
    send_request(work)


def _bounded(work: StepBuilder, input: Finalize) -> None:
    if work.state.phase != "over" and work.state.ending is None:
        work.set(ending=input.ending)


def _noted(work: StepBuilder, input: AddNote) -> None:
    if work.state.phase in ("new", "over"):
        return
    if input.keep:
        note = Note(input.round, input.note, input.data)
        work.set(notes=[*work.state.notes, note])
    work.tell(events.Noted, input.round, input.note, input.data)


def _opened(work: StepBuilder, input: BlockStarted) -> None:
    if work.state.phase == "asking":
        sequence = work.round.first_block + input.key
        work.set(block=max(work.state.block, sequence + 1))
        members = (sequence, input.block_type, input.id, input.name)
        work.tell(TurnBlockStart, work.round.round_number, *members)


def _grew(work: StepBuilder, input: BlockExtended) -> None:
    if work.state.phase == "asking":
        work.tell(TurnBlockDelta, work.round.round_number, work.round.first_block + input.key, input.text)


def _replaced(work: StepBuilder, input: BlockReplaced) -> None:
    if work.state.phase == "asking":
        work.tell(TurnBlockReset, work.round.round_number, work.round.first_block + input.key, input.text)


def _closed(work: StepBuilder, input: BlockEnded) -> None:
    if work.state.phase == "asking":
        work.tell(TurnBlockStop, work.round.round_number, _row(work, input), input.cut)


def _settled(work: StepBuilder, input: BlockRevised) -> None:
    if work.state.phase == "asking":
        work.tell(TurnBlockRevised, work.round.round_number, _row(work, input))


def _row(work: StepBuilder, block: BlockEnded | BlockRevised) -> Any:
    return work.block(work.round.first_block + block.key, block.block_type, block.text_content, block.content)


def _broke(work: StepBuilder, input: AnswerFailed) -> None:
    if work.state.phase != "asking":
        return
    response = input.response
    if response is not None:
        work.set_round(response=response, usage=response.usage)
        work.set(usage=add_usage(work.state.usage, response.usage))
    end_turn(work, "provider_failed", input.error)


def _acknowledging(work: StepBuilder, input: AcknowledgementReady) -> None:
    """Emit the acknowledgement, unless its round is over."""
    if work.state.phase == "acting" and input.round in (0, work.round.round_number):
        work.tell(Acknowledged, work.round.round_number, input.text, input.spoken)


def _cancelled(work: StepBuilder, input: Cancel) -> None:
    state = work.state
    if state.phase == "over":
        return
    if state.phase == "acting":
        give_up(work, input.reason)
    elif state.phase == "asking" and input.response is not None:
        response, why = input.response, f": {input.reason}" if input.reason else ""
        work.set_round(response=response, usage=response.usage, result_block=state.block)
        work.set(usage=add_usage(state.usage, response.usage))
        refuse(work, response, f"the turn was cancelled{why}")
    end_turn(work, "cancelled")


_STEPS: dict[type, Callable[[StepBuilder, Any], None]] = {
    Begin: _begun,
    Resume: _resumed,
    BlockStarted: _opened,
    BlockExtended: _grew,
    BlockReplaced: _replaced,
    BlockEnded: _closed,
    BlockRevised: _settled,
    AnswerReceived: answered,
    AnswerFailed: _broke,
    Retry: _again,
    Finalize: _bounded,
    AddNote: _noted,
    AcknowledgementReady: _acknowledging,
    CallDecided: decided,
    CallStarting: starting,
    CallProgressed: progressed,
    CallEnded: finished,
    ResultSupplied: supplied,
    Cancel: _cancelled,
}
