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
5. A cell for an input about a call states the statuses of calls that accept it. For any other call, the input is
   treated as in a turn that is over.
6. Nothing leads out of ``over``.
7. A step is deterministic: it uses no clock, no random numbers, no I/O. A replay of the same inputs returns the same
   states and effects. Its effects are events first, then at most one `Save`, then actions.

`python -m docs state_diagram` writes the diagram in `docs/pages/architecture.md` from the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from msgspec import Struct

from ..errors import TurnMisused
from . import calls, inputs, response, rounds
from .effects import Effect
from .inputs import Input
from .state import CallState, CallStatus, TurnPhase, TurnState
from .step_builder import StepBuilder


class Cell(Struct, frozen=True):
    """The decision for one input in one phase.

    ``leads_to``: the phases that the turn can be in afterwards. ``statuses``: for an input about a call, the statuses
    in which the call accepts it.
    """

    apply: Callable[[StepBuilder, Any], None] | None = None
    leads_to: tuple[TurnPhase, ...] = ()
    statuses: tuple[CallStatus, ...] = ()


IGNORED = Cell()
INVALID = Cell()


def _to(apply: Callable[[StepBuilder, Any], None], *leads_to: TurnPhase, of: tuple[CallStatus, ...] = ()) -> Cell:
    return Cell(apply, leads_to, of)


def _row(otherwise: Cell, **cells: Cell) -> dict[TurnPhase, Cell]:
    return {phase: cells.get(phase, otherwise) for phase in get_args(TurnPhase)}


#: After an answer or a result: calls are still open, the next round was asked, or the turn has ended.
_NEXT: tuple[TurnPhase, ...] = ("acting", "asking", "over")
_OPEN: tuple[CallStatus, ...] = ("waiting_approval", "approved", "started")

#: Type of input -> phase -> cell. The first argument of a row is the cell of the phases that it does not name.
TABLE: dict[type[Struct], dict[TurnPhase, Cell]] = {
    inputs.Begin: _row(INVALID, new=_to(rounds.begin, "asking")),
    inputs.Resume: _row(
        IGNORED,
        new=_to(rounds.begin, "asking"),
        asking=_to(rounds.resume_round, "asking"),
        acting=_to(calls.resume_calls, *_NEXT),
    ),
    inputs.Retry: _row(IGNORED, asking=_to(rounds.retry, "asking")),
    inputs.Finalize: _row(
        IGNORED,
        new=_to(rounds.finalize, "new"),
        asking=_to(rounds.finalize, "asking"),
        acting=_to(rounds.finalize, "acting"),
    ),
    inputs.AddNote: _row(IGNORED, asking=_to(rounds.add_note, "asking"), acting=_to(rounds.add_note, "acting")),
    inputs.ReviseRound: _row(IGNORED, acting=_to(calls.revise_round, "acting")),
    inputs.Cancel: _row(
        IGNORED,
        new=_to(rounds.cancel, "over"),
        asking=_to(response.cancel_answer, "over"),
        acting=_to(calls.cancel_calls, "over"),
    ),
    inputs.BlockStarted: _row(IGNORED, asking=_to(response.start_block, "asking")),
    inputs.BlockExtended: _row(IGNORED, asking=_to(response.extend_block, "asking")),
    inputs.BlockReplaced: _row(IGNORED, asking=_to(response.replace_block, "asking")),
    inputs.BlockEnded: _row(IGNORED, asking=_to(response.end_block, "asking")),
    inputs.BlockRevised: _row(IGNORED, asking=_to(response.revise_block, "asking")),
    inputs.AnswerReceived: _row(IGNORED, asking=_to(response.receive_answer, *_NEXT)),
    inputs.AnswerFailed: _row(IGNORED, asking=_to(response.fail, "over")),
    inputs.AcknowledgementReady: _row(IGNORED, acting=_to(rounds.acknowledge, "acting")),
    inputs.CallDecided: _row(INVALID, acting=_to(calls.decide, *_NEXT, of=("waiting_approval",))),
    inputs.CallStarting: _row(IGNORED, acting=_to(calls.start_call, "acting", of=("approved", "waiting_result"))),
    inputs.CallProgressed: _row(IGNORED, acting=_to(calls.report_progress, "acting", of=("started",))),
    inputs.CallSettled: _row(IGNORED, acting=_to(calls.end_call, *_NEXT, of=_OPEN)),
    inputs.ResultSupplied: _row(INVALID, acting=_to(calls.end_call, *_NEXT, of=("waiting_result",))),
}


def step(state: TurnState, input: Input) -> tuple[TurnState, list[Effect]]:
    """Apply an input to a state. Return the next state and the effects, in the order in which to perform them.

    Raises TurnMisused for an input that is `INVALID` in this state.
    """
    cell = _cell(state, input)
    if cell.apply is None:
        if cell is IGNORED:
            return state, []
        if isinstance(input, (inputs.CallDecided, inputs.ResultSupplied)):
            accepting_call(state, type(input), input.call_id)
        raise TurnMisused("the turn has already begun", where=state.id, hint="resume it, or create another turn")
    builder = StepBuilder(state)
    cell.apply(builder, input)
    return builder.state, builder.effects


def is_invalid(state: TurnState, input: Input) -> bool:
    """Return whether `step` would raise, such as for a second decision about a call."""
    return _cell(state, input) is INVALID


def accepting_call(state: TurnState, kind: type[inputs.CallDecided | inputs.ResultSupplied], id: str) -> CallState:
    """Return the call with this id. Raises TurnMisused if it does not accept this kind of input."""
    waiting = [call for call in state.waiting if call.status in TABLE[kind]["acting"].statuses]
    call = next((call for call in waiting if call.id == id), None)
    if call is None:
        wanted = "decision" if kind is inputs.CallDecided else "result"
        ids = ", ".join(call.id for call in waiting) or "none"
        raise TurnMisused(f"{id!r} does not wait for a {wanted}", hint=f"calls that do: {ids}")
    return call


Arrows = dict[tuple[TurnPhase, TurnPhase], list[str]]


def arrows() -> Arrows:
    """Return the names of the inputs that lead from one phase to another, without those that never change a phase."""
    names: Arrows = {}
    for kind, row in TABLE.items():
        for phase, cell in row.items():
            for target in cell.leads_to if cell.leads_to != (phase,) else ():
                names.setdefault((phase, target), []).append(kind.__name__)
    return names


def diagram() -> str:
    """Return the table as a Mermaid state diagram. Notes list the inputs that never change a phase."""
    notes: dict[TurnPhase, list[str]] = {}
    for kind, row in TABLE.items():
        for phase, cell in row.items():
            if cell.leads_to == (phase,):
                notes.setdefault(phase, []).append(kind.__name__)
    lines = ["stateDiagram-v2", "    [*] --> new"]
    lines += [f"    {phase} --> {target}: {', '.join(names)}" for (phase, target), names in arrows().items()]
    lines.append("    over --> [*]")
    for phase, names in notes.items():
        lines += [f"    note left of {phase}", *(f"        {name}" for name in names), "    end note"]
    return "\n".join(lines)


def _cell(state: TurnState, input: Input) -> Cell:
    row = TABLE[type(input)]
    cell = row[state.phase]
    if cell.statuses:
        call = state.rounds[-1].call(input.call_id)  # type: ignore[union-attr]
        if call is None or call.status not in cell.statuses:
            return row["over"]
    return cell
