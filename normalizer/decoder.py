"""Decoding of responses: `normalize` for whole bodies and `StreamDecoder` for streams.

This is the path of usual bodies. `normalizer.recovery` handles everything else.
"""

from __future__ import annotations

from typing import Any, cast

from .detect import detect_body
from .errors import DecoderFinished, MalformedBody
from .events import BlockDelta, Event
from .headers import ResponseHeaders, with_rate_limits
from .model import Response, Wire
from .payloads import Payload, payload_of
from .readers import DEFAULT_MAX_EVENT_BYTES, EventReader, JsonLinesReader, SseReader, StreamEvent
from .recovery import Beginning, check_raw, recover
from .wires.declared_tools import declared_by
from .wires.decode_context import Context, Declared
from .wires.delta_template import ATTEMPTS, DeltaTemplate
from .wires.registry import spec

_NO_REQUEST = Declared()
_NO_PAYLOAD = Payload(b"")


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
        return recover(body, wire_spec, context, error, _decode_stream)


def _decode_stream(body: bytes, context: Context) -> Response:
    wire = cast(Wire, context.wire)
    decoder = StreamDecoder(
        wire, provider=context.provider, request=context.declared, status=context.status, events=False
    )
    decoder.context.respelled = context.respelled
    decoder.context.find("stream-body")
    decoder.feed(body)
    return decoder.finish()


class StreamDecoder:
    """Decoder of one streamed response, which may arrive in chunks of any size.

    ``feed(data)`` takes bytes of the body or event objects of a provider's SDK, and returns the canonical events that
    they complete. The first bytes determine the framing: SSE, AWS event stream, JSON lines or a JSON array.
    Consecutive deltas of one block in a chunk become one event. ``finish()`` returns the Response. On `xai.grpc`, pass
    one serialized message or one SDK object at a time. `ResponseHeaders` add the rate limits to the response. The
    arguments are those of `normalize`. ``events``: False if
    only the Response is needed; ``feed`` then returns no events and takes less time.

    Raises EventTooLarge if a pending event exceeds ``max_event_bytes`` bytes, TooManyCalls if the stream opens more
    calls than any real response has, and SeveralBodies if an event of another response comes, or anything but an error
    after a whole body.
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
        wire_spec = None if wire is None else spec(wire)
        declared = _NO_REQUEST if request is None else declared_by(request, wire_spec)
        self.context = Context("" if wire is None else wire, provider, declared, status, [], False)
        stream: Any = None
        if wire_spec is not None:
            stream, request = wire_spec.stream(self.context), None
            stream.emits = events
        self._stream = stream
        self._beginning = Beginning(self.context, max_event_bytes, request, wire_spec, stream)
        self._emits = events
        self._by_messages = wire_spec is not None and wire_spec.framing == "messages"
        self._begun = False  # whether an event showed what the stream is
        self._reader: EventReader | None = None
        self._fast_reader: EventReader | None = None  # the same reader, once the fast path can use it
        self._template: DeltaTemplate | None = None  # the form of the last chunk, if it only continued a block
        self._max_event_bytes = max_event_bytes
        self._reported: set[tuple[str, str]] = set()
        self._framing_findings = 0  # the number of findings of the reader, which come first in any pieces
        self._finished = False
        self._rate_limits: dict[str, str] = {}

    def feed(self, data: Any) -> list[Event]:
        """Decode the next chunk and return the events that it completes. Raises DecoderFinished after ``finish()``."""
        out: list[Event] = []
        reader, template = self._fast_reader, self._template
        if reader is None or type(data) is not bytes:
            self._feed_any(data, out)
        elif template is not None and len(data) <= self._max_event_bytes and (text := template.text(data)) is not None:
            self._stream.attempts = ATTEMPTS
            if text:
                template.parts.append(text)
                out.append(BlockDelta(template.choice, template.key, text))
        else:
            payloads = reader.run(data)
            if payloads:
                template = self._stream.run(payloads, out)
                self._template = template.framed(data, payloads[0]) if template and len(payloads) == 1 else None
            elif payloads is None:
                self._process(reader.feed(data), reader, out)
        return out if self._emits else []

    def _feed_any(self, data: Any, out: list[Event]) -> None:
        """Decode a chunk before the fast path can be used, or one that is not bytes."""
        if self._finished:
            raise DecoderFinished("feed() after finish()")
        wire = self._beginning.wire
        if type(data) is not bytes:
            if isinstance(data, ResponseHeaders):
                self._rate_limits |= data.rate_limit
                return
            payload = payload_of(data, None if wire is None else wire.name, event=True)
            if payload.wire is not None or not isinstance(data, (bytearray, memoryview, str)):
                self._process_object(payload, out)
                return
            data = payload.data
        if self._by_messages:
            self._stream.event(None, data, out)
            return
        reader = self._reader
        if reader is None:
            reader, data = self._beginning.reader(data)
            if reader is None:
                return
            self._reader = reader
            if wire is not None and not isinstance(reader, JsonLinesReader):  # its first object may be a body
                self._fast_reader = reader
                out += self.feed(data)
                return
        self._process(reader.feed(data), reader, out)

    def event(self, data: bytes, *, respelled: bool = False) -> list[Event]:
        """Decode one whole event that has no framing, such as a message of a WebSocket.

        ``respelled``: the bytes were encoded here and can differ from those on the wire.
        """
        if self._finished:
            raise DecoderFinished("event() after finish()")
        out: list[Event] = []
        self._process_object(Payload(data, None, respelled), out)
        return out if self._emits else []

    def finish(self) -> Response:
        """Return the response. Incomplete content is reported as findings, never guessed.

        Raises DecoderFinished on a second call, and MalformedBody for an empty stream if no wire was passed.
        """
        if self._finished:
            raise DecoderFinished("finish() twice")
        self._finished = True
        out: list[Event] = []
        reader = self._reader
        if reader is None and self._beginning.unframed:
            reader = SseReader(self._max_event_bytes)
            self._process(reader.feed(self._beginning.unframed), reader, out)
        if reader is not None:
            self._process(reader.close(), reader, out)
        self._fast_reader = None
        if self._stream is None:
            self._beginning.fail()
        response: Response = self._stream.finish()
        return with_rate_limits(response, self._rate_limits) if self._rate_limits else response

    @property
    def is_whole(self) -> bool:
        """Whether the response is complete by the events so far. More can follow, such as its usage."""
        return self._stream is not None and bool(self._stream.is_whole)

    @property
    def is_over(self) -> bool:
        """Whether the response is complete and its last event came. What still comes cannot make it an error."""
        return self._stream is not None and bool(self._stream.is_over)

    def _process(self, events: list[StreamEvent], reader: EventReader, out: list[Event]) -> None:
        """Decode the events that the reader completed, and report its problems."""
        self._template = None
        if reader.problems:
            self._report(reader.problems)
            check_raw(events)
        if events and not self._begun:
            documents = isinstance(reader, JsonLinesReader)
            events = self._beginning.take(events, may_be_whole=documents)
            self._begin(documents)
        if events:
            self._stream.feed(events, out)

    def _process_object(self, payload: Payload, out: list[Event]) -> None:
        """Decode an event, or a whole body, that is an object of the provider's SDK or parsed JSON."""
        self._template = None
        self.context.respelled = self.context.respelled or payload.respelled
        if not payload.data:
            return
        events: list[StreamEvent] = [(None, payload.data)]
        if not self._begun:
            wire = self._beginning.wire or payload.wire
            may_be_whole = wire is None or wire.framing == "bytes"
            events = self._beginning.take(events, may_be_whole=may_be_whole, or_error=False, wire=payload.wire)
            self._begin()
        for _, event in events:
            self._stream.event(None, event, out)

    def _begin(self, documents: bool = False) -> None:
        """Use the decoder of the events, once an event showed which one it is."""
        self._stream = self._beginning.stream
        if self._stream is not None:
            self._begun = True
            self._stream.emits = self._emits
            self._stream.documents = documents
            self._fast_reader = self._reader

    def _report(self, problems: list[tuple[str, str]]) -> None:
        """Add each problem of the reader once as a finding, before those of the decoder until the stream ends.

        The order of the findings then does not depend on the pieces in which the bytes arrive.
        """
        findings = self.context.findings
        for problem in problems:
            if problem in self._reported:
                continue
            self._reported.add(problem)
            before = len(findings)
            self.context.find(*problem)
            if len(findings) > before and not self._finished:
                findings.insert(self._framing_findings, findings.pop())
                self._framing_findings += 1
        problems.clear()
