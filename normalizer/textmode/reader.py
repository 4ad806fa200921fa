"""Extraction of calls from the text of a stream, up to the tool limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from msgspec.structs import replace

from ..errors import ToolLimitReached
from ..events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop, Event, StreamError
from ..model import Response
from ..wires.decode_context import Declared
from .event_filter import Shown
from .extract import read_with, settings
from .scan_events import Over

#: Finding codes that a decoder reports if the stream is closed within an event.
_OF_BROKEN_STREAMS = frozenset(
    (
        *("stream-incomplete", "stop-missing", "unterminated-event", "empty-event", "keepalive-in-data"),
        *("undecodable-event", "raw-text-in-stream", "stream-error", "error-response"),
    )
)


class Decoder(Protocol):
    """The interface of `StreamDecoder`."""

    def feed(self, data: Any) -> list[Event]: ...
    def finish(self) -> Response: ...


class TextReader:
    """Wrapper around a `StreamDecoder` that extracts calls from the text of one streamed response.

        reader = TextReader("tool-xml", StreamDecoder("anthropic.messages"), tools=tools)
        for piece in pieces:
            show(reader.feed(piece))          # on ToolLimitReached, close the stream and continue with finish()
        response = reader.finish()            # a complete, successful response

    The arguments are those of `read_response`, which `finish` applies, so a streamed and a plain response have the same
    result. ``headers``: the HTTP headers; ``response.extra["rate_limit"]`` keeps the rate limits.
    """

    def __init__(
        self,
        dialect: str | None,
        decoder: Decoder,
        *,
        tools: Any = None,
        limit: int | None = 1,
        stop_sequences: Iterable[str] = (),
        thinking: bool = False,
        reasoning: Literal["report", "read"] = "report",
        headers: Any = None,
    ) -> None:
        self.how = settings(dialect, tools, limit, stop_sequences, thinking, reasoning)
        self.headers = headers
        self.reached: ToolLimitReached | None = None
        self._decoder = decoder
        self._shown: dict[int, Shown] = {}
        self._failed = False
        self._alone = getattr(getattr(decoder, "context", None), "declared", Declared()).n == 1

    def feed(self, data: Any) -> list[Event]:
        """Decode the next chunk and return the canonical events that it completes, with calls separated from text.

        Raises ToolLimitReached when a call beyond the limit begins; its ``events`` are the events before that call. If
        the request asks for several choices, nothing is raised, but the choice returns no events after its limit.
        """
        out: list[Event] = []
        for event in self._decoder.feed(data):
            self._take(event, out)
            if self.reached is not None and self._alone:
                self.reached.events = tuple(out)
                raise self.reached
        return out

    def _take(self, event: Event, out: list[Event]) -> None:
        if isinstance(event, StreamError):
            self._failed = True
        if isinstance(event, ChoiceStop) and event.choice in self._shown:
            self._note(self._shown[event.choice].finish(out))
        if not isinstance(event, (BlockStart, BlockDelta, BlockReset, BlockStop)):
            out.append(event)
            return
        shown = self._shown.get(event.choice)
        if shown is None:
            shown = self._shown[event.choice] = Shown(event.choice, self.how.dialects, self.how.tools, self.how.limit)
            shown.thinking, shown.closers = self.how.thinking, self.how.stop_sequences
        self._note(shown.take(event, out))

    def _note(self, over: Over | None) -> None:
        if over is not None and self.reached is None:
            what = "the tool limit is reached"
            self.reached = ToolLimitReached(what, number=over.number, name=over.name)

    def read(self, response: Response) -> Response:
        """Extract the calls of a response that was not streamed."""
        return read_with(response, self.how, self.headers)

    def finish(self) -> Response:
        """Return the response. A response that the tool limit ended is complete."""
        context = getattr(self._decoder, "context", None)
        known = len(context.findings) if context is not None else 0
        response = self._decoder.finish()
        if self.reached is not None and self._alone:
            # The stream was closed on purpose, so findings about its missing end do not apply.
            found = [f for n, f in enumerate(response.findings) if n < known or f.code not in _OF_BROKEN_STREAMS]
            error = response.error if self._failed else None
            response = replace(response, error=error).with_findings(found)
        return self.read(response)
