"""The table of the state machine: every pair is defined, transitions stay in it, and none leaves `over`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tests.turns.test_machine import answered, done, new, supplied
from toolparity import Error
from toolparity.turns.errors import TurnMisused
from toolparity.turns.machine import inputs
from toolparity.turns.machine.effects import StopTasks
from toolparity.turns.machine.inputs import Input
from toolparity.turns.machine.state import CallStatus, TurnPhase, TurnState
from toolparity.turns.machine.table import IGNORED, INVALID, TABLE, is_invalid, step

PHASES: tuple[TurnPhase, ...] = get_args(TurnPhase)

_ids = st.sampled_from(["c0", "c1", "c2", "unknown"])
_answers = st.builds(
    answered,
    *[st.sampled_from(["look", "post", "look!"])] * 2,
    stop=st.sampled_from(["tool_calls", "max_tokens", "pause", "refusal", "error"]),
    complete=st.sampled_from([True, True, True, False]),
) | st.builds(answered, text=st.just("Done."), stop=st.sampled_from(["end_turn", "pause", "refusal"]))
_lists = st.lists(_ids, max_size=2)
_outcomes = st.sampled_from(["returned", "raised", "denied"])

#: One strategy for each type of input.
INPUTS: dict[type[Struct], st.SearchStrategy[Any]] = {
    inputs.Begin: st.just(inputs.Begin()),
    inputs.Resume: st.builds(inputs.Resume, _lists),
    inputs.Retry: st.just(inputs.Retry()),
    inputs.Finalize: st.just(inputs.Finalize("incomplete")),
    inputs.AddNote: st.builds(inputs.AddNote, st.just(1), st.just("note"), st.just({}), st.booleans()),
    inputs.Cancel: st.builds(inputs.Cancel, st.none(), st.none() | _answers),
    inputs.BlockStarted: st.just(inputs.BlockStarted(0, "text")),
    inputs.BlockExtended: st.just(inputs.BlockExtended(0, "a")),
    inputs.BlockReplaced: st.just(inputs.BlockReplaced(0, "b")),
    inputs.BlockEnded: st.just(inputs.BlockEnded(0, "text", "b")),
    inputs.BlockRevised: st.just(inputs.BlockRevised(0, "text", "c")),
    inputs.AnswerReceived: st.builds(
        inputs.AnswerReceived, _answers, _lists, _lists, correction=st.none() | st.just("Again.")
    ),
    inputs.AnswerFailed: st.builds(inputs.AnswerFailed, st.just(Error("gone", "gone")), st.none() | _answers),
    inputs.AcknowledgementReady: st.just(inputs.AcknowledgementReady("One moment.")),
    inputs.CallDecided: st.builds(inputs.CallDecided, _ids, st.booleans()),
    inputs.CallStarting: st.builds(inputs.CallStarting, _ids),
    inputs.CallProgressed: st.builds(inputs.CallProgressed, _ids),
    inputs.CallSettled: st.builds(done, _ids, outcome=_outcomes),
    inputs.ResultSupplied: st.builds(supplied, _ids, outcome=_outcomes),
    inputs.ReviseRound: st.builds(
        inputs.ReviseRound, st.lists(_ids.map(lambda id: done(id).result), max_size=2), st.none() | st.just("Note.")
    ),
}
_settings = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(["first", "all", "batch"]),
        "max_rounds": st.integers(0, 3),
        "on_error": st.sampled_from(["stop", "continue"]),
        "on_all_failed": st.sampled_from(["stop", "answer", "continue"]),
    }
)
#: Sequences of inputs; those that make a turn advance are more frequent, so that all phases are reached.
_sequences = st.lists(
    st.one_of(INPUTS[inputs.AnswerReceived], INPUTS[inputs.CallStarting], INPUTS[inputs.CallSettled], *INPUTS.values()),
    max_size=15,
)


def steps(state: TurnState, sequence: Iterable[Input]) -> Iterable[tuple[TurnState, Input, TurnState, list[Any]]]:
    """Yield each step that is not invalid: the state before, the input, the state after, and the effects."""
    for input in sequence:
        if is_invalid(state, input):
            with pytest.raises(TurnMisused):
                step(state, input)
            continue
        after, effects = step(state, input)
        yield state, input, after, effects
        state = after


def test_the_table_defines_every_pair_of_input_and_phase() -> None:
    assert set(TABLE) == set(INPUTS) == set(get_args(Input))
    for row in TABLE.values():
        assert tuple(row) == PHASES
        for cell in row.values():
            assert (cell is IGNORED or cell is INVALID) == (cell.apply is None)
            assert bool(cell.leads_to) == (cell.apply is not None)
    for kind, row in TABLE.items():
        assert bool(row["acting"].statuses) == ("call_id" in kind.__struct_fields__)
        assert set(row["acting"].statuses) <= set(get_args(CallStatus))
        assert not any(row[phase].statuses for phase in PHASES if phase != "acting")


def test_no_transition_leaves_the_phase_over() -> None:
    assert all(row["over"].apply is None for row in TABLE.values())


@given(settings=_settings, sequence=_sequences)
def test_a_step_leads_only_to_a_phase_of_the_table(settings: dict[str, Any], sequence: list[Input]) -> None:
    ended = 0
    for before, input, after, effects in steps(new(**settings), [inputs.Begin(), *sequence]):
        cell = TABLE[type(input)][before.phase]
        if cell is IGNORED or (before.phase == "over"):
            assert after is before
            assert effects == []
        else:
            assert after.phase in cell.leads_to or after is before
        ended += sum(isinstance(effect, StopTasks) for effect in effects)
    assert ended <= 1
