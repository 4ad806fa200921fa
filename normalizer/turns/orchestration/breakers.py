"""Circuit breakers per tool and per provider: after repeated failures, calls are rejected for some time.

    breakers = Breakers(threshold=3, seconds=60)
    breakers.admit("tool", "search")        # raises CircuitOpen
    breakers.failed("tool", "search")

The state machine of a breaker comes from purgatory, without its storage and its wrappers. A cancelled call is neither a
failure nor a success, and the wrappers of the library cannot express that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...errors import MissingExtra
from ..errors import CircuitOpen

try:
    from purgatory.domain.model import OPENED, Context
except ImportError:
    raise MissingExtra("circuit breakers need purgatory", hint="pip install 'toolparity[turns]'") from None


class Breakers:
    """Circuit breakers by kind ("tool" or "provider") and name, in memory.

    ``threshold``: consecutive failures after which a breaker opens. ``seconds``: how long it stays open before it
    admits a trial call. ``clock``: returns seconds. Share one instance among all turns of an event loop, so that each
    benefits from the failures of the others.
    """

    def __init__(
        self, threshold: int = 5, seconds: float = 60.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._threshold = threshold
        self._seconds = seconds
        self._clock = clock
        self._circuits: dict[tuple[str, str], Context] = {}
        self._opened: dict[tuple[str, str], float] = {}

    def refusal(self, kind: str, name: str) -> str | None:
        """Return the reason why the breaker rejects calls now, None if it admits them."""
        left = self._opened.get((kind, name), 0.0) + self._seconds - self._clock()
        if self._circuit((kind, name)).state != OPENED or left <= 0:
            return None
        return f"{kind} {name!r} failed {self._threshold} times in a row and is not tried for {left:g}s"

    def admit(self, kind: str, name: str) -> None:
        """Admit one call. Its result goes to `failed` or `succeeded`. Raises CircuitOpen if the breaker is open."""
        key = kind, name
        circuit = self._circuit(key)
        if circuit.state == OPENED:
            refusal = self.refusal(kind, name)
            if refusal is not None:
                raise CircuitOpen(refusal, where=name)
            # purgatory reads the wall clock. With ``opened_at=0.0``, it agrees with this clock that the time is over.
            self._circuits[key] = circuit = Context(name, self._threshold, self._seconds, OPENED, opened_at=0.0)
        circuit.handle_new_request()
        circuit.messages.clear()

    def failed(self, kind: str, name: str, error: BaseException | None = None) -> None:
        """Record that an admitted call failed."""
        key = kind, name
        circuit = self._circuit(key)
        if circuit.state == OPENED:
            return  # a concurrent call opened the breaker
        circuit.handle_exception(error or RuntimeError(name))
        circuit.messages.clear()
        if circuit.state == OPENED:
            self._opened[key] = self._clock()

    def succeeded(self, kind: str, name: str) -> None:
        """Record that an admitted call succeeded."""
        circuit = self._circuit((kind, name))
        circuit.handle_end_request()
        circuit.messages.clear()

    def state(self, kind: str, name: str) -> str:
        """Return "closed", "opened" or "half-opened"."""
        return str(self._circuit((kind, name)).state)

    def _circuit(self, key: tuple[str, str]) -> Context:
        return self._circuits.setdefault(key, Context(key[1], self._threshold, self._seconds))
