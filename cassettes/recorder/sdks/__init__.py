"""Sending of request bodies through a provider's official SDK, with its public API; one module per wire.

Each module has these members:

    HOSTED                     provider -> canonical name of a hosted tool -> its definition in a request of the wire
    settings(asking) -> dict   the request's parameters beside the conversation
    client(link)               the SDK's client, for use with ``with``; ``async_client`` for ``async with``
    sent(client, body, stream) yields the SDK's objects in order: the plain response, or the events of a stream
    async_sent                 the asynchronous variant
    REFUSALS, refused(error)   the SDK's exceptions for a provider's error, and the conversion into that error
    DROPS_CALL_IDS             whether the SDK's objects lack the ids of calls; optional
    UNKNOWN                    the members of the usage and of choices that the SDK's objects lack; optional

A third party's wire has such a module as its part ``recorder`` (`toolparity.normalizer.wires.registry`). Retries are
off, so a recording holds each request once.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response

from ...scripts import Script, Think
from ...surfaces import Surface

#: Token limit of a response that the script cuts off.
CUT_AT = 64


class Link(NamedTuple):
    """Where to send. ``base``: the SDK's base URL or host. ``timeout``: in seconds.

    ``secure``: whether a gRPC channel is encrypted; for HTTP the URL decides.
    """

    base: str
    key: str
    secure: bool = True
    timeout: float = 60.0


class RequestSettings(NamedTuple):
    """The script, surface and mode that a request is written for."""

    script: Script
    surface: Surface
    stream: bool

    @property
    def thinks(self) -> bool:
        """Whether the model should reason, with its reasoning sent back in the next round."""
        return any(isinstance(part, Think) for round in self.script.rounds for part in round.parts)

    @property
    def cut(self) -> bool:
        """Whether a response should end at the token limit."""
        return any(round.ending == "length" for round in self.script.rounds)


class ProviderError(NamedTuple):
    """A provider's error: the body as on the wire, and the status if there is one."""

    body: Any
    status: int | None = None


class Received(NamedTuple):
    """The result of one request: the SDK's objects in order, and the canonical response built from them.

    ``raised``: the SDK raised the provider's error during a stream. The SDK then drops part of that error and
    everything after it.
    """

    objects: list[Any]
    response: Response
    raised: bool = False


def sdk_module(surface: Surface) -> Any:
    """Return the module that sends for a surface."""
    return surface.spec.part("recorder", home=__name__)


class Caller:
    """A connection through the SDK for one conversation, as a context manager."""

    def __init__(self, surface: Surface, link: Link, stream: bool) -> None:
        self._surface = surface
        self._stream = stream
        self._sdk = sdk_module(surface)
        self._manager = self._sdk.client(link)
        self._client: Any = None

    def __enter__(self) -> Caller:
        self._client = self._manager.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._manager.__exit__(*raised)

    def send(self, body: Any) -> Received:
        """Send a body and return the response. A provider's error is a response; other SDK exceptions propagate."""
        builder = ResponseBuilder(self._surface, self._sdk, body, self._stream)
        try:
            # close now rather than at garbage collection: it holds the connection
            with contextlib.closing(self._sdk.sent(self._client, body, self._stream)) as objects:
                for received in objects:
                    builder.add(received)
        except self._sdk.REFUSALS as error:
            builder.fail(error)
        return builder.result()


class AsyncCaller:
    """`Caller` for the SDK's asynchronous client."""

    def __init__(self, surface: Surface, link: Link, stream: bool) -> None:
        self._surface = surface
        self._stream = stream
        self._sdk = sdk_module(surface)
        self._link = link
        self._manager: Any = None
        self._client: Any = None

    async def __aenter__(self) -> AsyncCaller:
        self._manager = self._sdk.async_client(self._link)  # created here, because it belongs to the running loop
        self._client = await self._manager.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._manager.__aexit__(*raised)

    async def send(self, body: Any) -> Received:
        """See `Caller.send`."""
        builder = ResponseBuilder(self._surface, self._sdk, body, self._stream)
        try:
            async with contextlib.aclosing(self._sdk.async_sent(self._client, body, self._stream)) as objects:
                async for received in objects:
                    builder.add(received)
        except self._sdk.REFUSALS as error:
            builder.fail(error)
        return builder.result()


class ResponseBuilder:
    """Builds the canonical response from the objects that an SDK returns."""

    def __init__(self, surface: Surface, sdk: Any, body: Any, stream: bool) -> None:
        self._wire = surface.wire
        self._options = {"provider": surface.provider, "request": body}
        self._sdk = sdk
        status = None if surface.by_messages else 200  # otherwise the SDK raises instead of returning a stream
        self._decoder = StreamDecoder(self._wire, status=status, **self._options) if stream else None
        self._objects: list[Any] = []
        self._response: Response | None = None
        self._raised = False

    def add(self, received: Any) -> None:
        """Add the SDK's next object."""
        self._objects.append(received)
        if self._decoder is not None:
            self._decoder.feed(received)
        else:
            self._response = normalize(received, self._wire, **self._options)

    def fail(self, error: BaseException) -> None:
        """Add a provider's error, sent at once or during a stream. Raises ``error`` again if no provider sent it."""
        refusal = self._sdk.refused(error)
        if refusal is None:
            raise error
        self._raised = bool(self._decoder is not None and self._objects)
        if self._decoder is not None and (refusal.status or 0) < 400:
            self._decoder.feed(refusal.body)
            return
        self._response = normalize(refusal.body, self._wire, status=refusal.status, **self._options)
        if self._raised and self._decoder is not None:
            self._response = replace(self._decoder.finish(), error=self._response.error, complete=False)

    def result(self) -> Received:
        """Return the result."""
        if self._response is None and self._decoder is not None:
            self._response = self._decoder.finish()
        assert self._response is not None  # a plain response is one object, or an error
        return Received(self._objects, self._response, self._raised)


Sent = Iterator[Any]
AsyncSent = AsyncIterator[Any]
