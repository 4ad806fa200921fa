"""The reasoning engine: it sends one request to the provider, if the breaker and the time limit allow it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from ..answer_reader import close
from ..errors import OutOfTime, PhaseVetoed
from ..provider import Provider
from .breakers import Breakers
from .limits import OUT_OF_TIME


def circuit_of(provider: Provider) -> str:
    """Return the name of the breaker of a provider."""
    return provider.name or provider.wire


class GuardedProvider:
    """A provider that sends requests only if its breaker and the time limit allow it.

    ``seconds_left``: returns the seconds left for an answer, None for no limit.
    """

    def __init__(self, provider: Provider, breakers: Breakers, seconds_left: Callable[[], float | None]) -> None:
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self.address = getattr(provider, "address", None)
        self.call_limit = getattr(provider, "call_limit", None)
        self.takes_formats = getattr(provider, "takes_formats", True)
        self.veto: str | None = None  # why the next request must not be sent
        self._provider = provider
        self._breakers = breakers
        self._seconds_left = seconds_left

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        """Send one request and yield the chunks of its answer.

        Raises PhaseVetoed, CircuitOpen, OutOfTime, and the exceptions of the provider.
        """
        veto, self.veto = self.veto, None
        if veto is not None:
            raise PhaseVetoed(veto)
        self._breakers.admit("provider", circuit_of(self))
        chunks = self._provider.ask(body)
        try:
            while True:
                left = self._seconds_left()
                if left is not None and left <= 0:
                    raise OutOfTime(OUT_OF_TIME)
                limit = asyncio.timeout(left)
                try:
                    async with limit:
                        chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if limit.expired():
                        raise OutOfTime(OUT_OF_TIME) from None
                    raise  # the provider raised it
                yield chunk
        finally:
            await close(chunks)
