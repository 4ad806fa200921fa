"""Breakers and fallbacks of tools without a function, whose calls run elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.turns import Tool, ToolFailed, Tools, Turn, dump, load
from toolparity.turns.errors import TurnMisused
from toolparity.turns.events import CallStarted, Noted, ResultNeeded
from toolparity.turns.orchestration import Breakers, Coordinator

from . import playing
from .playing import Counting, Emulated, Say, at_once, call, only, play, script

ONE = script([call("post", text="a")], [Say("Done.")])
TROUBLES = [ToolFailed("the printer is off"), RuntimeError("broke"), object()]


def elsewhere(counting: Counting, fallback: str | None = "count") -> Tools:
    """The tools of a test. `post` runs elsewhere."""
    own = [tool for tool in counting.tools().values() if tool.name != "post"]
    return Tools([*own, Tool(name="post", fallback=fallback)])


def results(turn: Turn) -> list[tuple[str, bool]]:
    tool_results = turn.state.rounds[0].tool_results
    return [("".join(getattr(part, "text", "") for part in result.parts), result.is_error) for result in tool_results]


def answered(turn: Turn, outcome: Any) -> list[Any]:
    """Supply the result of the one waiting call, and run the turn on."""
    [waiting] = turn.outcome.waiting
    turn.answer(waiting.id, outcome)
    return at_once(play(turn, None))


@pytest.mark.parametrize("outcome", TROUBLES)
def test_a_call_that_fails_elsewhere_is_replaced_by_its_fallback(outcome: Any) -> None:
    counting = Counting(count=lambda text: f"counted {text}")
    turn = Turn(Emulated("openai.chat", ONE), elsewhere(counting))
    at_once(play(turn))
    events = answered(turn, outcome)
    [(text, is_error)] = results(turn)
    assert (text.endswith("counted a"), is_error) == (True, False)
    assert 'count({"text":"a"}) was run in its place' in text
    assert counting.ran == [("count", {"text": "a"})]
    assert [event.attempt for event in only(events, CallStarted)] == [2]
    assert [event.note for event in only(events, Noted)] == ["fallback"]
    assert (turn.outcome.text, turn.outcome.waiting) == ("Done.", [])
    playing.assert_legal(turn)


def test_a_fallback_that_fails_too_leaves_both_reasons() -> None:
    def broken(**_: Any) -> None:
        raise KeyError("down")

    turn = Turn(Emulated("openai.chat", ONE), elsewhere(Counting(count=broken)))
    at_once(play(turn))
    answered(turn, ToolFailed("the printer is off"))
    [(text, is_error)] = results(turn)
    assert is_error
    assert text.startswith("the printer is off\ncount, tried in its place, failed:")


def test_a_result_is_not_accepted_while_the_fallback_runs() -> None:
    refused: list[str] = []

    def count(**_: Any) -> str:
        try:
            turn.answer(turn.state.rounds[0].calls[0].id, "late")
        except TurnMisused as error:
            refused.append(error.what)
        return "counted"

    turn = Turn(Emulated("openai.chat", ONE), elsewhere(Counting(count=count)))
    at_once(play(turn))
    answered(turn, ToolFailed("off"))
    assert len(refused) == 1
    assert results(turn)[0][0].endswith("counted")


def test_a_fallback_that_was_interrupted_is_not_run_again_in_another_process() -> None:
    counting = Counting()
    turn = Turn(Emulated("openai.chat", ONE), elsewhere(counting))
    at_once(play(turn))
    [waiting] = turn.outcome.waiting
    turn.answer(waiting.id, ToolFailed("off"))
    kept: list[bytes] = []

    async def until_it_starts() -> None:
        stream = turn.stream()
        async for event in stream:
            if isinstance(event, CallStarted):
                kept.append(dump(turn.state))  # as a process that ends here leaves it
        await stream.aclose()  # type: ignore[attr-defined]

    at_once(until_it_starts())
    resumed = Turn(Emulated("openai.chat", ONE), elsewhere(counting), state=load(kept[0]))
    at_once(resumed.run())
    assert counting.names == ["count"]
    assert "whether it took effect is not known" in results(resumed)[0][0]


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("fallback", [None, "count"])
def test_a_breaker_counts_failures_elsewhere_and_then_keeps_calls_from_being_handed_over(
    fallback: str | None, trouble: Any
) -> None:
    now = [0.0]
    breakers = Breakers(threshold=2, seconds=60, clock=lambda: now[0])

    def coordinator(counting: Counting) -> Coordinator:
        return Coordinator(Emulated("openai.chat", ONE), elsewhere(counting, fallback), breakers=breakers)

    for _ in range(2):
        failing = coordinator(Counting())
        at_once(failing.run("Go."))
        answered(failing.turn, trouble)
    assert breakers.state("tool", "post") == "open"

    counting = Counting(count=lambda text: f"counted {text}")
    rejected = coordinator(counting)

    async def events() -> list[Any]:
        return [event async for event in rejected.stream("Go.")]

    assert only(at_once(events()), ResultNeeded) == []
    [(text, is_error)] = results(rejected.turn)
    assert "failed 2 times in a row and is not tried for 60s" in text
    assert (is_error, counting.names) == ((True, []) if fallback is None else (False, ["count"]))

    now[0] = 61.0
    admitted = coordinator(Counting())
    at_once(admitted.run("Go."))
    answered(admitted.turn, "posted")
    assert results(admitted.turn) == [("posted", False)]
    assert breakers.state("tool", "post") == "closed"
