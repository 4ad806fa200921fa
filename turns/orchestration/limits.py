"""Limits of an orchestrated turn, and the meter that counts its calls, tokens and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import ToolCall, Usage

OUT_OF_TIME = "the time limit of this turn is reached"


class Limits(Struct, frozen=True):
    """Limits of one turn; None means no limit.

    ``rounds``: answers whose calls are executed. ``calls``: calls in the turn; those that run elsewhere count, but the
    limit does not stop them. ``tokens``: input plus output; if a provider reports no usage, the counter of the
    `ContextBuilder` estimates them. ``seconds``: duration of the turn, without the time it waits for decisions.

    When a limit is reached, the model gets one last request without calls, with ``last_seconds`` beyond ``seconds``.
    ``attempts``: how often a round that fails is requested, and how many consecutive rounds may have only failed tools,
    before the last request. Retries for an overloaded provider (`backoff.Backoff`) do not count.
    """

    rounds: int = 8
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    last_seconds: float = 30.0
    attempts: int = 2

    def __post_init__(self) -> None:
        """Raises PolicyError for a negative limit."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value < 0:
                raise PolicyError(f"{name} must be >= 0, got {value}")


class LimitMeter:
    """Counts the calls, the tokens and the time of one turn.

    ``clock``: returns seconds. ``on_expiry``: called when the time is over. Time passes from `start` to `stop`, except
    while the turn is paused, and adds up over several runs.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float], on_expiry: Callable[[], None]) -> None:
        self.limits = limits
        self.calls = 0
        self._clock = clock
        self._on_expiry = on_expiry
        self._used = 0.0
        self._started: float | None = None
        self._paused: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the clock of a run."""
        self._started, self._paused = self._clock() - self._used, None
        self._set_timer()

    def stop(self) -> None:
        """Stop the clock at the end of a run."""
        if self._started is not None:
            self._used = self._now() - self._started
        self._cancel_timer()

    def pause(self) -> None:
        """Stop the clock while the turn waits for a decision or a result from outside."""
        self._paused = self._clock()
        self._cancel_timer()

    def resume(self) -> None:
        """Continue after a pause, if there is one."""
        if self._paused is not None and self._started is not None:
            self._started, self._paused = self._started + self._clock() - self._paused, None
            self._set_timer()

    def seconds_left(self) -> float | None:
        """Return the seconds that are left, None for no limit."""
        if self.limits.seconds is None or self._started is None:
            return None
        return self._started + self.limits.seconds - self._now()

    def forbid(self, call: ToolCall) -> str | None:
        """Return why a call must not run. If it may, count it and return None."""
        reason = self._reached()
        self.calls += reason is None
        return reason

    def is_spent(self, usage: Usage | None) -> bool:
        """Return whether a limit is reached. ``usage``: of the whole turn."""
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0) if usage is not None else 0
        limit = self.limits.tokens
        return self._reached() is not None or (limit is not None and tokens >= limit)

    def _reached(self) -> str | None:
        limit, left = self.limits.calls, self.seconds_left()
        if limit is not None and self.calls >= limit:
            return f"the limit of {limit} calls in this turn is reached"
        return OUT_OF_TIME if left is not None and left <= 0 else None

    def _now(self) -> float:
        return self._clock() if self._paused is None else self._paused

    def _set_timer(self) -> None:
        left = self.seconds_left()
        if left is not None:
            self._timer = asyncio.get_running_loop().call_later(max(left, 0), self._on_expiry)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
