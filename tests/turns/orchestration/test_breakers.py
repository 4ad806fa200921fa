"""Circuit breakers open after repeated failures and admit a trial call after their timeout."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.errors import PolicyError
from toolparity.turns.errors import CircuitOpen
from toolparity.turns.orchestration import Breakers

from .staging import Clock


def test_a_breaker_opens_after_its_threshold_of_consecutive_failures() -> None:
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


def test_after_its_timeout_a_breaker_admits_one_call_that_decides_its_state() -> None:
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


def test_breakers_are_separate_by_kind_and_name() -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    breakers.failed("tool", "xai")
    breakers.admit("provider", "xai")
    breakers.admit("tool", "look")
    with pytest.raises(CircuitOpen):
        breakers.admit("tool", "xai")


def test_concurrent_failures_do_not_extend_the_time_a_breaker_is_open() -> None:
    clock = Clock()
    breakers = Breakers(threshold=1, seconds=10, clock=clock)
    breakers.admit("tool", "look")
    breakers.admit("tool", "look")
    breakers.failed("tool", "look")
    clock.now += 8
    breakers.failed("tool", "look")
    clock.now += 2
    breakers.admit("tool", "look")


def test_a_call_without_an_outcome_does_not_change_a_breaker() -> None:
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


@pytest.mark.parametrize("options", [{"threshold": 0}, {"threshold": -1}, {"seconds": -1}])
def test_a_breaker_that_could_not_work_is_an_error(options: Any) -> None:
    with pytest.raises(PolicyError, match="must be >="):
        Breakers(**options)
