"""Circuit breakers per tool and per provider: after repeated failures, calls are rejected for some time.

    breakers = Breakers(threshold=3, seconds=60)
    breakers.admit("tool", "search")        # raises CircuitOpen
    breakers.failed("tool", "search")

| state     | a call                                    | a failure                        | a success        |
|-----------|-------------------------------------------|----------------------------------|------------------|
| closed    | is admitted                               | ``threshold`` in a row: open     | resets the count |
| open      | is rejected; after ``seconds``: half-open | of a concurrent call: no effect  | no effect        |
| half-open | is admitted                               | open                             | closed           |
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from toolparity.normalizer.errors import PolicyError

from ..errors import CircuitOpen


@dataclass(slots=True)
class _Breaker:
    state: Literal["closed", "open", "half-open"] = "closed"
    failures: int = 0
    opened_at: float = 0.0


class Breakers:
    """Circuit breakers by kind ("tool" or "provider") and name, in memory.

    ``threshold``: consecutive failures after which a breaker opens. ``seconds``: how long it stays open before it
    admits a call again. ``clock``: returns seconds. Share one instance among all turns of an event loop, so that each
    benefits from the failures of the others. A cancelled call is neither a failure nor a success. Raises PolicyError
    for a threshold below 1 and for negative seconds.
    """

    def __init__(
        self, threshold: int = 5, seconds: float = 60.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not threshold >= 1:
            raise PolicyError(f"threshold must be >= 1, got {threshold}")
        if not seconds >= 0:
            raise PolicyError(f"seconds must be >= 0, got {seconds}")
        self._threshold = threshold
        self._seconds = seconds
        self._clock = clock
        self._breakers: defaultdict[tuple[str, str], _Breaker] = defaultdict(_Breaker)

    def refusal(self, kind: str, name: str) -> str | None:
        """Return the reason why the breaker rejects calls now, None if it admits them."""
        breaker = self._breakers[kind, name]
        left = breaker.opened_at + self._seconds - self._clock()
        if breaker.state != "open" or left <= 0:
            return None
        return f"{kind} {name!r} failed {self._threshold} times in a row and is not tried for {left:g}s"

    def admit(self, kind: str, name: str) -> None:
        """Admit one call. Its result goes to `failed` or `succeeded`. Raises CircuitOpen if the breaker is open."""
        refusal = self.refusal(kind, name)
        if refusal is not None:
            raise CircuitOpen(refusal, where=name)
        breaker = self._breakers[kind, name]
        if breaker.state == "open":
            breaker.state = "half-open"

    def failed(self, kind: str, name: str) -> None:
        """Record that an admitted call failed."""
        breaker = self._breakers[kind, name]
        breaker.failures += 1
        if breaker.state == "half-open" or (breaker.state == "closed" and breaker.failures >= self._threshold):
            breaker.state, breaker.opened_at = "open", self._clock()

    def succeeded(self, kind: str, name: str) -> None:
        """Record that an admitted call succeeded."""
        if self._breakers[kind, name].state != "open":
            self._breakers[kind, name] = _Breaker()

    def state(self, kind: str, name: str) -> str:
        """Return "closed", "open" or "half-open"."""
        return self._breakers[kind, name].state
