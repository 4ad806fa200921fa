"""Decoding of responses: `normalize` for whole bodies and `StreamDecoder` for streams."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from .body_splitter import responses
from .detect import MOST_BEFORE, body_wires, detect_body, detect_events, is_error, json_object, whole_body_wire
from .errors import AmbiguousBody, DecoderFinished, MalformedBody, NotAResponse, SeveralBodies
from .events import Event
from .model import Response, Wire
from .payloads import Payload, payload_of
from .readers import (
    DEFAULT_MAX_EVENT_BYTES,
    MARK,
    EventReader,
    EventStreamReader,
    JsonArrayReader,
    JsonLinesReader,
    SseReader,
    StreamEvent,
    sniff,
    without_mark,
)
from .wires.declared_tools import declared_by
from .wires.decode_context import Context, Declared
from .wires.error_response import error_response
from .wires.registry import WireSpec, spec
from .wires.stream_base import StreamBase

_NO_REQUEST = Declared()
_NO_PAYLOAD = Payload(b"")
_SPACE = b" \t\r\n"
#: The first bytes of nearly all streams of server-sent events.
_SSE_BEGINNINGS = (b"data: ", b"event: ", b": ")


def normalize(
    body: Any,
    wire: Wire | None = None,
    *,
    provider: str | None = None,
    request: Any = None,
    status: int | None = None,
) -> Response:
    """Decode one whole body into the canonical response.

    ``body``: bytes, str, parsed JSON, or a response object of a provider's SDK. ``wire``: the wire of the body; None to
    detect it. ``provider``: the provider, for wires whose providers differ. ``request``: the request body (parsed or
    not), or an iterable of tool names or definitions; it determines the declared tools. ``status``: the HTTP status,
    which a canonical error keeps.

    Raises MalformedBody if the body is not a body of the wire, its subclass SeveralBodies if it contains more than one
    response, AmbiguousBody if detection finds no wire or several, and UnknownWire for an unknown wire name.
    """
    payload = _NO_PAYLOAD
    if type(body) is not bytes:
        payload = payload_of(body, wire)
        body = payload.data
    if wire is None:
        wire_spec = payload.wire or spec(detect_body(body))
    else:
        wire_spec = spec(wire)
    declared = _NO_REQUEST if request is None else declared_by(request, wire_spec)
    context = Context(wire_spec.name, provider, declared, status, [], payload.respelled)
    try:
        return wire_spec.decode(body, context)
    except MalformedBody as error:
        return _decode_other(body, wire_spec, context, error)


def _decode(body: bytes, wire: WireSpec, context: Context) -> Response:
    try:
        return wire.decode(body, context)
    except MalformedBody as error:
        return _decode_other(body, wire, context, error)


def _decode_other(body: bytes, wire: WireSpec, context: Context, error: MalformedBody) -> Response:
    """Decode a body that its wire rejected: one with a byte order mark, a stream, or the text of an HTTP error.

    Raises MalformedBody if the body is none of these, and SeveralBodies if it contains more than one response.
    """
    plain = without_mark(body)
    if plain is not body:
        return _decode(plain, wire, Context(wire.name, context.provider, context.declared, context.status, []))
    document = json_object(body)
    if document is None and wire.framing == "bytes":
        if (count := len(responses(body))) > 1:
            raise SeveralBodies(f"the bytes contain {count} responses", body=body, count=count) from None
        if _is_stream(body):
            return _decode_stream(body, context)
    if context.status is not None and context.status >= 400:
        return error_response(context, body.decode("utf-8", "replace"))
    if not body.strip():
        raise MalformedBody("the body contains only white space" if body else "the body is empty", body=body) from None
    others = [other for other in body_wires(document or {}) if other != wire.name]
    if others and not error.hint:
        raise MalformedBody(error.what, body=body, hint=f"it looks like {' or '.join(others)}") from None
    if isinstance(error, NotAResponse):
        # The server sent other JSON: return it as an error that keeps the body, with no call to execute.
        return error_response(context, {"type": "no_answer", "message": error.what, "body": document})
    raise error


def _decode_stream(body: bytes, context: Context) -> Response:
    wire = cast(Wire, context.wire)
    decoder = StreamDecoder(
        wire, provider=context.provider, request=context.declared, status=context.status, events=False
    )
    decoder.context.respelled = context.respelled
    decoder.context.find("stream-body")
    decoder.feed(body)
    return decoder.finish()


def _is_stream(body: bytes) -> bool:
    """Return whether a body is a stream: event framing, a JSON array, or several JSON objects."""
    reader = sniff(body, len(body) + 1)
    if isinstance(reader, JsonLinesReader):
        fewest = 1 if isinstance(reader, JsonArrayReader) else 2
        return len(reader.feed(body)) >= fewest
    fields = (b"data:", b"event:", b":", b"id:", b"retry:")
    return isinstance(reader, EventStreamReader) or body.lstrip().startswith(fields)


class StreamDecoder:
    """Decoder of one streamed response, which may arrive in chunks of any size.

    ``feed(data)`` takes bytes of the body or event objects of a provider's SDK, and returns the canonical events that
    they complete. The first bytes determine the framing: SSE, AWS event stream, JSON lines or a JSON array.
    Consecutive deltas of one block in a chunk become one event. ``finish()`` returns the Response. On `xai.grpc`, pass
    one serialized message or one SDK object at a time. The arguments are those of `normalize`. ``events``: False if
    only the Response is needed; ``feed`` then returns no events and takes less time.

    Raises EventTooLarge if a pending event exceeds ``max_event_bytes`` bytes, TooManyCalls if the stream opens more
    calls than any real response has, and SeveralBodies if anything but an error follows a whole body.
    """

    def __init__(
        self,
        wire: Wire | None = None,
        *,
        provider: str | None = None,
        request: Any = None,
        status: int | None = None,
        max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES,
        events: bool = True,
    ) -> None:
        self._wire = None if wire is None else spec(wire)
        declared = _NO_REQUEST if request is None else declared_by(request, self._wire)
        self.context = Context("" if wire is None else wire, provider, declared, status, [], False)
        self._request = request if wire is None else None  # read again once the wire is detected
        self._emits = events
        self._stream: Any = None
        if self._wire is not None:
            self._open(self._wire)
        self._by_messages = self._wire is not None and self._wire.framing == "messages"
        self._unframed = b""  # the bytes before the framing is known
        self._reader: EventReader | None = None
        self._fast_reader: EventReader | None = None  # the same reader, once the fast path can use it
        self._max_event_bytes = max_event_bytes
        self._event_count = 0
        self._undetected: list[StreamEvent] = []  # the events before the first one that identifies the wire
        self._whole: Response | None = None  # the response, if the input was a whole body
        self._late_errors: StreamBase | None = None  # errors after a whole body
        self._reported: set[tuple[str, str]] = set()
        self._framing_findings = 0  # the number of findings of the reader, which come first in any pieces
        self._finished = False

    def feed(self, data: Any) -> list[Event]:
        """Decode the next chunk and return the events that it completes. Raises DecoderFinished after ``finish()``."""
        out: list[Event] = []
        reader = self._fast_reader
        if reader is not None and type(data) is bytes:
            payloads = reader.run(data)
            if payloads:
                self._stream.run(payloads, out)
            elif payloads is None:
                self._process(reader.feed(data), reader, out)
        else:
            self._feed_any(data, out)
        return out if self._emits else []

    def _feed_any(self, data: Any, out: list[Event]) -> None:
        """Decode a chunk before the fast path can be used, or one that is not bytes."""
        if self._finished:
            raise DecoderFinished("feed() after finish()")
        if type(data) is not bytes:
            payload = payload_of(data, None if self._wire is None else self._wire.name, event=True)
            if payload.wire is not None or not isinstance(data, (bytearray, memoryview, str)):
                self._process_object(payload, out)
                return
            data = payload.data
        if self._by_messages:
            self._stream.event(None, data, out)
            return
        reader = self._reader
        if reader is None and self._stream is not None and not self._unframed and data.startswith(_SSE_BEGINNINGS):
            self._reader = self._fast_reader = SseReader(self._max_event_bytes)
            out += self.feed(data)
            return
        if reader is None:
            data = without_mark((self._unframed + data).lstrip(_SPACE)).lstrip(_SPACE)
            reader = None if MARK.startswith(data) else sniff(data, self._max_event_bytes)
            if reader is None:
                self._unframed = data
                return
            self._unframed, self._reader = b"", reader
            if self._stream is not None and not isinstance(reader, JsonLinesReader):  # its first object may be a body
                self._fast_reader = reader
                out += self.feed(data)
                return
        self._process(reader.feed(data), reader, out)

    def finish(self) -> Response:
        """Return the response. Incomplete content is reported as findings, never guessed.

        Raises DecoderFinished on a second call, and MalformedBody for an empty stream if no wire was passed.
        """
        if self._finished:
            raise DecoderFinished("finish() twice")
        self._finished = True
        self._fast_reader = None
        out: list[Event] = []
        reader = self._reader
        if reader is None and self._unframed.strip():
            reader = SseReader(self._max_event_bytes)
            self._process(reader.feed(self._unframed), reader, out)
        if reader is not None:
            events = reader.close()
            if events or reader.problems:
                self._process(events, reader, out)
        if self._whole is not None:
            late = None if self._late_errors is None else self._late_errors.failure
            return replace(self._whole, error=late or self._whole.error).with_findings(self.context.findings)
        if self._undetected:
            detect_events(self._undetected)  # raises, because no event identifies a wire
        if self._stream is None:
            raise MalformedBody(
                "the stream contains no event", hint="pass wire=… to read an empty stream as incomplete"
            )
        response: Response = self._stream.finish()
        return response

    def _process(self, events: list[StreamEvent], reader: EventReader, out: list[Event]) -> None:
        """Decode the events that the reader completed, and report its problems."""
        for problem in reader.problems:
            if problem not in self._reported:
                self._reported.add(problem)
                self._report(*problem)
        reader.problems.clear()
        if not events:
            return
        is_first = not self._event_count and isinstance(reader, JsonLinesReader)
        if is_first and self._decode_if_whole(events[0][1], self._wire):
            events = events[1:]
        self._event_count += len(events)
        if self._whole is not None:
            for _, data in events:
                self._decode_late_error(data, out)
            return
        if self._stream is None:
            events = self._detect(events)
        if self._stream is not None:
            self._fast_reader = self._reader
            self._stream.feed(events, out)

    def _report(self, code: str, message: str) -> None:
        """Add a problem of the reader as a finding, before those of the decoder until the stream ends.

        The order of the findings then does not depend on the pieces in which the bytes arrive.
        """
        findings = self.context.findings
        before = len(findings)
        self.context.find(code, message)
        if len(findings) > before and not self._finished:
            findings.insert(self._framing_findings, findings.pop())
            self._framing_findings += 1

    def _process_object(self, payload: Payload, out: list[Event]) -> None:
        """Decode an event, or a whole body, that is an object of the provider's SDK or parsed JSON."""
        data = payload.data
        self.context.respelled = self.context.respelled or payload.respelled
        if not data:
            return
        wire = self._wire or payload.wire
        may_be_whole = not self._event_count and (wire is None or wire.framing == "bytes")
        if may_be_whole and self._decode_if_whole(data, wire, or_error=False):
            return
        self._event_count += 1
        if self._whole is not None:
            self._decode_late_error(data, out)
            return
        events: list[StreamEvent] = [(None, data)]
        if self._stream is None and payload.wire is not None:
            self._set_wire(payload.wire)
            self._open(payload.wire)
        elif self._stream is None:
            events = self._detect(events)
        for _, event in events:
            self._stream.event(None, event, out)

    def _detect(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """Open the stream once an event identifies the wire, and return all events so far; return none until then."""
        held = self._undetected = [*self._undetected, *events]
        try:
            wire = detect_events(held)
        except (AmbiguousBody, MalformedBody) as error:
            size = sum(len(data) for _, data in held)
            too_many = len(held) >= MOST_BEFORE or size > self._max_event_bytes
            if too_many or (isinstance(error, AmbiguousBody) and error.candidates):
                raise
            return []
        self._set_wire(spec(wire))
        self._open(spec(wire))
        self._undetected = []
        return held

    def _open(self, wire: WireSpec) -> None:
        self._stream = wire.stream(self.context)
        self._stream.emits = self._emits

    def _set_wire(self, wire: WireSpec) -> None:
        self._wire, self.context.wire = wire, wire.name
        if wire.declared is not None and isinstance(self._request, (dict, bytes, str)):
            self.context.declared = declared_by(self._request, wire)

    def _decode_if_whole(self, data: bytes, wire: WireSpec | None, *, or_error: bool = True) -> bool:
        """Decode a whole body, which a server sends if it ignores the request to stream. Return False for an event."""
        body = json_object(data)
        found = None if body is None else whole_body_wire(body, None if wire is None else wire.name, or_error=or_error)
        if found is None:
            return False
        self._event_count += 1
        self._set_wire(spec(found))
        self.context.find("plain-body")
        self._whole = spec(found).decode(data, self.context)
        return True

    def _decode_late_error(self, data: bytes, out: list[Event]) -> None:
        """Decode an error after a whole body. Raises SeveralBodies for other data, because it could contain calls."""
        error = json_object(data)
        if error is None or not is_error(error):
            raise SeveralBodies("data after a complete body", body=data)
        if self._late_errors is None:
            self._late_errors = StreamBase(self.context)
            self.context.find("event-after-end", "an error after a complete body")
        self._late_errors.fail(error, out)
