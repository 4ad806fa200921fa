"""The state of a turn is enough to resume it elsewhere: no call runs twice, and each has a result.

The program ends at every point where the state is saved, and at every event between: the turn resumes in a new one
from the JSON that was kept last.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolparity.normalizer.conversation import TextPart, ToolResults
from toolparity.normalizer.turns import events as told
from toolparity.normalizer.turns.errors import InvalidState
from toolparity.normalizer.turns.machine import state as states
from toolparity.normalizer.turns.machine.table import step
from toolparity.normalizer.turns.observer import Observer
from toolparity.normalizer.turns.turn import Turn

from . import playing
from .playing import WIRES, Counting, Emulated, Say, Told, at_once, call, only, rows, script

LONG = script(
    [Say("First."), call("look", at=1), call("count", of="ducks")],
    [call("post", text="x"), call("look", at=2)],
    [Say("All done.")],
)


class Killed(BaseException):
    """The program ends here."""


class Dies(Told):
    """Ends the program at the n-th notification; the earlier ones are kept."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._left = at

    def _live(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Killed

    async def event(self, event: Any) -> None:
        self._live()
        await super().event(event)

    async def save(self, state: Any) -> None:
        self._live()
        await super().save(state)


def _whole(wire: str, policy: str) -> tuple[Turn, Told]:
    told_ = Told()
    turn = Turn(Emulated(wire, LONG), Counting().tools(), observers=[told_], policy=policy, id="turn-1")
    at_once(turn.run("Go."))
    return turn, told_


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("policy", ["all", "batch"])
@pytest.mark.parametrize("wire", WIRES)
def test_wherever_the_program_ends_the_turn_goes_on_and_runs_nothing_twice(wire: str, policy: str) -> None:
    whole, log = _whole(wire, policy)
    places = len(log.events) + len(log.states)
    resumed = unknown = 0
    every = 1 if (wire, policy) == ("anthropic.messages", "all") else 3
    for at in range(0, places, every):
        counting = Counting()
        dies = Dies(at)
        provider = Emulated(wire, LONG)
        turn = Turn(provider, counting.tools(), observers=[dies], policy=policy, id="turn-1")
        with pytest.raises(Killed):
            at_once(turn.run("Go."))
        if not dies.states:
            assert counting.ran == []  # nothing was kept, so nothing may have been done
            continue
        resumed += 1
        after = Told()
        again = Turn(provider, counting.tools(), observers=[after], state=states.load(dies.states[-1]))
        outcome = at_once(again.run())
        assert outcome.termination == "natural_completion", (at, outcome)
        assert outcome.text == "All done."
        assert len(counting.ran) == len({str(one) for one in counting.ran}), at  # no call is run twice
        for round in outcome.state.rounds[:2]:
            assert len(round.tool_results) == 2
            for made in round.calls:
                unknown += made.outcome == "unknown_outcome"
                assert made.outcome in ("returned", "unknown_outcome")
        playing.assert_legal(again)
        found = rows([*dies.events, *after.events])
        assert [row[:2] for row in found] == [row[:2] for row in rows(log.events)], at
    assert resumed > places // every // 2
    assert unknown > 0  # some were started and never heard of again
    assert whole.outcome.termination == "natural_completion"


def test_an_idempotent_tool_is_run_again_where_nobody_knows_its_outcome() -> None:
    for idempotent, how, runs in ((False, "unknown_outcome", 0), (True, "returned", 1)):
        counting = Counting()
        log = Told()
        provider = Emulated("anthropic.messages", script([call("look", at=1)], [Say("Done.")]))
        at_once(Turn(provider, counting.tools(), observers=[log]).run("Go."))
        started = next(s for s in map(states.load, log.states) if s.rounds[0].calls[:1] and _status(s) == "started")
        counting.ran.clear()
        provider.bodies.clear()
        turn = Turn(
            provider,
            counting.tools(look={"idempotent": idempotent}),
            state=started,
        )
        events = at_once(playing.play(turn, None))
        assert len(counting.ran) == runs
        assert turn.state.rounds[0].calls[0].outcome == how
        assert only(events, told.TurnStarted)[0].resumed
        assert turn.outcome.text == "Done."
        assert [event.attempt for event in only(events, told.CallStarted)] == ([2] if idempotent else [])


def _status(state: states.TurnState) -> str:
    return state.rounds[0].calls[0].status


def test_a_round_that_is_asked_again_says_so_and_its_blocks_come_again_under_the_same_numbers() -> None:
    class Once(Observer):
        kept: states.TurnState | None = None

        async def save(self, state: states.TurnState) -> None:
            self.kept = state

        async def event(self, event: Any) -> None:
            if isinstance(event, told.TurnBlockStop) and event.block.block_type == "tool_use":
                raise Killed

    once = Once()
    provider = Emulated("anthropic.messages", LONG)
    with pytest.raises(Killed):
        at_once(Turn(provider, Counting().tools(), observers=[once]).run("Go."))
    assert once.kept is not None
    assert once.kept.phase == "asking"
    events = at_once(playing.play(Turn(provider, Counting().tools(), state=once.kept), None))
    first = only(events, told.RoundStarted)[0]
    assert (first.round, first.attempt, first.first_block) == (1, 2, 0)
    assert [row[0] for row in rows(events)] == list(range(10))


def test_a_turn_that_is_over_stays_as_it_is() -> None:
    turn, log = _whole("openai.chat", "all")
    provider = Emulated("openai.chat", LONG)
    again = Turn(provider, Counting().tools(), state=states.load(log.states[-1]))
    assert at_once(playing.play(again, None)) == []
    assert again.outcome.text == turn.outcome.text
    assert provider.bodies == []


def test_a_turn_goes_on_with_another_provider() -> None:
    log = Told()
    first = Emulated("openai.chat", LONG)
    at_once(Turn(first, Counting().tools(), observers=[log]).run("Go."))
    asking = next(s for s in map(states.load, log.states) if s.phase == "asking" and len(s.rounds) == 2)
    second = Emulated("anthropic.messages", LONG)
    turn = Turn(second, Counting().tools(), state=asking)
    at_once(turn.run())
    assert turn.outcome.termination == "natural_completion"
    assert len(second.bodies) == 2
    playing.assert_legal(turn)


# the JSON


def test_a_state_is_the_same_after_a_journey_through_json() -> None:
    for wire in WIRES:
        _, log = _whole(wire, "all")
        for kept in log.states:
            assert states.dump(states.load(kept)) == kept


def test_a_state_keeps_what_strict_json_would_lose() -> None:
    counting = Counting(look=lambda **_: "half \ud83d", count=lambda **_: {"big": 2**70})
    log = Told()
    turn = Turn(Emulated("openai.chat", LONG), counting.tools(), observers=[log])
    at_once(turn.run("Go."))
    assert states.load(log.states[-1]).history() == turn.state.history()
    results = turn.state.history()[2]
    assert isinstance(results, ToolResults)
    assert results.results[0].parts == [TextPart("half \ud83d")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{}", "not a turn state"),
        (b"[]", "version of a turn state: None"),
        (b"{", "not JSON"),
        (b'{"version": 99}', "version of a turn state: 99"),
        (b'{"version": 1, "id": 3}', "not a turn state"),
    ],
)
def test_what_is_no_state_is_refused_with_what_is_wrong(text: bytes, said: str) -> None:
    with pytest.raises(InvalidState, match=said):
        states.load(text)


def test_what_happened_can_be_played_again_and_gives_the_same_states_and_effects() -> None:
    class Recording(Told):
        def __init__(self) -> None:
            super().__init__()
            self.inputs: list[Any] = []

        async def input(self, input: Any) -> None:
            self.inputs.append(input)

    for wire in WIRES:
        recording = Recording()
        turn = Turn(Emulated(wire, LONG), Counting().tools(), observers=[recording], limit=1)
        at_once(turn.run("Go."))
        state = states.TurnState(turn.state.id, wire, turn.state.request, turn.state.settings)
        events: list[Any] = []
        kept: list[bytes] = []
        for input in recording.inputs:
            before = states.dump(state)
            after, effects = step(state, input)
            assert states.dump(state) == before  # the state before is left as it was
            events += [effect.event for effect in effects if hasattr(effect, "event")]
            kept += [states.dump(effect.state) for effect in effects if hasattr(effect, "state")]
            state = after
        assert events == recording.events
        assert kept == recording.states
        assert state == turn.state


def test_many_turns_at_once_share_one_executors_threads() -> None:
    async def run() -> None:
        counting = Counting()
        turns = [Turn(Emulated("openai.chat", LONG), counting.tools()) for _ in range(50)]
        outcomes = await asyncio.gather(*(turn.run("Go.") for turn in turns))
        assert {outcome.text for outcome in outcomes} == {"All done."}
        assert len(counting.ran) == 200

    at_once(run())
