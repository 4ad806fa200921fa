"""The machine: after any sequence of inputs every call has one result, and the history is legal."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from tests.support.thoroughness import is_thorough
from tests.support.wires import BYTE_WIRES
from toolparity import Choice, Error, Response, Stop, Text, ToolCall
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolDefinition, ToolResult, User
from toolparity.normalizer.requests import check_request, write_request
from toolparity.turns import events as turn_events
from toolparity.turns.errors import TurnMisused
from toolparity.turns.machine import inputs
from toolparity.turns.machine import state as states
from toolparity.turns.machine.effects import Emit, Save
from toolparity.turns.machine.effects import StopTasks as StopEffect
from toolparity.turns.machine.settings import Settings
from toolparity.turns.machine.table import IGNORED, INVALID, TABLE, is_invalid, step

TOOLS = [ToolDefinition(name, parameters={"type": "object", "properties": {}}) for name in ("look", "post")]


def new(**settings: Any) -> states.TurnState:
    request = Request("openai.chat", "gpt-5-mini", [User([TextPart("Go.")])], TOOLS, provider="openai")
    return states.TurnState("t", "openai.chat", request, Settings(**settings))


def answered(
    *calls: str, text: str = "", stop: Any = "tool_calls", complete: bool = True, error: Any = None
) -> Response:
    """An answer. ``calls`` are tool names, their positions are the ids; "look!" is a call with truncated arguments."""
    blocks: list[Any] = [Text(text)] if text else []
    for number, name in enumerate(calls):
        arguments = None if name.endswith("!") else {"n": number}
        status: Any = "complete" if arguments else "truncated"
        blocks.append(ToolCall(f"c{number}", name.rstrip("!"), arguments, json_codec.text(arguments), status))
    reason = stop if calls else "end_turn" if stop == "tool_calls" else stop
    return Response("openai.chat", "openai", "r", "m", [Choice(0, blocks, Stop(reason))], None, error, complete)


class Driver:
    """A machine with all its effects."""

    def __init__(self, state: states.TurnState) -> None:
        self.state = state
        self.effects: list[Any] = []

    def apply(self, *inputs: Any) -> list[Any]:
        new_effects: list[Any] = []
        for input in inputs:
            before, cell = self.state, TABLE[type(input)][self.state.phase]
            written = states.dump(before)
            if is_invalid(self.state, input):
                with pytest.raises(TurnMisused):
                    step(self.state, input)
                continue
            self.state, effects = step(self.state, input)
            assert states.dump(before) == written  # a step changes no state, and makes a new one
            if cell is IGNORED or before.phase == "over":
                assert (self.state is before, effects) == (True, [])
            else:  # a step leads only to a phase of the table
                assert self.state.phase in cell.leads_to or self.state is before
            names = kinds(effects)  # events, then the state is saved, then actions
            assert names == sorted(names, key=lambda name: {"Emit": 0, "Save": 1}.get(name, 2))
            assert names.count("Save") == 1 or set(names) <= {"Emit"}
            for save in (effect for effect in effects if isinstance(effect, Save)):
                assert states.load(states.dump(save.state)) == save.state
            new_effects += effects
        self.effects += new_effects
        return new_effects

    @property
    def events(self) -> list[Any]:
        return [effect.event for effect in self.effects if isinstance(effect, Emit)]


def done(id: str, text: str = "fine", outcome: Any = "returned") -> inputs.CallSettled:
    return inputs.CallSettled(id, ToolResult(id, [TextPart(text)], is_error=outcome != "returned"), outcome)


def supplied(id: str, text: str = "from afar", outcome: Any = "returned") -> inputs.ResultSupplied:
    return inputs.ResultSupplied(id, done(id, text, outcome).result, outcome)


PHASES: tuple[states.TurnPhase, ...] = get_args(states.TurnPhase)


def kinds(effects: list[Any]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def test_the_table_defines_every_pair_of_input_and_phase() -> None:
    assert set(TABLE) == set(get_args(inputs.Input))
    for row in TABLE.values():
        assert tuple(row) == PHASES
        for cell in row.values():
            assert (cell is IGNORED or cell is INVALID) == (cell.apply is None)
            assert bool(cell.leads_to) == (cell.apply is not None)
    for kind, row in TABLE.items():
        assert bool(row["acting"].statuses) == ("call_id" in kind.__struct_fields__)
        assert set(row["acting"].statuses) <= set(get_args(states.CallStatus))
        assert not any(row[phase].statuses for phase in PHASES if phase != "acting")
    assert all(row["over"].apply is None for row in TABLE.values())


def test_late_inputs_are_ignored() -> None:
    driver = Driver(new())
    driver.apply(inputs.Begin(), inputs.AnswerReceived(answered("look", "post")), inputs.CallStarting("c0"), done("c0"))
    late = [done("c0", "again"), done("unknown"), inputs.CallStarting("c0"), inputs.CallStarting("unknown")]
    late += [inputs.CallProgressed("c0", 1), inputs.AnswerReceived(answered(text="Old."))]
    before = driver.state
    assert driver.apply(*late, inputs.AnswerFailed(Error("x", "y")), *BLOCKS) == []
    assert driver.state == before
    driver.apply(inputs.Cancel())
    over = driver.state
    ended = inputs.Cancel(), inputs.Resume(), inputs.Retry(), inputs.AcknowledgementReady("x")
    assert driver.apply(done("c1"), *ended) == []
    assert driver.state is over


def test_on_error_stop_also_skips_waiting_calls() -> None:
    driver = Driver(new(policy="batch", on_error="stop"))
    driver.apply(inputs.Begin(), inputs.AnswerReceived(answered("look", "post", "look"), ["c1"]))
    driver.apply(inputs.CallStarting("c0"), done("c0", "broken", "raised"))
    results = driver.state.rounds[0].tool_results
    assert [result.is_error for result in results] == [True, True, True]
    assert "look (c0), before it, failed" in str(results[1].parts)
    assert driver.state.phase == "asking"  # the model gets the error and may continue


def test_notes_are_emitted_and_stored_with_the_next_state_only_if_requested() -> None:
    driver = Driver(new())
    driver.apply(inputs.Begin())
    assert kinds(driver.apply(inputs.AddNote(1, "phase", {"at": 1}))) == ["Emit"]
    assert driver.state.notes == []
    driver.apply(inputs.AddNote(1, "recovery", {"at": 2}, keep=True))
    assert driver.events[-1] == turn_events.Noted(driver.state.seq - 1, 1, "recovery", {"at": 2})
    [save] = [e for e in driver.apply(inputs.AnswerReceived(answered(text="Bye."))) if isinstance(e, Save)]
    assert states.load(states.dump(save.state)).notes == [states.TurnNote(1, "recovery", {"at": 2})]
    assert driver.apply(inputs.AddNote(1, "late")) == []


# random inputs

BLOCKS = [
    inputs.BlockStarted(0, "text"),
    inputs.BlockExtended(0, "x"),
    inputs.BlockReplaced(0, "x"),
    inputs.BlockEnded(0, "text", "x"),
    inputs.BlockRevised(0, "text", "x"),
]


def _answer(random: Random) -> Response:
    """A random answer: usually with calls, or with text, incomplete, refused, paused."""
    kind = random.random()
    if kind < 0.08:
        return answered(error=Error("overloaded", "busy"))
    text = random.choice(["", "Words."])
    complete = random.random() < 0.95
    if kind < 0.3:
        return answered(text=text, stop=random.choice(["end_turn", "max_tokens", "pause"]), complete=complete)
    names = random.choices(["look", "post", "fly", "look!"], [4, 4, 2, 1], k=random.randint(1, 3))
    stop = random.choices(["tool_calls", "max_tokens", "pause", "refusal", "unknown"], [8, 1, 1, 1, 1])[0]
    return answered(*names, text=text, stop=stop, complete=complete)


def _input(random: Random, state: states.TurnState) -> Any:
    """A random input, usually one that is expected in this state."""
    ids = ["c0", "c1", "c2"]
    kind = random.random()
    if kind < 0.1:
        id = random.choice(ids)
        one: list[Any] = [inputs.CallStarting(id), done(id), inputs.CallDecided(id, True), supplied(id)]
        revised = inputs.ReviseRound([done(id).result], random.choice([None, "Note."]))
        note = inputs.AddNote(1, "note", {}, keep=random.random() < 0.5)
        others = inputs.AnswerReceived(_answer(random)), inputs.AcknowledgementReady("Sure."), inputs.Begin()
        return random.choice([*one, random.choice(BLOCKS), inputs.CallProgressed(id, 1), revised, note, *others])
    if kind < 0.16:
        return inputs.Resume(random.sample(ids, 1))
    if kind < 0.18:
        return random.choice([inputs.AnswerFailed(Error("gone", "gone")), inputs.Cancel("enough")])
    if kind < 0.22:
        return random.choice([inputs.Retry(), inputs.Retry(), inputs.Finalize("incomplete")])
    if state.phase == "asking":
        wants, away = (random.sample(ids, random.randint(0, 2)) for _ in range(2))
        return inputs.AnswerReceived(_answer(random), wants, away if random.random() < 0.5 else [])
    calls = [call for call in state.rounds[-1].calls if not call.settled]
    if not calls:
        return inputs.AcknowledgementReady("Sure.")
    call = random.choice(calls)
    if call.status == "waiting_approval":
        return inputs.CallDecided(call.id, random.random() < 0.6, "because")
    if call.status == "waiting_result":
        return supplied(call.id, outcome=random.choice(["returned", "returned", "raised"]))
    if call.status == "approved" and call.name != "fly":
        return inputs.CallStarting(call.id)
    outcome = random.choices(["returned", "raised", "timeout", "cancelled"], [6, 2, 1, 1])[0]
    return done(call.id, "x", outcome if call.name != "fly" else "unknown_tool")


def _settings(random: Random) -> dict[str, Any]:
    return {
        "policy": random.choice(["first", "all", "all", "batch", "batch"]),
        "max_rounds": random.randint(0, 4),
        "limit": random.choice([None, None, 0, 1, 2]),
        "on_error": random.choice(["stop", "continue"]),
        "on_all_failed": random.choice(["stop", "answer", "continue"]),
        "loop_limit": random.choice([None, None, 1]),
    }


def _walk(seed: int) -> tuple[Driver, Counter[Any]]:
    """A turn with random inputs, and the number of starts of each call since it could last be rerun."""
    random = Random(seed)
    driver = Driver(new(**_settings(random)))
    driver.apply(inputs.Begin())
    started: Counter[Any] = Counter()
    for _ in range(30):
        if driver.state.phase == "over":
            break
        input = _input(random, driver.state)
        round = len(driver.state.rounds)
        new_effects = driver.apply(input)
        for effect in new_effects:
            if isinstance(effect, Emit) and isinstance(effect.event, turn_events.ResultNeeded):
                started[round, effect.event.call_id, "elsewhere"] += 1
        if isinstance(input, inputs.CallStarting) and new_effects:
            started[round, input.call_id] += 1
        if isinstance(input, inputs.Resume):
            for id in input.rerun:
                started[round, id] = 0  # its tool may run again
    driver.apply(inputs.Cancel())
    return driver, started


def test_any_sequence_of_inputs_ends_with_one_result_per_call_and_a_legal_history(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("ERROR")
    seen: Counter[Any] = Counter()
    handed_over: Counter[Any] = Counter()
    for seed in range(400 if is_thorough() else 220):
        driver, started = _walk(seed)
        state = driver.state
        assert state.phase == "over", seed
        assert state.text, seed
        assert all(times <= 1 for times in started.values()), seed
        handed_over.update(position[2:] for position in started)
        assert [event.seq for event in driver.events] == list(range(len(driver.events))), seed
        over = turn_events.TurnComplete, turn_events.TurnFailed
        ends = [event for event in driver.events if isinstance(event, over)]
        assert len(ends) == 1, seed
        assert isinstance(driver.effects[-1], StopEffect)
        turns: list[Any] = state.history()
        for turn, answers in pairwise(turns):
            if isinstance(turn, Assistant) and turn.response.calls:
                asked = [call.id for call in turn.response.calls]
                assert [result.call_id for result in answers.results] == asked, seed
        request = replace(state.request, messages=[*turns, User([TextPart("And?")])])
        for wire in BYTE_WIRES:
            assert check_request(write_request(request, wire).body, wire) == [], (seed, wire)
        seen[state.termination] += 1
        seen.update(call.outcome for round in state.rounds for call in round.calls)
    assert seen.keys() >= set(get_args(states.Termination)) - {"budget_exceeded"}  # all terminations occurred
    assert handed_over["elsewhere",] > (30 if is_thorough() else 10)
    assert seen.keys() >= set(get_args(states.CallOutcome)) - {"failed", "unsayable", "invalid_arguments"}
