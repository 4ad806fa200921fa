"""The text of one answer, streamed as it arrives, for models that write a text and call no tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, cast

from msgspec.structs import replace

from ...conversation import Request
from ...decoder import StreamDecoder
from ...errors import NothingSaid
from ...events import BlockDelta, BlockReset, BlockStart, Event
from ...model import Response
from ...requests import write_request
from ...wires import wire_name
from ..execution.cancellation import is_failure
from ..execution.exception_text import described
from ..provider import Provider
from ..request import opening


def asked(provider: Provider, system: str, message: str) -> Request:
    """Return a request without tools that consists of a system prompt and a user message."""
    return replace(opening(message, provider, system=system), model=provider.model)


async def saying(
    provider: Provider, request: Request, heard: Callable[[Response], object] | None = None
) -> AsyncGenerator[str, None]:
    """Send the request and yield the text of its answer as it arrives. Close the iterator to close the connection.

    ``heard`` is called with the whole response. Raises NothingSaid if the model refused, called a tool or returned no
    text, and if the answer failed or broke off. Errors of the provider propagate.
    """
    wire = wire_name(provider.wire)
    encoded = write_request(request, wire, provider=provider.name)
    decoder = StreamDecoder(wire, provider=provider.name, request=encoded.body)
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
    """Yield the chunks of an answer.

    A failure that is not an Exception, such as GeneratorExit, becomes NothingSaid. Otherwise it would close the stream.
    """
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
    """Collects the text of an answer. ``said``: the text that was yielded so far."""

    def __init__(self) -> None:
        self.said = ""
        self._texts: set[int] = set()

    def of(self, events: list[Event]) -> list[str]:
        """Return the new text of these events."""
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
        """Return the rest of the whole text, nothing if it does not start with the text that was yielded already."""
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
