"""The machine: whatever happens in whatever order, every call has one result, and the history is legal at its end."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from tests.wires import BYTE_WIRES
from toolparity import Choice, Error, Response, Stop, Text, ToolCall
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
    Assistant,
    Request,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.requests import check_request, write_request
from toolparity.normalizer.turns import events as told
from toolparity.normalizer.turns.errors import TurnMisused
from toolparity.normalizer.turns.machine import inputs
from toolparity.normalizer.turns.machine import state as states
from toolparity.normalizer.turns.machine.effects import Approve, Ask, Emit, Execute, Save, Wait
from toolparity.normalizer.turns.machine.effects import StopTasks as StopEffect
from toolparity.normalizer.turns.machine.table import step

TOOLS = [ToolDefinition(name, parameters={"type": "object", "properties": {}}) for name in ("look", "post")]


def new(**of: Any) -> states.TurnState:
    request = Request("openai.chat", "gpt-5-mini", [User([TextPart("Go.")])], TOOLS, provider="openai")
    return states.TurnState("t", "openai.chat", request, states.Settings(**of))


def said(*calls: str, text: str = "", stop: Any = "tool_calls", complete: bool = True, error: Any = None) -> Response:
    """An answer. A call is a tool's name, its id the place; "look!" is one whose arguments were cut."""
    blocks: list[Any] = [Text(text)] if text else []
    for number, name in enumerate(calls):
        cut = name.endswith("!")
        arguments = None if cut else {"n": number}
        blocks.append(
            ToolCall(
                f"c{number}",
                name.rstrip("!"),
                arguments,
                json_codec.text(arguments),
                "truncated" if cut else "complete",
            )
        )
    reason = stop if calls else "end_turn" if stop == "tool_calls" else stop
    return Response("openai.chat", "openai", "r", "m", [Choice(0, blocks, Stop(reason))], None, error, complete)


class Driven:
    """A machine, and everything that came of it."""

    def __init__(self, state: states.TurnState) -> None:
        self.state = state
        self.effects: list[Any] = []

    def tell(self, *inputs: Any) -> list[Any]:
        made: list[Any] = []
        for one in inputs:
            self.state, effects = step(self.state, one)
            made += effects
        self.effects += made
        return made

    @property
    def events(self) -> list[Any]:
        return [effect.event for effect in self.effects if isinstance(effect, Emit)]


def done(id: str, text: str = "fine", how: Any = "returned") -> inputs.CallSettled:
    return inputs.CallSettled(id, ToolResult(id, [TextPart(text)], is_error=how != "returned"), how)


def supplied(id: str, text: str = "from afar", how: Any = "returned") -> inputs.ResultSupplied:
    return inputs.ResultSupplied(id, done(id, text, how).result, how)


def kinds(effects: list[Any]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def test_a_step_tells_then_keeps_then_does() -> None:
    driven = Driven(new())
    for input in (
        inputs.Begin(),
        inputs.AnswerReceived(said("look", "post"), ["c1"]),
        inputs.CallStarting("c0"),
        done("c0"),
        inputs.CallDecided("c1", False),
        inputs.AnswerReceived(said(text="Bye.")),
    ):
        names = kinds(driven.tell(input))
        rank = {"Emit": 0, "Save": 1}
        assert [rank.get(name, 2) for name in names] == sorted(rank.get(name, 2) for name in names)
        assert names.count("Save") == 1
    for save in (effect for effect in driven.effects if isinstance(effect, Save)):
        assert states.load(states.dump(save.state)) == save.state
    assert driven.state.text == "Bye."


def test_nothing_is_asked_or_run_that_was_not_kept_before() -> None:
    driven = Driven(new())
    for input in (inputs.Begin(), inputs.AnswerReceived(said("look")), inputs.CallStarting("c0"), done("c0")):
        made = driven.tell(input)
        for place, effect in enumerate(made):
            if isinstance(effect, (Ask, Execute, Approve)):
                assert any(isinstance(before, Save) for before in made[:place])


def test_what_comes_too_late_changes_nothing() -> None:
    driven = Driven(new())
    driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post")), inputs.CallStarting("c0"), done("c0"))
    for late in (
        done("c0", "again"),
        done("nobody"),
        inputs.CallStarting("c0"),
        inputs.CallStarting("nobody"),
        inputs.CallProgressed("c0", 1),
        inputs.AnswerReceived(said(text="Old.")),
        inputs.AnswerFailed(Error("x", "y")),
        inputs.BlockStarted(0, "text"),
        inputs.BlockExtended(0, "x"),
        inputs.BlockReplaced(0, "x"),
        inputs.BlockEnded(0, "text", "x"),
        inputs.BlockRevised(0, "text", "x"),
    ):
        before = driven.state
        assert driven.tell(late) == []
        assert driven.state == before
    driven.tell(inputs.Cancel())
    over = driven.state
    for late in (done("c1"), inputs.Cancel(), inputs.Resume(), inputs.Retry(), inputs.AcknowledgementReady("x")):
        assert driven.tell(late) == []
        assert driven.state is over


def test_what_cannot_be_is_an_error() -> None:
    driven = Driven(new())
    driven.tell(inputs.Begin())
    for wrong in (inputs.Begin(), inputs.CallDecided("c0", True), supplied("c0")):
        with pytest.raises(TurnMisused):
            driven.tell(wrong)
    for wrong in (inputs.CallDecided("c0", True), supplied("c0")):
        with pytest.raises(TurnMisused):
            Driven(new()).tell(wrong)


def test_a_batch_gives_out_one_call_at_a_time() -> None:
    driven = Driven(new(policy="batch"))
    made = driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post", "look")))
    assert [[call.id for call in e.calls] for e in made if isinstance(e, Execute)] == [["c0"]]
    made = driven.tell(inputs.CallStarting("c0"), done("c0"))
    assert [[call.id for call in e.calls] for e in made if isinstance(e, Execute)] == [["c1"]]


def test_a_batch_that_stops_skips_what_waits_as_well() -> None:
    driven = Driven(new(policy="batch", on_error="stop"))
    driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post", "look"), ["c1"]), inputs.CallStarting("c0"))
    driven.tell(done("c0", "broken", "raised"))
    results = driven.state.rounds[0].tool_results
    assert [result.is_error for result in results] == [True, True, True]
    assert "look (c0), before it, failed" in str(results[1].parts)
    assert driven.state.phase == "asking"  # the model gets the error and may continue


def test_while_something_runs_nobody_waits() -> None:
    driven = Driven(new())
    made = driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post"), ["c1"]))
    assert not any(isinstance(effect, Wait) for effect in made)
    made = driven.tell(inputs.CallStarting("c0"), done("c0"))
    assert [effect.call_ids for effect in made if isinstance(effect, Wait)] == [["c1"]]


def test_a_call_that_is_run_elsewhere_is_handed_out_kept_and_waited_for() -> None:
    driven = Driven(new())
    made = driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post"), [], ["c1"]))
    assert [[call.id for call in e.calls] for e in made if isinstance(e, Execute)] == [["c0"]]
    [needed] = [event for event in driven.events if isinstance(event, told.ResultNeeded)]
    assert (needed.call_id, needed.name, needed.arguments) == ("c1", "post", {"n": 1})
    assert needed.key == driven.state.rounds[0].calls[1].key
    assert next(e for e in reversed(made) if isinstance(e, Save)).state.rounds[0].calls[1].status == "waiting_result"
    for wrong in (inputs.CallStarting("c1"), done("c1")):
        assert driven.tell(wrong) == []  # it does not run here
    made = driven.tell(inputs.CallStarting("c0"), done("c0"))
    assert [effect.call_ids for effect in made if isinstance(effect, Wait)] == [["c1"]]
    assert made[-3].event == told.TurnWaiting(driven.state.seq - 1, ["c1"], ["c1"])
    assert not driven.state.rounds[0].tool_results[1:]
    made = driven.tell(supplied("c1"))
    assert isinstance(made[-1], Ask)
    assert [result.parts for result in driven.state.rounds[0].tool_results] == [
        [TextPart("fine")],
        [TextPart("from afar")],
    ]
    with pytest.raises(TurnMisused, match="'c1' does not wait for a result"):
        driven.tell(supplied("c1"))


def test_what_waits_for_a_decision_and_what_waits_for_a_result_are_told_apart() -> None:
    driven = Driven(new())
    driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post"), ["c0"], ["c1"]))
    assert driven.events[-1] == told.TurnWaiting(driven.state.seq - 1, ["c0", "c1"], ["c1"])
    for wrong in (supplied("c0"), inputs.CallDecided("c1", True)):
        with pytest.raises(TurnMisused):
            driven.tell(wrong)


def test_what_a_batch_hands_out_holds_up_what_is_behind_it() -> None:
    driven = Driven(new(policy="batch"))
    made = driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post", "look"), [], ["c0", "c2"]))
    assert [effect.call_ids for effect in made if isinstance(effect, Wait)] == [["c0"]]
    assert [event.call_id for event in driven.events if isinstance(event, told.ResultNeeded)] == ["c0"]
    made = driven.tell(supplied("c0"))
    assert [[call.id for call in e.calls] for e in made if isinstance(e, Execute)] == [["c1"]]
    made = driven.tell(inputs.CallStarting("c1"), done("c1"))
    assert [effect.call_ids for effect in made if isinstance(effect, Wait)] == [["c2"]]


def test_what_a_director_notes_is_told_and_where_he_says_so_kept_with_the_next_state() -> None:
    driven = Driven(new())
    driven.tell(inputs.Begin())
    assert kinds(driven.tell(inputs.AddNote(1, "phase", {"at": 1}))) == ["Emit"]
    assert driven.state.notes == []
    driven.tell(inputs.AddNote(1, "recovery", {"at": 2}, keep=True))
    assert driven.events[-1] == told.Noted(driven.state.seq - 1, 1, "recovery", {"at": 2})
    [save] = [e for e in driven.tell(inputs.AnswerReceived(said(text="Bye."))) if isinstance(e, Save)]
    assert states.load(states.dump(save.state)).notes == [states.TurnNote(1, "recovery", {"at": 2})]
    assert driven.tell(inputs.AddNote(1, "late")) == []


def test_only_kept_and_executed_calls_count_as_tools_used() -> None:
    driven = Driven(new(limit=2))
    driven.tell(inputs.Begin(), inputs.AnswerReceived(said("look", "post", "look", "look!")))
    driven.tell(inputs.CallStarting("c0"), done("c0"), done("c1", "unknown", "unknown_tool"))
    round = driven.state.rounds[0]
    assert round.tools_used == ["look"]
    assert [result.call_id for result in round.tool_results] == ["c0", "c1", "c2", "c3"]
    assert len(round.ai_response_content) == 4
    assert round.termination_reason is None


# anything


def _answer(chance: Random) -> Response:
    """An answer that calls, mostly; or one that says, breaks off, is refused, pauses."""
    kind = chance.random()
    if kind < 0.08:
        return said(error=Error("overloaded", "busy"))
    text = chance.choice(["", "Words."])
    complete = chance.random() < 0.95
    if kind < 0.3:
        return said(text=text, stop=chance.choice(["end_turn", "max_tokens", "pause"]), complete=complete)
    names = chance.choices(["look", "post", "fly", "look!"], [4, 4, 2, 1], k=chance.randint(1, 3))
    stop = chance.choices(["tool_calls", "max_tokens", "pause", "refusal", "unknown"], [8, 1, 1, 1, 1])[0]
    return said(*names, text=text, stop=stop, complete=complete)


def _input(chance: Random, state: states.TurnState) -> Any:
    """Something that may well happen in this state; now and then anything at all."""
    ids = ["c0", "c1", "c2"]
    kind = chance.random()
    if kind < 0.1:
        return chance.choice(
            [
                inputs.AnswerReceived(_answer(chance)),
                inputs.CallStarting(chance.choice(ids)),
                done(chance.choice(ids)),
                inputs.CallDecided(chance.choice(ids), True),
                supplied(chance.choice(ids)),
                inputs.AcknowledgementReady("Sure."),
                inputs.BlockStarted(0, "text"),
                inputs.BlockEnded(0, "text", "Words."),
            ]
        )
    if kind < 0.16:
        return inputs.Resume(chance.sample(ids, 1))
    if kind < 0.18:
        return chance.choice([inputs.AnswerFailed(Error("gone", "gone")), inputs.Cancel("enough")])
    if kind < 0.22:
        return chance.choice([inputs.Retry(), inputs.Retry(), inputs.Finalize("incomplete")])
    if state.phase == "asking":
        wants, away = (chance.sample(ids, chance.randint(0, 2)) for _ in range(2))
        return inputs.AnswerReceived(_answer(chance), wants, away if chance.random() < 0.5 else [])
    calls = [one for one in state.rounds[-1].calls if not one.settled]
    if not calls:
        return inputs.AcknowledgementReady("Sure.")
    call = chance.choice(calls)
    if call.status == "waiting_approval":
        return inputs.CallDecided(call.id, chance.random() < 0.6, "because")
    if call.status == "waiting_result":
        return supplied(call.id, how=chance.choice(["returned", "returned", "raised"]))
    if call.status == "approved" and call.name != "fly":
        return inputs.CallStarting(call.id)
    how = chance.choices(["returned", "raised", "timeout", "cancelled"], [6, 2, 1, 1])[0]
    return done(call.id, "x", how if call.name != "fly" else "unknown_tool")


def _settings(chance: Random) -> dict[str, Any]:
    return {
        "policy": chance.choice(["first", "all", "all", "batch", "batch"]),
        "max_rounds": chance.randint(0, 4),
        "limit": chance.choice([None, None, 0, 1, 2]),
        "on_error": chance.choice(["stop", "continue"]),
        "on_all_failed": chance.choice(["stop", "answer", "continue"]),
        "loop_limit": chance.choice([None, None, 1]),
    }


def _walk(seed: int) -> tuple[Driven, Counter[Any]]:
    """A turn in which anything happens, and how often each of its calls was started since a call could be resumed."""
    chance = Random(seed)
    driven = Driven(new(**_settings(chance)))
    driven.tell(inputs.Begin())
    started: Counter[Any] = Counter()
    for _ in range(30):
        if driven.state.phase == "over":
            break
        input = _input(chance, driven.state)
        round = len(driven.state.rounds)
        try:
            made = driven.tell(input)
        except TurnMisused:
            assert isinstance(input, (inputs.CallDecided, inputs.ResultSupplied))
            continue
        for effect in made:
            if isinstance(effect, Emit) and isinstance(effect.event, told.ResultNeeded):
                started[round, effect.event.call_id, "elsewhere"] += 1
        if isinstance(input, inputs.CallStarting) and made:
            started[round, input.call_id] += 1
        if isinstance(input, inputs.Resume):
            for id in input.rerun:
                started[round, id] = 0  # its tool may run again
        assert states.load(states.dump(driven.state)) == driven.state
    driven.tell(inputs.Cancel())
    return driven, started


def test_whatever_happens_every_call_has_one_result_and_the_history_is_legal(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("ERROR")
    seen: Counter[Any] = Counter()
    handed: Counter[Any] = Counter()
    for seed in range(400):
        driven, started = _walk(seed)
        state = driven.state
        assert state.phase == "over", seed
        assert state.text, seed
        assert all(times <= 1 for times in started.values()), seed
        handed.update(place[2:] for place in started)
        assert [event.seq for event in driven.events] == list(range(len(driven.events))), seed
        ends = [event for event in driven.events if isinstance(event, (told.TurnComplete, told.TurnFailed))]
        assert len(ends) == 1, seed
        assert isinstance(driven.effects[-1], StopEffect)
        turns = state.history()
        for place, turn in enumerate(turns):
            if isinstance(turn, Assistant) and turn.response.calls:
                answers = turns[place + 1]
                assert isinstance(answers, ToolResults)
                asked = [call.id for call in turn.response.calls]
                assert [result.call_id for result in answers.results] == asked, seed
        request = replace(state.request, messages=[*turns, User([TextPart("And?")])])
        for wire in BYTE_WIRES:
            assert check_request(write_request(request, wire).body, wire) == [], (seed, wire)
        seen[state.termination] += 1
        seen.update(call.outcome for round in state.rounds for call in round.calls)
    assert seen.keys() >= set(get_args(states.Termination)) - {"budget_exceeded"}  # all of it was there
    assert handed["elsewhere",] > 30
    assert seen.keys() >= set(get_args(states.CallOutcome)) - {"failed", "unsayable", "invalid_arguments"}
