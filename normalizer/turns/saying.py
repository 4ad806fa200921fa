"""The words of one answer as they arrive: for models that are to put something into words, and do nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, cast

from msgspec.structs import replace

from ..conversation import Request
from ..decoder import StreamDecoder
from ..errors import NothingSaid
from ..events import BlockDelta, BlockReset, BlockStart, Event
from ..model import Response
from ..requests import write_request
from .cancelling import is_failure
from .opening import opening
from .provider import Provider
from .raised import described


def asked(provider: Provider, system: str, message: str) -> Request:
    """A request of two messages, without tools: what the model is to do, and with what."""
    return replace(opening(message, provider, system=system), model=provider.model)


async def saying(
    provider: Provider, request: Request, heard: Callable[[Response], object] | None = None
) -> AsyncGenerator[str, None]:
    """The words, piece by piece. Close it to close the connection. ``heard`` gets the whole answer.

    Raises NothingSaid where the model declined, called a tool, or said nothing, and where its answer broke off; what
    the provider raises is raised.
    """
    encoded = write_request(request, provider.wire, provider=provider.name)
    decoder = StreamDecoder(provider.wire, provider=provider.name, request=encoded.body)
    words = _Words()
    whole: Response | None = None
    async with aclosing(_arriving(provider, encoded.body)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Response):
                whole = piece
                continue
            for text in words.of(decoder.feed(piece)):
                yield text
    response = decoder.finish() if whole is None else whole
    if heard is not None:
        heard(response)
    for text in words.rest(response.text):
        yield text
    _check(response, words.said)


async def _arriving(provider: Provider, body: Any) -> AsyncGenerator[Any, None]:
    """The pieces of an answer. Whatever the provider raises is an Exception: GeneratorExit would end the readers."""
    async with aclosing(cast(AsyncGenerator[Any, None], provider.ask(body))) as pieces:
        while True:
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except BaseException as error:
                if isinstance(error, Exception) or not is_failure(error):
                    raise
                raise NothingSaid(f"the provider raised {described(error)}", said="") from error
            yield piece


class _Words:
    """What was said so far. ``said``: the text that whoever reads along has seen."""

    def __init__(self) -> None:
        self.said = ""
        self._texts: set[int] = set()

    def of(self, events: list[Event]) -> list[str]:
        """The new words of these events."""
        new: list[str] = []
        for event in events:
            if isinstance(event, BlockStart) and event.choice == 0 and event.block == "text":
                self._texts.add(event.key)
            elif isinstance(event, BlockDelta) and event.choice == 0 and event.key in self._texts and event.text:
                self.said += event.text
                new.append(event.text)
            elif isinstance(event, BlockReset) and event.choice == 0 and event.key in self._texts:
                new += self.rest(event.text)
        return new

    def rest(self, text: str) -> list[str]:
        """What is missing of the whole text. What was said cannot be unsaid: a text that differs is left aside."""
        if len(text) <= len(self.said) or not text.startswith(self.said):
            return []
        more = text[len(self.said) :]
        self.said = text
        return [more]


def _check(response: Response, said: str) -> None:
    if response.error is not None:
        raise NothingSaid(f"{response.error.type}: {response.error.message}", said=said)
    if not response.complete:
        raise NothingSaid("the answer broke off", said=said)
    stop = response.choices[0].stop.reason if response.choices else "unknown"
    if response.calls or stop in ("refusal", "content_filter") or not said.strip():
        raise NothingSaid(f"the model said nothing that can be told ({stop})", said=said)
