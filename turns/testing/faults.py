"""The interfaces of a fault, the faults that providers and tools have in common, and positions drawn by a seed."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from toolparity.normalizer.errors import PolicyError

from ..provider import Provider

_P = TypeVar("_P")
_F = TypeVar("_F")

#: Sends the request, and returns the chunks of its answer (`Provider.ask`).
Ask = Callable[[], AsyncIterator[Any]]


class ProviderFault(Protocol):
    """A way in which the answer to a request goes wrong. Any object with this method is one."""

    def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """Yield the chunks of the answer. ``ask``: the real answer; it need not be called."""


class ToolFault(Protocol):
    """A way in which a call of a tool goes wrong. Any object with this method is one."""

    def call(self, run: Callable[[], Any], is_async: bool) -> Any:
        """Return or raise the outcome of the call. ``run`` calls the real function.

        ``is_async``: this runs in the event loop, and may return an awaitable. Otherwise it runs in a separate thread.
        """


class Injection(Struct, frozen=True):
    """A fault that was injected. ``position``: the number of the request, or the tool and the number of its call."""

    position: int | tuple[str, int]
    fault: Any

    def __str__(self) -> str:
        if isinstance(self.position, int):
            return f"request {self.position}: {self.fault}"
        return f"call {self.position[1]} of {self.position[0]}: {self.fault}"


class Slow(Struct, frozen=True):
    """Wait so many seconds before each chunk of an answer, or before a tool runs."""

    seconds: float = 0.05

    def __post_init__(self) -> None:
        check_least("seconds", self.seconds, 0)

    async def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """See `ProviderFault`."""
        async for chunk in ask():
            await asyncio.sleep(self.seconds)
            yield chunk

    def call(self, run: Callable[[], Any], is_async: bool) -> Any:
        """See `ToolFault`."""
        if not is_async:
            time.sleep(self.seconds)
            return run()

        async def delayed() -> Any:
            await asyncio.sleep(self.seconds)
            return await run()

        return delayed()


class Hang(Struct, frozen=True):
    """Send ``after`` chunks of an answer and nothing more, or never return from a tool, until the turn cancels it.

    A function that is not async hangs in its thread, which nothing can end.
    """

    after: int = 0

    def __post_init__(self) -> None:
        check_least("after", self.after, 0)

    async def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """See `ProviderFault`."""
        async for chunk in first(self.after, ask):
            yield chunk
        await asyncio.Event().wait()

    def call(self, run: Callable[[], Any], is_async: bool) -> Any:
        """See `ToolFault`."""
        return asyncio.Event().wait() if is_async else threading.Event().wait()


def check_least(name: str, value: Any, least: float) -> None:
    """Raises PolicyError for a field of a fault that is not a number, or below the least one."""
    if not isinstance(value, (int, float)) or not value >= least:
        raise PolicyError(f"{name} must be a number >= {least:g}, got {value!r}")


def check_exception(error: Any) -> None:
    """Raises PolicyError for a field of a fault that cannot be raised."""
    if not isinstance(error, BaseException):
        raise PolicyError(f"error must be an exception, got {error!r}", hint="pass an instance")


def check_number(number: Any, of: str) -> None:
    """Raises PolicyError for the number of a request or a call that never comes."""
    if not isinstance(number, int) or number < 1:
        raise PolicyError(f"the number of a {of} must be >= 1, got {number!r}", hint=f"the first {of} has the number 1")


def check_fault(fault: Any, method: str) -> None:
    """Raises PolicyError for an object without the method of a fault."""
    if not callable(getattr(fault, method, None)) or isinstance(fault, type):
        raise PolicyError(f"a fault must be an object with the method {method!r}, got {fault!r}")


async def first(count: int, ask: Ask) -> AsyncIterator[Any]:
    """Yield at most ``count`` chunks of an answer, and leave its connection open. Without one, do not ask."""
    if count == 0:
        return
    left = count
    async for chunk in ask():
        yield chunk
        left -= 1
        if left == 0:
            return


def drawn(seed: int, positions: Iterable[_P], faults: Sequence[_F], *, rate: float = 0.5) -> dict[_P, _F]:
    """Return faults at some of the positions. The same arguments return the same faults, on any machine.

    ``positions``: numbers of requests, or pairs of a tool and the number of its call. ``rate``: the share of positions
    that get a fault.
    """
    chooser = random.Random(seed)
    return {position: chooser.choice(faults) for position in positions if chooser.random() < rate}
