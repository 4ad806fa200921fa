"""The state machine of a turn, as a table: ``step`` returns the next state and the effects of an input.

    state, effects = step(state, input)

The rules:

1. A turn is in one of four phases. ``new``: it has not begun. ``asking``: a request was sent, and its answer is not
   complete. ``acting``: the answer is complete, and its calls run, or wait for a decision or a result. ``over``: the
   turn has ended.
2. `TABLE` decides every pair of an input and a phase. A cell holds a function and the phases that it can lead to, or
   it is `IGNORED` or `INVALID`.
3. An `IGNORED` input changes nothing. It comes too late, such as a result after the turn was cancelled.
4. An `INVALID` input is an error of the caller and raises TurnMisused.
5. An input about a call needs a call whose status is in `CALL_STATUSES`. For any other call, it is treated as in a turn
   that is over.
6. Nothing leads out of ``over``.
7. A step is deterministic: it uses no clock, no random numbers, no I/O. A replay of the same inputs returns the same
   states and effects. Its effects are events first, then at most one `Save`, then actions.

`python docs/state_diagram.py` writes the diagram in `docs/architecture.md` from the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from msgspec import Struct

from ..errors import TurnMisused
from .calls import cancel_calls, decide, end_call, report_progress, resume_calls, start_call
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
from .response import (
    cancel_answer,
    end_block,
    extend_block,
    fail,
    receive_answer,
    replace_block,
    revise_block,
    start_block,
)
from .rounds import acknowledge, add_note, begin, cancel, finalize, resume_round, retry
from .state import CallState, Phase, Status, TurnState
from .step_builder import StepBuilder


class Cell(Struct, frozen=True):
    """The decision for one input in one phase. ``leads_to``: the phases that the turn can be in afterwards."""

    apply: Callable[[StepBuilder, Any], None] | None = None
    leads_to: tuple[Phase, ...] = ()


IGNORED = Cell()
INVALID = Cell()


def _to(apply: Callable[[StepBuilder, Any], None], *leads_to: Phase) -> Cell:
    return Cell(apply, leads_to)


def _row(otherwise: Cell, **cells: Cell) -> dict[Phase, Cell]:
    return {phase: cells.get(phase, otherwise) for phase in get_args(Phase)}


#: Type of input -> phase -> cell. The first argument of a row is the cell of the phases that it does not name.
TABLE: dict[type[Struct], dict[Phase, Cell]] = {
    Begin: _row(INVALID, new=_to(begin, "asking")),
    Resume: _row(
        IGNORED,
        new=_to(begin, "asking"),
        asking=_to(resume_round, "asking"),
        acting=_to(resume_calls, "acting", "asking", "over"),
    ),
    Retry: _row(IGNORED, asking=_to(retry, "asking")),
    Finalize: _row(IGNORED, new=_to(finalize, "new"), asking=_to(finalize, "asking"), acting=_to(finalize, "acting")),
    AddNote: _row(IGNORED, asking=_to(add_note, "asking"), acting=_to(add_note, "acting")),
    Cancel: _row(IGNORED, new=_to(cancel, "over"), asking=_to(cancel_answer, "over"), acting=_to(cancel_calls, "over")),
    BlockStarted: _row(IGNORED, asking=_to(start_block, "asking")),
    BlockExtended: _row(IGNORED, asking=_to(extend_block, "asking")),
    BlockReplaced: _row(IGNORED, asking=_to(replace_block, "asking")),
    BlockEnded: _row(IGNORED, asking=_to(end_block, "asking")),
    BlockRevised: _row(IGNORED, asking=_to(revise_block, "asking")),
    AnswerReceived: _row(IGNORED, asking=_to(receive_answer, "acting", "asking", "over")),
    AnswerFailed: _row(IGNORED, asking=_to(fail, "over")),
    AcknowledgementReady: _row(IGNORED, acting=_to(acknowledge, "acting")),
    CallDecided: _row(INVALID, acting=_to(decide, "acting", "asking", "over")),
    CallStarting: _row(IGNORED, acting=_to(start_call, "acting")),
    CallProgressed: _row(IGNORED, acting=_to(report_progress, "acting")),
    CallEnded: _row(IGNORED, acting=_to(end_call, "acting", "asking", "over")),
    ResultSupplied: _row(INVALID, acting=_to(end_call, "acting", "asking", "over")),
}

#: Input about a call -> the statuses in which a call accepts it.
CALL_STATUSES: dict[type[Struct], tuple[Status, ...]] = {
    CallDecided: ("waiting_approval",),
    CallStarting: ("approved",),
    CallProgressed: ("started",),
    CallEnded: ("waiting_approval", "approved", "started"),
    ResultSupplied: ("waiting_result",),
}


def step(state: TurnState, input: Input) -> tuple[TurnState, list[Effect]]:
    """Apply an input to a state. Return the next state and the effects, in the order in which to perform them.

    Raises TurnMisused for an input that is `INVALID` in this state.
    """
    cell = _cell(state, input)
    if cell.apply is None:
        if cell is IGNORED:
            return state, []
        if isinstance(input, (CallDecided, ResultSupplied)):
            accepting_call(state, type(input), input.call_id)
        raise TurnMisused("the turn has already begun", where=state.id, hint="resume it, or create another turn")
    builder = StepBuilder(state)
    cell.apply(builder, input)
    return builder.state, builder.effects


def is_invalid(state: TurnState, input: Input) -> bool:
    """Return whether `step` would raise, such as for a second decision about a call."""
    return _cell(state, input) is INVALID


def accepting_call(state: TurnState, kind: type[CallDecided | ResultSupplied], id: str) -> CallState:
    """Return the call with this id. Raises TurnMisused if it does not accept this kind of input."""
    waiting = [call for call in state.waiting if call.status in CALL_STATUSES[kind]]
    call = next((call for call in waiting if call.id == id), None)
    if call is None:
        wanted = "decision" if kind is CallDecided else "result"
        ids = ", ".join(call.id for call in waiting) or "none"
        raise TurnMisused(f"{id!r} does not wait for a {wanted}", hint=f"calls that do: {ids}")
    return call


def diagram() -> str:
    """Return the table as a Mermaid state diagram. Notes list the inputs that never change a phase."""
    arrows: dict[tuple[Phase, Phase], list[str]] = {}
    notes: dict[Phase, list[str]] = {}
    for kind, row in TABLE.items():
        for phase, cell in row.items():
            if cell.leads_to == (phase,):
                notes.setdefault(phase, []).append(kind.__name__)
                continue
            for target in cell.leads_to:
                arrows.setdefault((phase, target), []).append(kind.__name__)
    lines = ["stateDiagram-v2", "    [*] --> new"]
    lines += [f"    {phase} --> {target}: {', '.join(names)}" for (phase, target), names in arrows.items()]
    lines.append("    over --> [*]")
    for phase, names in notes.items():
        lines += [f"    note left of {phase}", *(f"        {name}" for name in names), "    end note"]
    return "\n".join(lines)


def _cell(state: TurnState, input: Input) -> Cell:
    row = TABLE[type(input)]
    statuses = CALL_STATUSES.get(type(input))
    if statuses is None or state.phase != "acting":
        return row[state.phase]
    call = state.rounds[-1].call(input.call_id)  # type: ignore[union-attr]
    return row["acting" if call is not None and call.status in statuses else "over"]
