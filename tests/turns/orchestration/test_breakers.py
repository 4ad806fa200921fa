"""Circuit breakers open after repeated failures and admit a trial call after their timeout."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.errors import PolicyError
from toolparity.turns.errors import CircuitOpen
from toolparity.turns.orchestration import Breakers

from .staging import Clock

LOOK = ("tool", "look")


def test_a_breaker_opens_after_its_threshold_of_consecutive_failures() -> None:
    breakers = Breakers(threshold=3, seconds=60, clock=Clock())
    for failed in (True, True, False, True, True, True):
        breakers.admit(*LOOK)  # a call without an outcome does not change a breaker
        assert breakers.state(*LOOK) == "closed"
        (breakers.failed if failed else breakers.succeeded)(*LOOK)
    with pytest.raises(CircuitOpen, match="'look' failed 3 times in a row and is not tried for 60s"):
        breakers.admit(*LOOK)
    breakers.admit("provider", "look")
    breakers.admit("tool", "count")


def test_after_its_timeout_a_breaker_admits_one_call_that_decides_its_state() -> None:
    clock = Clock()
    breakers = Breakers(threshold=1, seconds=60, clock=clock)
    breakers.failed(*LOOK)
    clock.now += 59.5
    with pytest.raises(CircuitOpen, match=r"not tried for 0\.5s"):
        breakers.admit(*LOOK)
    clock.now += 1
    breakers.admit(*LOOK)
    assert breakers.state(*LOOK) == "half-open"
    breakers.failed(*LOOK)
    with pytest.raises(CircuitOpen, match="60s"):
        breakers.admit(*LOOK)
    clock.now += 60
    breakers.admit(*LOOK)
    breakers.succeeded(*LOOK)
    assert breakers.state(*LOOK) == "closed"


def test_concurrent_outcomes_neither_extend_nor_end_the_time_a_breaker_is_open() -> None:
    clock = Clock()
    breakers = Breakers(threshold=1, seconds=10, clock=clock)
    for _ in range(3):
        breakers.admit(*LOOK)
    breakers.failed(*LOOK)
    clock.now += 8
    breakers.failed(*LOOK)
    breakers.succeeded(*LOOK)
    assert breakers.state(*LOOK) == "open"
    clock.now += 2
    breakers.admit(*LOOK)


@pytest.mark.parametrize("options", [{"threshold": 0}, {"threshold": -1}, {"seconds": -1}])
def test_a_breaker_that_could_not_work_is_an_error(options: Any) -> None:
    with pytest.raises(PolicyError, match="must be >="):
        Breakers(**options)
