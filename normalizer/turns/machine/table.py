"""The state machine of a turn, without I/O: ``step`` returns the next state and its effects.

    state, effects = step(state, happening)

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
from ..events import Acknowledged, BlockDelta, BlockReset, BlockSettled, BlockStart, BlockStop, TurnStarted
from .calls import decided, finished, give_up, progressed, recover, starting, supplied
from .effects import Effect
from .inputs import (
    Acknowledging,
    Again,
    Answered,
    Begun,
    Bounded,
    Broke,
    Cancelled,
    Closed,
    Decided,
    Finished,
    Grew,
    Happening,
    Noted,
    Opened,
    Progressed,
    Replaced,
    Resumed,
    Settled,
    Starting,
    Supplied,
)
from .response import answered, refuse
from .rounds import ask, ask_again, end
from .state import Note, TurnState, added
from .step_builder import Work


def step(state: TurnState, happening: Happening) -> tuple[TurnState, list[Effect]]:
    """Apply an input to a state. Return the next state and the effects, in the order in which to perform them.

    Raises TurnMisused for an input that the state does not allow: a second beginning, or a decision or result for a
    call that does not wait for it.
    """
    work = Work(state)
    _STEPS[type(happening)](work, happening)
    return work.state, work.effects


def _begun(work: Work, happening: Begun) -> None:
    state = work.state
    if state.phase != "new":
        raise TurnMisused("the turn has begun before", where=state.id, hint="resume it, or make another one")
    work.tell(TurnStarted, state.id, state.wire, state.settings.policy)
    if state.settings.max_rounds > 0:
        ask(work)
    else:
        ask(work, "max_rounds_reached")


def _resumed(work: Work, happening: Resumed) -> None:
    state = work.state
    if state.phase == "new":
        _begun(work, Begun())
        return
    if state.phase == "over":
        return
    work.tell(TurnStarted, state.id, state.wire, state.settings.policy, True)
    if state.phase == "acting":
        recover(work, happening.rerun)
        return
    _again(work, Again())


def _again(work: Work, happening: Again) -> None:
    round = work.round if work.state.phase == "asking" else None
    if round is None:
        return
    work.set_round(attempt=round.attempt + 1, last=round.last or work.state.ending is not None)
    work.set(block=round.first_block, usage=added(work.state.usage, happening.usage))
    ask_again(work)


def _bounded(work: Work, happening: Bounded) -> None:
    if work.state.phase != "over" and work.state.ending is None:
        work.set(ending=happening.ending)


def _noted(work: Work, happening: Noted) -> None:
    if work.state.phase in ("new", "over"):
        return
    if happening.keep:
        note = Note(happening.round, happening.note, happening.data)
        work.set(notes=[*work.state.notes, note])
    work.tell(events.Noted, happening.round, happening.note, happening.data)


def _opened(work: Work, happening: Opened) -> None:
    if work.state.phase == "asking":
        sequence = work.round.first_block + happening.key
        work.set(block=max(work.state.block, sequence + 1))
        members = (sequence, happening.block_type, happening.id, happening.name)
        work.tell(BlockStart, work.round.round_number, *members)


def _grew(work: Work, happening: Grew) -> None:
    if work.state.phase == "asking":
        work.tell(BlockDelta, work.round.round_number, work.round.first_block + happening.key, happening.text)


def _replaced(work: Work, happening: Replaced) -> None:
    if work.state.phase == "asking":
        work.tell(BlockReset, work.round.round_number, work.round.first_block + happening.key, happening.text)


def _closed(work: Work, happening: Closed) -> None:
    if work.state.phase == "asking":
        work.tell(BlockStop, work.round.round_number, _row(work, happening), happening.cut)


def _settled(work: Work, happening: Settled) -> None:
    if work.state.phase == "asking":
        work.tell(BlockSettled, work.round.round_number, _row(work, happening))


def _row(work: Work, block: Closed | Settled) -> Any:
    return work.block(work.round.first_block + block.key, block.block_type, block.text_content, block.content)


def _broke(work: Work, happening: Broke) -> None:
    if work.state.phase != "asking":
        return
    response = happening.response
    if response is not None:
        work.set_round(response=response, usage=response.usage)
        work.set(usage=added(work.state.usage, response.usage))
    end(work, "provider_failed", happening.error)


def _acknowledging(work: Work, happening: Acknowledging) -> None:
    """Emit the acknowledgement, unless its round is over."""
    if work.state.phase == "acting" and happening.round in (0, work.round.round_number):
        work.tell(Acknowledged, work.round.round_number, happening.text, happening.spoken)


def _cancelled(work: Work, happening: Cancelled) -> None:
    state = work.state
    if state.phase == "over":
        return
    if state.phase == "acting":
        give_up(work, happening.reason)
    elif state.phase == "asking" and happening.response is not None:
        response, why = happening.response, f": {happening.reason}" if happening.reason else ""
        work.set_round(response=response, usage=response.usage, result_block=state.block)
        work.set(usage=added(state.usage, response.usage))
        refuse(work, response, f"the turn was cancelled{why}")
    end(work, "cancelled")


_STEPS: dict[type, Callable[[Work, Any], None]] = {
    Begun: _begun,
    Resumed: _resumed,
    Opened: _opened,
    Grew: _grew,
    Replaced: _replaced,
    Closed: _closed,
    Settled: _settled,
    Answered: answered,
    Broke: _broke,
    Again: _again,
    Bounded: _bounded,
    Noted: _noted,
    Acknowledging: _acknowledging,
    Decided: decided,
    Starting: starting,
    Progressed: progressed,
    Finished: finished,
    Supplied: supplied,
    Cancelled: _cancelled,
}
