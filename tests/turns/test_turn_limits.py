"""Limits of a plain turn: calls, seconds and cost. The model or the caller learns why, and every call has a result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolparity import Usage
from toolparity.normalizer.errors import PolicyError
from toolparity.turns import Prices, Turn, dump, load

from .playing import Counting, Emulated, Say, assert_legal, at_once, call, on_every_wire, script

PRICES = Prices(input=3.0, output=15.0, cached_input=0.3, cache_write=3.75)


@on_every_wire
def test_calls_beyond_the_limit_do_not_run_and_the_model_answers_a_last_time(wire: str) -> None:
    counting = Counting()
    rounds = [[call("look", at=1)], [call("look", at=2), call("look", at=3)], [call("look", at=4)], [Say("Done.")]]
    turn = Turn(Emulated(wire, script(*rounds)), counting.tools(), max_calls=2)
    outcome = at_once(turn.run("Go."))
    assert [arguments["at"] for _, arguments in counting.ran] == [1, 2]
    assert (outcome.text, outcome.termination) == ("Done.", "budget_exceeded")
    text = turn.state.rounds[1].tool_results[1].parts[0].text  # type: ignore[union-attr]
    assert "the limit of 2 calls in this turn is reached" in text
    assert_legal(turn)


@pytest.mark.parametrize("wire", ["openai.responses", "anthropic.messages", "xai.grpc"])
def test_a_turn_ends_when_its_cost_is_reached(wire: str) -> None:
    counting = Counting()
    turn = Turn(
        Emulated(wire, script([call("look")], [Say("Done.")])), counting.tools(), prices=PRICES, max_cost=0.000001
    )
    outcome = at_once(turn.run("Go."))
    assert (outcome.termination, counting.ran) == ("budget_exceeded", [])
    assert outcome.cost == PRICES.cost(outcome.usage)
    assert outcome.cost is not None
    assert outcome.cost > 0.000001
    assert load(dump(outcome.state)).settings.prices == PRICES


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (None, 0.0),
        (Usage(input_tokens=1_000_000, output_tokens=100_000), 4.5),
        (Usage(input_tokens=1_000_000, cached_input_tokens=600_000, cache_write_tokens=400_000), 1.68),
        (Usage(output_tokens=1_000), 0.015),
    ],
)
def test_a_cost_counts_each_kind_of_token_at_its_price(usage: Usage | None, cost: float) -> None:
    assert PRICES.cost(usage) == pytest.approx(cost)
    if usage is not None and usage.cached_input_tokens:
        assert Prices(3.0, 15.0).cost(usage) == pytest.approx(3.0)


def test_a_turn_is_cancelled_when_its_time_is_over() -> None:
    ended: list[str] = []

    async def hang(**_: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")
        return ""

    turn = Turn(
        Emulated("openai.chat", script([call("look")], [Say("Done.")])), Counting(look=hang).tools(), seconds=0.5
    )
    outcome = at_once(turn.run("Go."))
    assert (outcome.termination, ended) == ("cancelled", ["ended"])
    assert turn.state.rounds[0].tool_results[0].is_error
    assert_legal(turn)


def test_the_timer_of_a_turn_ends_with_its_run() -> None:
    timers: list[asyncio.TimerHandle] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later

        def recorded(seconds: float, *arguments: Any) -> asyncio.TimerHandle:
            timer = call_later(seconds, *arguments)
            timers.extend([timer] if seconds == 3600 else [])
            return timer

        loop.call_later = recorded  # type: ignore[method-assign, assignment]
        await Turn(Emulated("openai.chat", script([Say("Done.")])), seconds=3600).run("Go.")

    at_once(main())
    assert [timer.cancelled() for timer in timers] == [True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "none"}, "policy"),
        ({"limit": -1}, "limit must be >= 0"),
        ({"max_rounds": -1}, "max_rounds must be >= 0"),
        ({"budget": -5}, "budget must be"),
        ({"max_cost": 1.0}, "max_cost needs prices"),
        ({"max_calls": -1}, "max_calls must be >= 0"),
        ({"seconds": -1.0}, "seconds must be >= 0"),
        ({"seconds": float("nan")}, "seconds must be >= 0"),
    ],
)
def test_invalid_limits_are_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Turn(Emulated("openai.chat", script([])), **options)
