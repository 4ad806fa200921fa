"""Extraction of calls from the text of a stream, up to the tool limit, and the settings of a turn that does so.

mode = TextMode("tool-xml", limit=limit_of("first"))
turn = Turn(provider, tools, policy="first", prepare=mode.prepare, reader=mode.reader)
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ..conversation import Request
from ..errors import ToolLimitReached
from ..events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop, Event, StreamError
from ..model import Response
from ..wires.decode_context import Declared
from .event_filter import EventFilter
from .extract import read_with, settings_of
from .history import as_text
from .scan_events import CallOverLimit

_log = logging.getLogger("toolparity")
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
        for chunk in chunks:
            show(reader.feed(chunk))          # on ToolLimitReached, close the stream and continue with finish()
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
        self.settings = settings_of(dialect, tools, limit, stop_sequences, thinking, reasoning)
        self.headers = headers
        self.reached: ToolLimitReached | None = None
        self._decoder = decoder
        self._filters: dict[int, EventFilter] = {}
        self._failed = False
        self._alone = getattr(getattr(decoder, "context", None), "declared", Declared()).n == 1

    def feed(self, data: Any) -> list[Event]:
        """Decode the next chunk and return the canonical events that it completes, with calls separated from text.

        Raises ToolLimitReached when a call beyond the limit begins; its ``events`` are the events before that call. If
        the request asks for several choices, nothing is raised, but the choice returns no events after its limit.
        """
        out: list[Event] = []
        for event in self._decoder.feed(data):
            self._translate(event, out)
            if self.reached is not None and self._alone:
                self.reached.events = tuple(out)
                raise self.reached
        return out

    def _translate(self, event: Event, out: list[Event]) -> None:
        if isinstance(event, StreamError):
            self._failed = True
        if isinstance(event, ChoiceStop) and event.choice in self._filters:
            self._note(self._filters[event.choice].finish(out))
        if not isinstance(event, (BlockStart, BlockDelta, BlockReset, BlockStop)):
            out.append(event)
            return
        if event.choice not in self._filters:
            self._filters[event.choice] = EventFilter(event.choice, self.settings)
        self._note(self._filters[event.choice].take(event, out))

    def _note(self, over: CallOverLimit | None) -> None:
        if over is not None and self.reached is None:
            what = "the tool limit is reached"
            self.reached = ToolLimitReached(what, number=over.number, name=over.name)

    def read(self, response: Response) -> Response:
        """Extract the calls of a response that was not streamed."""
        return read_with(response, self.settings, self.headers)

    def finish(self) -> Response:
        """Return the response. A response that the tool limit ended is complete."""
        context = getattr(self._decoder, "context", None)
        known = len(context.findings) if context is not None else 0
        response = self._decoder.finish()
        if self.reached is not None and self._alone:
            # The stream was closed on purpose, so findings about its missing end do not apply.
            findings = [f for n, f in enumerate(response.findings) if n < known or f.code not in _OF_BROKEN_STREAMS]
            error = response.error if self._failed else None
            response = replace(response, error=error).with_findings(findings)
        return self.read(response)


class TextMode(Struct, frozen=True):
    """How a model writes its calls. The members are the arguments of `read_response`.

    The caller has to describe the tools and the dialect in the system prompt.
    """

    dialect: str
    limit: int | None = 1
    stop_sequences: tuple[str, ...] = ()
    thinking: bool = False
    reasoning: Literal["report", "read"] = "report"

    def prepare(self, request: Request) -> Request:
        """Return the request with calls and results as text and without client tools.

        Declared client tools would cause native calls. Tools that the provider runs itself stay declared. Each loss is
        logged as a warning. Raises UnknownDialect.
        """
        history = as_text(request.messages, self.dialect, tools=request.tools)
        for loss in history.losses:
            _log.warning(
                "message %s, block %s cannot be written unchanged: %s", loss.message_index, loss.block, loss.message
            )
        hosted = [tool for tool in request.tools if tool.kind == "hosted"]
        return replace(request, messages=history.messages, tools=hosted, tool_choice=None, parallel=None)

    def reader(self, decoder: Decoder, request: Request) -> TextReader:
        """Return the reader of one response.

        ``request``: the request before `prepare`; the schemas of its tools determine the types of parameters.
        """
        return TextReader(
            self.dialect,
            decoder,
            tools=request.tools,
            limit=self.limit,
            stop_sequences=self.stop_sequences,
            thinking=self.thinking,
            reasoning=self.reasoning,
        )
