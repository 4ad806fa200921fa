"""Asking an overloaded provider again: after how long, how often, and what it said about it.

    Turn(provider, tools, backoff=Backoff(attempts=6, longest=120))
    Turn(provider, tools, backoff=None)  # an overload ends the turn

A provider passes on what its headers demand: an SDK's exception holds them (``error.response.headers``), and a refusal
that is a Response gets them from `retry_after.with_retry_after`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from msgspec import Struct

from ..errors import PolicyError
from ..model import Error, Response, ServerToolCall, ServerToolResult
from .happenings import Answered, Broke, Noted
from .state import TurnState

#: Statuses of a provider that has too much to do: rate limits (RFC 6585), unavailable (RFC 9110), and Anthropic's 529.
_OVERLOADED = (429, 503, 529)
#: Parts of the words that say the same where there is no status: an error inside a stream that began well.
_WORDS = ("overload", "rate_limit", "ratelimit", "resource_exhausted", "too_many_requests", "throttl", "slow_down")
#: Of a limit that no waiting lifts: `insufficient_quota` and `billing_…` (OpenAI) come with status 429.
_SPENT = ("quota", "billing", "credit")
#: Beyond these a float of seconds overflows.
_DOUBLINGS = 1000


class Backoff(Struct, frozen=True):
    """When a round that a provider was too busy for is asked again.

    ``attempts``: how often a round is asked at most, the first time included. A wait is what the provider demands; else
    ``first`` seconds, doubled each time, of which a random half is taken off (``jitter``: a number from 0 to 1).
    ``longest``: seconds; where the provider demands more the round is not asked again. ``left``: called for the seconds
    that remain, None for no limit. ``sleep`` waits. Raises PolicyError for a negative number.
    """

    attempts: int = 4
    first: float = 1.0
    longest: float = 60.0
    jitter: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    left: Callable[[], float | None] | None = None

    def __post_init__(self) -> None:
        for name in ("attempts", "first", "longest"):
            given = getattr(self, name)
            if not given >= 0:
                raise PolicyError(f"{name} must be >= 0, got {given}", hint="give a number, 0 or more")

    def seconds(self, attempt: int, demanded: float | None = None) -> float | None:
        """Seconds to wait after this attempt (counted from 1); None where the round is not asked again."""
        if attempt >= self.attempts:
            return None
        wait = demanded
        if not wait:
            doubled = self.first * 2.0 ** min(attempt - 1, _DOUBLINGS)
            wait = min(self.longest, doubled) * (0.5 + 0.5 * self.jitter())
        return wait if self.allows(wait) else None

    def allows(self, wait: float) -> bool:
        """Whether there is time to wait so long."""
        left = self.left() if self.left is not None else None
        return wait <= self.longest and (left is None or wait < left)


DEFAULT = Backoff()


class Retries:
    """The retries of one turn: which answers are worth one, counted by round."""

    def __init__(self, backoff: Backoff | None) -> None:
        self._backoff = backoff
        self._asked: Counter[int] = Counter()

    def after(self, state: TurnState, happening: Answered | Broke) -> tuple[Noted, float] | None:
        """The note of a retry, and the seconds to wait before it; None where the answer stays as it is.

        Nothing of an answer with an error was run here. One that holds calls of the provider's own tools is not asked
        for again: the provider may have run them.
        """
        response = happening.response
        error = happening.error if isinstance(happening, Broke) else happening.response.error
        round = state.round
        if self._backoff is None or error is None or round is None or state.phase != "asking":
            return None
        if not is_overload(error) or (response is not None and ran_elsewhere(response)):
            return None
        attempt = self._asked[round.round_number] + 1
        seconds = self._backoff.seconds(attempt, happening.retry_after)
        if seconds is None:
            return None
        self._asked[round.round_number] = attempt
        data = {
            "attempt": attempt + 1,
            "seconds": seconds,
            "demanded": happening.retry_after,
            "status": error.status,
            "why": f"{error.type}: {error.message}",
        }
        return Noted(round.round_number, "retry", data), seconds

    async def wait(self, seconds: float) -> None:
        """Until the round may be asked again."""
        if self._backoff is not None:
            await self._backoff.sleep(seconds)


def is_overload(error: Error) -> bool:
    """Whether the provider has too much to do, so that the same request may succeed later."""
    kind = error.type.lower()
    if error.retryable is False or any(word in kind for word in _SPENT):
        return False
    if error.status is not None and error.status >= 400:
        return error.status in _OVERLOADED
    return any(word in kind for word in _WORDS)


def ran_elsewhere(response: Response) -> bool:
    """Whether an answer holds calls of the provider's own tools."""
    return any(isinstance(block, (ServerToolCall, ServerToolResult)) for _, _, block in response.walk())
