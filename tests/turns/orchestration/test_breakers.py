"""Circuit breakers: what fails again and again is left alone, and tried again when its time is over."""

from __future__ import annotations

import pytest

from toolparity.normalizer.turns.errors import CircuitOpen
from toolparity.normalizer.turns.orchestration import Breakers

from .staging import Clock


def test_a_breaker_opens_after_so_many_failures_in_a_row() -> None:
    breakers = Breakers(threshold=3, seconds=60, clock=Clock())
    for _ in range(2):
        breakers.admit("tool", "look")
        breakers.failed("tool", "look")
    breakers.succeeded("tool", "look")
    for _ in range(3):
        breakers.admit("tool", "look")
        breakers.failed("tool", "look")
    with pytest.raises(CircuitOpen, match="'look' failed 3 times in a row and is not tried for 60s"):
        breakers.admit("tool", "look")


def test_when_its_time_is_over_one_try_decides() -> None:
    clock = Clock()
    breakers = Breakers(threshold=1, seconds=60, clock=clock)
    breakers.failed("tool", "look")
    clock.now += 59.5
    with pytest.raises(CircuitOpen, match=r"not tried for 0\.5s"):
        breakers.admit("tool", "look")
    clock.now += 1
    breakers.admit("tool", "look")
    assert breakers.state("tool", "look") == "half-open"
    breakers.failed("tool", "look")
    with pytest.raises(CircuitOpen, match="60s"):
        breakers.admit("tool", "look")
    clock.now += 60
    breakers.admit("tool", "look")
    breakers.succeeded("tool", "look")
    assert breakers.state("tool", "look") == "closed"


def test_breakers_are_apart_by_kind_and_name() -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    breakers.failed("tool", "xai")
    breakers.admit("provider", "xai")
    breakers.admit("tool", "look")
    with pytest.raises(CircuitOpen):
        breakers.admit("tool", "xai")


def test_calls_that_fail_beside_the_one_that_opened_it_do_not_hold_it_open_longer() -> None:
    clock = Clock()
    breakers = Breakers(threshold=1, seconds=10, clock=clock)
    breakers.admit("tool", "look")
    breakers.admit("tool", "look")
    breakers.failed("tool", "look")
    clock.now += 8
    breakers.failed("tool", "look")
    clock.now += 2
    breakers.admit("tool", "look")


def test_what_was_given_up_says_nothing() -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    breakers.admit("tool", "look")
    assert breakers.state("tool", "look") == "closed"


def test_a_concurrent_success_does_not_close_an_open_breaker() -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    breakers.admit("tool", "look")
    breakers.admit("tool", "look")
    breakers.failed("tool", "look")
    breakers.succeeded("tool", "look")
    assert breakers.state("tool", "look") == "open"
