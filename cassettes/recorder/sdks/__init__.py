"""How a request body is sent by a provider's official SDK, in its ordinary public way; one module a wire.

A player is a module with these members:

    HOSTED                     canonical name of a hosted tool -> its definition in a request of the wire, by provider
    settings(asking) -> dict   what stands in the request beside the conversation
    client(link)               the SDK's client, to be used with ``with``; ``async_client`` the same for ``async with``
    sent(client, body, stream) the objects of the SDK in order: the one answer, or the events of a stream
    async_sent                 the same, asynchronous
    REFUSALS, refused(error)   what the SDK raises where the provider answers with an error, and that answer

Adding a wire is a module beside these and a line in the table. Retries are switched off: a recording holds what was
asked once.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response

from ...scripts import Script, Think
from ...surfaces import Surface
from ..decoded import broken_off, rpc_refusal

PLAYERS: dict[str, str] = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic_messages",
    "xai.grpc": "xai_grpc",
}

#: Tokens that an answer may have where the script wants it cut.
CUT_AT = 64


class Link(NamedTuple):
    """Where to send. ``base``: what the SDK takes as base URL or host; ``timeout`` in seconds.

    ``secure``: whether a gRPC channel is encrypted (HTTP tells it by its URL).
    """

    base: str
    key: str
    secure: bool = True
    timeout: float = 60.0


class Asking(NamedTuple):
    """What a request is written for."""

    script: Script
    surface: Surface
    stream: bool

    @property
    def thinks(self) -> bool:
        """Whether the model is to reason, and its reasoning to be seen again in the next round."""
        return any(isinstance(part, Think) for round in self.script.rounds for part in round.parts)

    @property
    def cut(self) -> bool:
        """Whether an answer is to end at the token limit."""
        return any(round.ending == "length" for round in self.script.rounds)


class Refusal(NamedTuple):
    """A provider's error: the body as it stood on the wire, and the status where there is one."""

    body: Any
    status: int | None = None


class RpcStatus(NamedTuple):
    """The status that ended a gRPC call, by its name, when it is not OK."""

    code: str
    details: str


class Heard(NamedTuple):
    """What came of one request: the SDK's own objects in order, and the canonical response they make.

    ``raised``: in the midst of a stream the SDK raised the provider's error. What it makes of that error, and of what
    the provider sends behind it, is less than stood on the wire.
    """

    objects: list[Any]
    response: Response
    raised: bool = False


def player(surface: Surface) -> Any:
    """The module that sends for a surface."""
    return import_module(f".{PLAYERS[surface.wire]}", __name__)


class Caller:
    """One conversation's connection through the SDK: a context manager. ``ask`` sends a body and hears the answer."""

    def __init__(self, surface: Surface, link: Link, stream: bool) -> None:
        self._surface = surface
        self._stream = stream
        self._player = player(surface)
        self._manager = self._player.client(link)
        self._client: Any = None

    def __enter__(self) -> Caller:
        self._client = self._manager.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._manager.__exit__(*raised)

    def ask(self, body: Any) -> Heard:
        """Raises what the SDK raises, but for errors with which the provider answers: they are answers."""
        hearing = Hearing(self._surface, self._player, body, self._stream)
        try:
            # closed at once, not when it is collected: it holds the connection
            with contextlib.closing(self._player.sent(self._client, body, self._stream)) as objects:
                for one in objects:
                    hearing.hear(one)
        except self._player.REFUSALS as error:
            hearing.refuse(error)
        return hearing.over()


class AsyncCaller:
    """The same through the SDK's asynchronous client."""

    def __init__(self, surface: Surface, link: Link, stream: bool) -> None:
        self._surface = surface
        self._stream = stream
        self._player = player(surface)
        self._link = link
        self._manager: Any = None
        self._client: Any = None

    async def __aenter__(self) -> AsyncCaller:
        self._manager = self._player.async_client(self._link)  # belongs to the loop that runs here
        self._client = await self._manager.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._manager.__aexit__(*raised)

    async def ask(self, body: Any) -> Heard:
        """See `Caller.ask`."""
        hearing = Hearing(self._surface, self._player, body, self._stream)
        try:
            async with contextlib.aclosing(self._player.async_sent(self._client, body, self._stream)) as objects:
                async for one in objects:
                    hearing.hear(one)
        except self._player.REFUSALS as error:
            hearing.refuse(error)
        return hearing.over()


class Hearing:
    """Makes the canonical response of what an SDK gives."""

    def __init__(self, surface: Surface, player: Any, body: Any, stream: bool) -> None:
        self._wire, self._provider = surface.wire, surface.provider
        self._player = player
        self._request = body
        self._decoder = StreamDecoder(self._wire, provider=self._provider, request=body) if stream else None
        self._objects: list[Any] = []
        self._response: Response | None = None
        self._raised = False

    def hear(self, one: Any) -> None:
        """The next object of the SDK."""
        self._objects.append(one)
        if self._decoder is not None:
            self._decoder.feed(one)
        else:
            self._response = normalize(one, self._wire, provider=self._provider, request=self._request)

    def refuse(self, error: BaseException) -> None:
        """The provider answered with an error, at once or in mid-stream. Raises it again where it did not answer."""
        refusal = self._player.refused(error)
        if refusal is None:
            raise error
        self._raised = bool(self._decoder is not None and self._objects)
        if isinstance(refusal, RpcStatus):
            if self._decoder is not None and self._objects:
                self._response = broken_off(self._decoder.finish(), *refusal)
            else:
                self._response = rpc_refusal(*refusal)
        elif self._decoder is not None and (refusal.status or 0) < 400:
            self._decoder.feed(refusal.body)
        else:
            self._response = normalize(
                refusal.body, self._wire, provider=self._provider, request=self._request, status=refusal.status
            )

    def over(self) -> Heard:
        """What was heard."""
        if self._response is None and self._decoder is not None:
            self._response = self._decoder.finish()
        assert self._response is not None  # a plain answer is one object, or an error
        return Heard(self._objects, self._response, self._raised)


Sent = Iterator[Any]
AsyncSent = AsyncIterator[Any]
