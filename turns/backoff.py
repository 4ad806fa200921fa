"""Retries of an overloaded provider: when a round is asked again, how often, and after which wait.

    Turn(provider, tools, backoff=Backoff(attempts=6, longest=120))
    Turn(provider, tools, backoff=None)  # an overload ends the turn

A provider passes on the wait that its headers demand: in an exception of the SDK (``error.response.headers``), or in an
error Response with `retry_after.with_retry_after`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import Error, Response, ServerToolCall, ServerToolResult

from .machine.inputs import AddNote, AnswerFailed, AnswerReceived, Input, Retry
from .machine.state import TurnState
from .secrets import public_text

#: Statuses of an overloaded provider: rate limited (RFC 6585), unavailable (RFC 9110), and Anthropic's 529.
_OVERLOAD_STATUSES = (429, 503, 529)
#: Parts of error types that mean the same, for errors without a status (inside a stream that began with status 200).
_OVERLOAD_WORDS = (
    "overload",
    "rate_limit",
    "ratelimit",
    "resource_exhausted",
    "too_many_requests",
    "throttl",
    "slow_down",
)
#: Parts of error types for limits that waiting does not lift: OpenAI sends `insufficient_quota`, `billing_…` with 429.
_QUOTA_WORDS = ("quota", "billing", "credit")
#: With more doublings, a float of seconds overflows.
_MAX_DOUBLINGS = 1000


class Backoff(Struct, frozen=True):
    """The backoff policy for rounds that failed because the provider was overloaded.

    ``attempts``: how often a round is asked at most, including the first time. The wait is the one that the provider
    demands. Otherwise it is ``first`` seconds, doubled after each attempt, minus a random part of up to one half
    (``jitter`` returns a number from 0 to 1). ``longest``: maximum wait in seconds; if the provider demands more, the
    round is not retried. ``left`` returns the seconds that remain, None for no limit. ``sleep`` waits so many seconds.
    Raises PolicyError for a negative number.
    """

    attempts: int = 4
    first: float = 1.0
    longest: float = 60.0
    jitter: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    left: Callable[[], float | None] | None = None

    def __post_init__(self) -> None:
        for name in ("attempts", "first", "longest"):
            value = getattr(self, name)
            if not value >= 0:
                raise PolicyError(f"{name} must be >= 0, got {value}")

    def seconds(self, attempt: int, demanded: float | None = None) -> float | None:
        """Return the seconds to wait after this attempt (counted from 1), or None if the round is not retried.

        ``demanded``: the seconds that the provider demands.
        """
        if attempt >= self.attempts:
            return None
        wait = self.wait(attempt, demanded)
        return wait if self.allows(wait) else None

    def wait(self, attempt: int, demanded: float | None = None) -> float:
        """Return the seconds to wait after this attempt, whether or not another one is allowed."""
        if demanded:
            return demanded
        doubled = self.first * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS)
        return min(self.longest, doubled) * (0.5 + 0.5 * self.jitter())

    def allows(self, wait: float) -> bool:
        """Return whether the wait (in seconds) is within ``longest`` and the time that remains."""
        left = self.left() if self.left is not None else None
        return wait <= self.longest and (left is None or wait < left)


DEFAULT = Backoff()


class Retries:
    """The retries of one turn: decides which answers are retried, and counts the attempts by round."""

    def __init__(self, backoff: Backoff | None) -> None:
        self._backoff = backoff
        self._attempts: Counter[int] = Counter()

    def after(self, state: TurnState, input: AnswerReceived | AnswerFailed) -> tuple[AddNote, float] | None:
        """Return the note of a retry and the seconds to wait before it, or None if the answer is not retried.

        No client call of an answer with an error has run. An answer with server calls is not retried, because the
        provider may have run them.
        """
        response = input.response
        error = input.error if isinstance(input, AnswerFailed) else input.response.error
        round = state.round
        if self._backoff is None or error is None or round is None or state.phase != "asking":
            return None
        if not is_overload(error) or (response is not None and ran_elsewhere(response)):
            return None
        attempt = self._attempts[round.round_number] + 1
        seconds = self._backoff.seconds(attempt, input.retry_after)
        if seconds is None:
            return None
        self._attempts[round.round_number] = attempt
        data = {
            "attempt": attempt + 1,
            "seconds": seconds,
            "demanded": input.retry_after,
            "status": error.status,
            "why": public_text(error),
        }
        return AddNote(round.round_number, "retry", data), seconds

    async def wait(self, seconds: float) -> None:
        """Wait so many seconds with the ``sleep`` of the backoff."""
        if self._backoff is not None:
            await self._backoff.sleep(seconds)


def retry_in(inputs: Sequence[Input], failed: AnswerReceived | AnswerFailed) -> tuple[int, float]:
    """Return how many of the inputs for a failed answer come before its retry, and the seconds to wait before it.

    The retry waits as long as the ``direct`` middleware or the provider demands. Without a wait, all inputs come first.
    """
    for number, input in enumerate(inputs):
        if isinstance(input, Retry) and (wait := input.wait or failed.retry_after):
            return number, wait
    return len(inputs), 0.0


def is_overload(error: Error) -> bool:
    """Return whether the provider is overloaded, so that the same request may succeed later."""
    kind = error.type.lower()
    if error.retryable is False or any(word in kind for word in _QUOTA_WORDS):
        return False
    if error.status is not None and error.status >= 400:
        return error.status in _OVERLOAD_STATUSES
    return any(word in kind for word in _OVERLOAD_WORDS)


def ran_elsewhere(response: Response) -> bool:
    """Return whether an answer contains server calls or their results."""
    return any(isinstance(block, (ServerToolCall, ServerToolResult)) for _, _, block in response.walk())
