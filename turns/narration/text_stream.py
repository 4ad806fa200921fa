"""The text of one answer, streamed as it arrives, for models that write a text and call no tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec.structs import replace

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, Event
from toolparity.normalizer.model import Response
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.wires.registry import wire_name

from ..answer_reader import AnswerReader
from ..errors import TextFailed
from ..execution.exceptions import described
from ..provider import Provider
from ..request import opening


def text_request(provider: Provider, system: str, message: str) -> Request:
    """Return a request without tools that consists of a system prompt and a user message."""
    return replace(opening(message, provider, system=system), model=provider.model)


async def stream_text(
    provider: Provider, request: Request, on_response: Callable[[Response], object] | None = None
) -> AsyncGenerator[str, None]:
    """Send the request and yield the text of its answer as it arrives. Close the iterator to close the connection.

    ``on_response`` is called with the whole response. Raises TextFailed if the model refused, called a tool or
    returned no text, and if the answer failed or broke off. Errors of the provider propagate.
    """
    wire = wire_name(provider.wire)
    encoded = write_request(request, wire, provider=provider.name)
    answer = AnswerReader(StreamDecoder(wire, provider=provider.name, request=encoded.body))
    collector = _TextCollector()
    async with aclosing(answer.events(provider.ask(encoded.body))) as chunks:
        async for events in chunks:
            for text in collector.new_text(events):
                yield text
    try:
        response = answer.finish()
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        # A failure such as GeneratorExit would close this stream.
        raise TextFailed(f"the provider raised {described(error)}", text="") from error
    if on_response is not None:
        on_response(response)
    for text in collector.rest(response.text):
        yield text
    _check(response, collector.text)


class _TextCollector:
    """Collects the text of an answer. ``text``: what was yielded so far."""

    def __init__(self) -> None:
        self.text = ""
        self._text_blocks: set[int] = set()

    def new_text(self, events: list[Event]) -> list[str]:
        new: list[str] = []
        for event in events:
            if isinstance(event, BlockStart) and event.choice == 0 and event.block == "text":
                self._text_blocks.add(event.key)
            elif isinstance(event, BlockDelta) and event.choice == 0 and event.key in self._text_blocks and event.text:
                self.text += event.text
                new.append(event.text)
            elif isinstance(event, BlockReset) and event.choice == 0 and event.key in self._text_blocks:
                new += self.rest(event.text)
        return new

    def rest(self, whole: str) -> list[str]:
        """Return the rest of the whole text, nothing if it does not start with the text that was yielded already."""
        if len(whole) <= len(self.text) or not whole.startswith(self.text):
            return []
        rest = whole[len(self.text) :]
        self.text = whole
        return [rest]


def _check(response: Response, text: str) -> None:
    if response.error is not None:
        raise TextFailed(f"{response.error.type}: {response.error.message}", text=text)
    if not response.complete:
        raise TextFailed("the answer broke off", text=text)
    stop = response.choices[0].stop.reason if response.choices else "unknown"
    if response.calls or stop in ("refusal", "content_filter") or not text.strip():
        raise TextFailed(f"the model returned no text for the user: stop reason {stop}", text=text)
