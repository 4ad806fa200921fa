"""Faults of a provider, and the provider that injects them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct

from toolparity.normalizer.model import Error, Response

from ..answer_reader import close
from ..provider import Provider
from ..retry_after import with_retry_after
from .faults import (
    Ask,
    Hang,
    Injection,
    ProviderFault,
    Slow,
    check_exception,
    check_fault,
    check_least,
    check_number,
    first,
)

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class RefuseConnection(Struct, frozen=True):
    """Refuse the connection: the request raises ConnectionRefusedError, as if no server listened."""

    async def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """See `ProviderFault`."""
        raise ConnectionRefusedError("the connection was refused (injected)")
        yield


class Status(Struct, frozen=True):
    """Answer with an HTTP status of 400 and above. ``retry_after``: the wait in seconds that the response demands."""

    status: int
    retry_after: float | None = None

    def __post_init__(self) -> None:
        check_least("status", self.status, 400)

    async def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """See `ProviderFault`."""
        retryable = self.status in (408, 409, 425, 429) or self.status >= 500
        kind = _ERROR_TYPES.get(self.status, "api_error")
        error = Error(kind, f"status {self.status} (injected)", self.status, retryable)
        response = Response(provider.wire, provider.name, None, None, [], error=error)
        headers = {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}
        yield with_retry_after(response, headers)


class Cut(Struct, frozen=True):
    """End the answer after so many chunks, as if it were complete."""

    after: int = 0

    def __post_init__(self) -> None:
        check_least("after", self.after, 0)

    async def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """See `ProviderFault`."""
        async for chunk in first(self.after, ask):
            yield chunk


class Break(Struct, frozen=True):
    """Raise ``error`` after so many chunks, or after the last one if the answer has fewer."""

    after: int = 0
    error: BaseException = ConnectionResetError("the connection was reset (injected)")

    def __post_init__(self) -> None:
        check_least("after", self.after, 0)
        check_exception(self.error)

    async def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """See `ProviderFault`."""
        async for chunk in first(self.after, ask):
            yield chunk
        raise self.error.with_traceback(None)


class Malformed(Struct, frozen=True):
    """Send ``data``, which is not valid on any wire, after so many chunks of an answer, and end it."""

    after: int = 0
    data: bytes = b"data: {malformed\n\n"

    def __post_init__(self) -> None:
        check_least("after", self.after, 0)

    async def answer(self, ask: Ask, provider: Provider) -> AsyncIterator[Any]:
        """See `ProviderFault`."""
        async for chunk in first(self.after, ask):
            yield chunk
        yield self.data


#: One fault of each kind, by name, for parametrized tests.
PROVIDER_FAULTS: dict[str, ProviderFault] = {
    "refuses the connection": RefuseConnection(),
    "is rate limited": Status(429, retry_after=0),
    "has an error": Status(500),
    "is overloaded": Status(529),
    "ends before it begins": Cut(),
    "is cut": Cut(after=2),
    "is reset": Break(after=2),
    "is malformed": Malformed(after=2),
    "is slow": Slow(0.001),
    "hangs": Hang(after=2),
}


class FaultyProvider:
    """A provider whose answers go wrong. ``faults``: by the number of the request, from 1.

    ``injected``: the faults so far. ``requests``: the bodies so far, also those that ``provider`` did not get. Raises
    PolicyError for faults that could not happen.
    """

    def __init__(self, provider: Provider, faults: Mapping[int, ProviderFault]) -> None:
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self.address = getattr(provider, "address", None)
        self.call_limit = getattr(provider, "call_limit", None)
        self.faults = checked(faults)
        self.injected: list[Injection] = []
        self.requests: list[Any] = []
        self._provider = provider

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        """Send one request, and yield the chunks of its answer, faulty or not."""
        self.requests.append(body)
        number = len(self.requests)
        fault = self.faults.get(number)
        if fault is not None:
            self.injected.append(Injection(number, fault))
        answer = answered(fault, self, lambda: self._provider.ask(body))
        try:
            async for chunk in answer:
                yield chunk
        finally:
            await close(answer)


def checked(faults: Mapping[int, ProviderFault]) -> dict[int, ProviderFault]:
    """Return the faults by the number of the request. Raises PolicyError for those that could not happen."""
    for number, fault in faults.items():
        check_number(number, "request")
        check_fault(fault, "answer")
    return dict(faults)


async def answered(fault: ProviderFault | None, provider: Provider, ask: Ask) -> AsyncIterator[Any]:
    """Yield the chunks of an answer with this fault, if there is one. Closes what it opened."""
    opened: list[AsyncIterator[Any]] = []

    def open_answer() -> AsyncIterator[Any]:
        opened.append(ask())
        return opened[-1]

    chunks = fault.answer(open_answer, provider) if fault is not None else open_answer()
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        for iterator in (chunks, *opened):
            await close(iterator)
