"""The reasoning engine: it sends one request to the provider, if the breaker and the time limit allow it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from ..errors import OutOfTime
from ..model_call import close
from ..provider import Provider
from .breakers import Breakers


class Engine:
    """A provider that wraps another one. ``left``: returns the seconds left for an answer, None for no limit."""

    def __init__(self, provider: Provider, breakers: Breakers, left: Callable[[], float | None]) -> None:
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self._provider = provider
        self._breakers = breakers
        self._left = left

    @property
    def circuit(self) -> str:
        """The name of the provider's breaker."""
        return self.name or self.wire

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        """Send one request and yield the chunks of its answer.

        Raises CircuitOpen, OutOfTime, and the exceptions of the provider.
        """
        self._breakers.admit("provider", self.circuit)
        pieces = self._provider.ask(body)
        try:
            while True:
                left = self._left()
                if left is not None and left <= 0:
                    raise OutOfTime("the time of this turn is over")
                limit = asyncio.timeout(left)
                try:
                    async with limit:
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if limit.expired():
                        raise OutOfTime("the time of this turn is over") from None
                    raise  # the provider raised it
                yield piece
        finally:
            await close(pieces)
