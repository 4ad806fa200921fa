"""What precedes the usual path of a body: its framing, its wire, and forms that the caller did not announce.

`Beginning` determines framing and wire of a stream from its first bytes and events. A server that ignores the request
to stream sends a whole body, which `WholeBody` keeps. `recover` decodes a body that the decoder of its wire rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from .detect import MOST_BEFORE, body_wires, detect_events, json_object, whole_body_wire
from .errors import AmbiguousBody, MalformedBody, NotAResponse, SeveralBodies
from .events import Event
from .model import Response
from .readers import (
    FIELD,
    MARK,
    RAW,
    EventReader,
    EventStreamReader,
    JsonLinesReader,
    Mark,
    SseReader,
    StreamEvent,
    sniff,
    without_mark,
)
from .wires.declared_tools import declared_by
from .wires.decode_context import Context
from .wires.error_response import NO_ANSWER, error_response
from .wires.limits import is_error
from .wires.registry import WireSpec, spec
from .wires.shapes import whole_wire
from .wires.stream_base import StreamBase

_SPACE = b" \t\r\n"
#: The first bytes of nearly all streams of server-sent events.
_SSE_BEGINNINGS = (b"data: ", b"event: ", b": ")


def recover(
    body: bytes,
    wire: WireSpec,
    context: Context,
    error: MalformedBody,
    decode_stream: Callable[[bytes, Context], Response],
) -> Response:
    """Decode a body that its wire rejected: one with a byte order mark, a stream, or the text of an HTTP error.

    Raises MalformedBody if the body is none of these, and SeveralBodies if its stream contains more than one response.
    """
    plain = without_mark(body)
    if plain is not body:
        context = Context(wire.name, context.provider, context.declared, context.status, [])
        try:
            return wire.decode(plain, context)
        except MalformedBody as other:
            return recover(plain, wire, context, other, decode_stream)
    document = json_object(body)
    if document is None and wire.framing == "bytes" and _is_stream(body):
        return decode_stream(body, context)
    if context.status is not None and context.status >= 400:
        return error_response(context, body.decode("utf-8", "replace"))
    if not body.strip():
        raise MalformedBody("the body contains only white space" if body else "the body is empty", body=body) from None
    others = [other for other in body_wires(document or {}) if other != wire.name]
    if others and not error.hint:
        raise MalformedBody(error.what, body=body, hint=f"it looks like {' or '.join(others)}") from None
    if isinstance(error, NotAResponse):
        # The server sent other JSON: return it as an error that keeps the body, with no call to execute.
        return error_response(context, {"type": NO_ANSWER, "message": error.what, "body": document})
    raise error


def _is_stream(body: bytes) -> bool:
    """Return whether a body is a stream: event framing, a JSON array of objects, or several JSON objects.

    Its beginning or its end may be damaged. Only an incomplete object, or text beside one object, is a damaged body.
    """
    reader = sniff(body, len(body) + 1)
    if reader is None or isinstance(reader, EventStreamReader) or FIELD.match(body.lstrip()):
        return reader is not None
    events = [data for name, data in reader.feed(body) + reader.close() if name is not RAW]
    if type(reader) is not JsonLinesReader or len(events) > 1:
        return bool(events)
    if not events or json_object(events[0]) is not None:
        return False
    # The first line of a stream may be damaged so that it seems to contain all others.
    if FIELD.search(body):
        return True
    return any(line[:1] == b"{" and json_object(line) is not None for line in body.split(b"\n")[1:])


def check_raw(events: list[StreamEvent]) -> None:
    """Raise SeveralBodies if the text between server-sent events is a whole response."""
    for name, data in events:
        if name is RAW and (body := json_object(data)) is not None and whole_wire(body) is not None:
            raise SeveralBodies("a complete body between the events of a stream", body=data)


class WholeBody(StreamBase):
    """A whole body where a stream was expected. Only an error can follow it."""

    def __init__(self, context: Context, response: Response) -> None:
        super().__init__(context)
        self._whole = response

    def take(self, name: str | Mark | None, data: bytes, out: list[Event]) -> None:
        """See `event`; data that is not JSON does not become a stream error here."""
        self.event(None, data, out)

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Take an error. Raises SeveralBodies for other data, because it could contain calls."""
        error = json_object(data)
        if error is None or not is_error(error):
            raise SeveralBodies("data after a complete body", body=data)
        if self._error is None:
            self._context.find("event-after-end", "an error after a complete body")
        self.fail(error, out)

    @property
    def is_whole(self) -> bool:
        """See `StreamBase.is_whole`."""
        return self._whole.complete and self._error is None

    @property
    def is_over(self) -> bool:
        """See `StreamBase.is_over`. An error can follow."""
        return False

    def finish(self) -> Response:
        """Return the response with the last error."""
        return replace(self._whole, error=self._error or self._whole.error).with_findings(self._context.findings)


class Beginning(Struct, eq=False):
    """The first bytes of a stream, until its framing is known, and its first events, until its wire is known.

    ``wire``: the wire, once it is known. ``stream``: the decoder of the events, from then on. ``request``: that of the
    caller, which is read again once the wire is detected. ``unframed``: the bytes before the framing is known.
    ``_held``: the events before the first one that identifies the wire.
    """

    _context: Context
    _max_event_bytes: int
    _request: Any
    wire: WireSpec | None
    stream: StreamBase | None
    unframed: bytes = b""
    _held: list[StreamEvent] = []

    def reader(self, data: bytes) -> tuple[EventReader | None, bytes]:
        """Return the reader for the framing, None if more bytes are needed, and the bytes that it has to read."""
        if self.wire is not None and not self.unframed and data.startswith(_SSE_BEGINNINGS):
            return SseReader(self._max_event_bytes), data
        data = without_mark((self.unframed + data).lstrip(_SPACE)).lstrip(_SPACE)
        reader = None if MARK.startswith(data) else sniff(data, self._max_event_bytes)
        self.unframed = data if reader is None else b""
        return reader, data

    def take(
        self, events: list[StreamEvent], *, may_be_whole: bool, or_error: bool = True, wire: WireSpec | None = None
    ) -> list[StreamEvent]:
        """Open the stream once its wire is known, and return all events so far for it; return none until then.

        ``may_be_whole``: whether the first event may be a whole body, or an error with ``or_error``. ``wire``: the wire
        that the type of an event object shows.
        """
        wire = self.wire or wire
        if may_be_whole and not self._held and self._is_whole(events[0][1], wire, or_error):
            return events[1:]
        if self.stream is not None:
            return events
        held = self._held = [*self._held, *events]
        if wire is None:
            try:
                wire = spec(detect_events(held))
            except (AmbiguousBody, MalformedBody) as error:
                size = sum(len(data) for _, data in held)
                too_many = len(held) >= MOST_BEFORE or size > self._max_event_bytes
                if too_many or (isinstance(error, AmbiguousBody) and error.candidates):
                    raise
                return []
        self._set_wire(wire)
        self.stream = wire.stream(self._context)
        return held

    def fail(self) -> NoReturn:
        """Raise the error of a stream that ends before its wire is known."""
        if self._held:
            detect_events(self._held)  # raises, because no event identifies a wire
        raise MalformedBody("the stream contains no event", hint="pass wire=… to read an empty stream as incomplete")

    def _is_whole(self, data: bytes, wire: WireSpec | None, or_error: bool) -> bool:
        """Decode a whole body, which a server sends if it ignores the request to stream. Return False for an event."""
        body = json_object(data)
        found = None if body is None else whole_body_wire(body, None if wire is None else wire.name, or_error=or_error)
        if found is None:
            return False
        self._set_wire(spec(found))
        self._context.find("plain-body")
        self.stream = WholeBody(self._context, spec(found).decode(data, self._context))
        return True

    def _set_wire(self, wire: WireSpec) -> None:
        self.wire, self._context.wire = wire, wire.name
        if wire.declared is not None and isinstance(self._request, (dict, bytes, str)):
            self._context.declared = declared_by(self._request, wire)
