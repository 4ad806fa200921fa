"""The one reader of a model's answer: it decodes the chunks, and decides whether a bad end of the connection matters.

An answer counts as soon as it is whole by the events of its wire. If the connection then fails or stays open, only what
could follow is lost, such as the usage.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.events import Event
from toolparity.normalizer.headers import ResponseHeaders, with_rate_limits
from toolparity.normalizer.model import Response

from .execution.exceptions import described, is_failure

_log = logging.getLogger("toolparity")

#: How long an open connection is read after the last event of an answer, in seconds: its end lets the connection be
#: used again. The OpenAI SDK waits as long.
_AFTER_END = 0.1
#: How long it is read if the answer is whole but its wire allows more to follow, from the last event on.
_AFTER_WHOLE = 5.0


class AnswerDecoder(Protocol):
    """The decoder of an answer: a `StreamDecoder`, or a wrapper around one (`textmode.TextReader`).

    ``feed`` may raise ToolLimitReached to end the answer as whole at that point. If the decoder has a method ``read``
    (Response in, Response out), it is called for answers that arrive as a Response.
    """

    def feed(self, data: Any, /) -> list[Event]:
        """Decode the next chunk and return its events."""

    def finish(self) -> Response:
        """Return the response at the end of the answer."""


class AnswerReader:
    """Reads one answer. ``wrapped``: a wrapper around the decoder. ``whole``: the last chunk that was a `Response`.

    ``rate_limits``: those of the headers of the response.
    """

    def __init__(self, decoder: StreamDecoder, wrapped: AnswerDecoder | None = None) -> None:
        self.whole: Response | None = None
        self.rate_limits: dict[str, str] = {}
        self._stream = decoder
        self._decoder = wrapped or decoder
        self._failure: BaseException | None = None
        self._response: Response | None = None

    @property
    def is_over(self) -> bool:
        """Whether no event can follow on this wire."""
        return self._stream.is_over

    async def events(self, chunks: AsyncIterator[Any]) -> AsyncGenerator[list[Event], None]:
        """Yield the canonical events of each chunk. A failure of the connection ends them; `finish` raises it."""
        deadline: float | None = None
        try:
            while True:
                try:
                    if not self._stream.is_whole:
                        chunk = await anext(chunks)
                    else:
                        now = asyncio.get_running_loop().time()
                        deadline = deadline or now + _AFTER_WHOLE
                        if self._stream.is_over:
                            deadline = min(deadline, now + _AFTER_END)
                        async with asyncio.timeout_at(deadline):
                            chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except BaseException as error:
                    if not is_failure(error):
                        raise
                    self._failure = error
                    return
                if self._stream.is_over and not isinstance(chunk, (Response, ResponseHeaders)):
                    continue  # whatever follows the last event is not part of the answer
                if events := self._feed(chunk):
                    deadline = None  # a keep-alive does not extend it
                    yield events
        finally:
            await close(chunks)

    def finish(self) -> Response:
        """Return the response. Raises the failure of the connection if the answer was not whole before it."""
        try:
            response = self.partial()
        except Exception as error:
            raise (self._failure or error) from None
        if self._failure is not None:
            if not response.complete or (self.whole is None and not self._stream.is_whole):
                raise self._failure
            _log.info("the connection ended badly after a whole answer: %s", type(self._failure).__name__)
        return response

    def partial(self) -> Response:
        """Return the response of the chunks so far."""
        if self._response is None:
            if self.whole is None:
                self._response = self._decoder.finish()
            else:
                read = getattr(self._decoder, "read", None)
                self._response = read(self.whole) if read is not None else self.whole
        return with_rate_limits(self._response, self.rate_limits)

    def _feed(self, chunk: Any) -> list[Event]:
        if isinstance(chunk, Response):
            self.whole = chunk
            return []
        if isinstance(chunk, ResponseHeaders):
            self.rate_limits |= chunk.rate_limit
            return []
        return [chunk] if isinstance(chunk, Event) else self._decoder.feed(chunk)


async def close(chunks: AsyncIterator[Any] | None) -> None:
    """Close the connection of an answer. An error of the client is logged."""
    aclose = getattr(chunks, "aclose", None)
    if aclose is None:
        return
    try:
        await aclose()
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning("closing the provider's answer failed: %s", described(error))
