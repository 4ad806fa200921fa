"""The trace of a turn: every exchange with the provider piece by piece, and the time of every event.

The decoder of the turn itself reports which canonical events a piece caused, so nothing is decoded twice.
The rest of a stream that the turn closed is decoded for the page only.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.errors import ToolLimitReached
from toolparity.normalizer.events import BlockDelta, Event
from toolparity.normalizer.findings import Finding
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.model import Response, Wire
from toolparity.turns.answer_reader import AnswerDecoder
from toolparity.turns.events import TurnEvent
from toolparity.turns.observer import Observer
from toolparity.turns.provider import Provider

from .tools import Throttle

#: The maximum length of a recorded response, in characters.
_MOST = 200_000


class Piece(Struct):
    """One piece of a response. ``at``: seconds since 1970. ``events``: the canonical events that it caused."""

    at: float
    text: str
    events: list[Event] = []


class Exchange(Struct):
    """One request and its response.

    ``results``: the items of the request that follow the model's last answer, such as tool results. ``started`` and
    ``ended``: seconds since 1970. ``cut``: the response was longer than what is kept. ``response``: its canonical form,
    ``findings``: what the decoder reports about it. ``unread``: the pieces that an emulated model still had when the
    turn closed the stream, ``unread_text``: the model's text in them.
    """

    provider: str | None
    wire: str
    request: Any
    results: list[Any]
    started: float
    pieces: list[Piece] = []
    ended: float | None = None
    cut: bool = False
    response: Response | None = None
    findings: list[Finding] = []
    unread: list[str] = []
    unread_text: str = ""


class Trace(Struct):
    """``times``: seconds since 1970 by number of the event."""

    exchanges: list[Exchange] = []
    times: dict[int, float] = {}


class TracingObserver(Observer):
    """Records the time of each event."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    async def event(self, event: TurnEvent) -> None:
        self._trace.times[event.seq] = time.time()


class TracingProvider:
    """A provider that records requests and responses, and delays each piece."""

    def __init__(self, provider: Provider, trace: Trace, throttle: Throttle) -> None:
        self.provider = provider
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self._trace = trace
        self._throttle = throttle

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Yield the provider's pieces."""
        request = _plain(body)
        exchange = Exchange(self.name, self.wire, request, _results(request), time.time())
        self._trace.exchanges.append(exchange)
        size = 0
        read: list[Any] = []
        try:
            async with aclosing(cast(AsyncGenerator[Any, None], self.provider.ask(body))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, ResponseHeaders):
                        yield piece
                        continue
                    text = _text(piece)
                    size += len(text)
                    exchange.cut = size > _MOST
                    await self._throttle.piece()
                    exchange.pieces.append(Piece(time.time(), "" if exchange.cut else text))
                    read.append(piece)
                    yield piece
        finally:
            exchange.ended = time.time()
            unread = list(getattr(self.provider, "unread", ()))
            exchange.unread = [_text(piece) for piece in unread]
            exchange.unread_text = _unread_text(self.wire, read, unread)


class TracingDecoder:
    """A decoder that records the canonical events of each piece, and the response."""

    def __init__(self, decoder: AnswerDecoder, trace: Trace) -> None:
        self._decoder = decoder
        self._trace = trace

    def feed(self, data: Any, /) -> list[Event]:
        """Decode the next piece and record its events."""
        piece = self._trace.exchanges[-1].pieces[-1]
        try:
            piece.events = self._decoder.feed(data)
        except ToolLimitReached as reached:
            piece.events = cast(list[Event], list(reached.events))
            raise
        return piece.events

    def read(self, response: Response) -> Response:
        """Return and record an answer that arrived as a `Response`, as the wrapped decoder reads it."""
        read = getattr(self._decoder, "read", None)
        return self._record(read(response) if read is not None else response)

    def finish(self) -> Response:
        """Return and record the response."""
        return self._record(self._decoder.finish())

    def _record(self, response: Response) -> Response:
        exchange = self._trace.exchanges[-1]
        exchange.response, exchange.findings = response, list(response.findings)
        return response


def _unread_text(wire: str, read: list[Any], unread: list[Any]) -> str:
    """Return the text of the model in the pieces that were not read."""
    if not unread:
        return ""
    decoder = StreamDecoder(cast(Wire, wire))
    for piece in read:
        decoder.feed(piece)
    events = [event for piece in unread for event in decoder.feed(piece)]
    return "".join(event.text for event in events if isinstance(event, BlockDelta))


def _results(request: Any) -> list[Any]:
    """Return the items of a request that follow the model's last answer. Without an answer there are none."""
    found = request.get("messages") or request.get("contents") or request.get("input")
    items: list[Any] = found if isinstance(found, list) else []
    number = len(items)
    while number and _is_of_caller(items[number - 1]):
        number -= 1
    is_answered = number > 0 and "system" not in _role(items[number - 1])
    return items[number:] if is_answered else []


#: The roles of the caller's messages, and the types of its items in Interactions.
_CALLER_ROLES = ("tool", "user", "role_tool", "role_user")
_CALLER_TYPES = ("user_input", "function_result")


def _is_of_caller(item: Any) -> bool:
    kind = str(item.get("type", ""))
    return _role(item) in _CALLER_ROLES or kind in _CALLER_TYPES or kind.endswith("_call_output")


def _role(item: Any) -> str:
    return str(item.get("role", "")).lower()


def _plain(message: Any) -> Any:
    """Return parsed JSON unchanged, and a protobuf message in its JSON form."""
    if not hasattr(message, "ListFields"):
        return message
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(message, preserving_proto_field_name=True)


def _text(piece: Any) -> str:
    if isinstance(piece, bytes):
        return piece.decode("utf-8", "replace")
    if isinstance(piece, Response):
        return json_codec.text(piece)
    return json_codec.text(_plain(piece)) + "\n"
