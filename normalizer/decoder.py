"""Bytes in, canonical events out: the two entrances `normalize` and `StreamDecoder`."""

from __future__ import annotations

from typing import Any

from .detect import detect_body, detect_event, whole_body_wire
from .errors import DecoderFinished, MalformedBody
from .events import Event
from .inputs import Payload, declared_by, payload_of
from .model import Response
from .readers import DEFAULT_MAX_EVENT_BYTES, Item, JsonLinesReader, Reader, SseReader, sniff
from .wires import wire as wire_named
from .wires.common import Context, Declared, error_response

_NO_REQUEST = Declared()


def normalize(
    body: Any,
    wire: str | None = None,
    *,
    provider: str | None = None,
    request: Any = None,
    status: int | None = None,
) -> Response:
    """The canonical response of one whole body.

    ``body``: bytes, str, parsed JSON, or an SDK's own response object. ``wire``: its format; detected if not told.
    ``provider``: who answered, where dialects differ. ``request``: the request's body (parsed or not) or an iterable
    of tool names; it tells the declared tools. ``status``: the HTTP status, kept in errors.

    Raises MalformedBody for what is no body of the wire, AmbiguousBody where the wire cannot be told.
    """
    if type(body) is not bytes:
        payload = payload_of(body)
        body, wire = payload.data, wire or payload.wire
        respelled = payload.respelled
    else:
        respelled = False
    if wire is None:
        wire = detect_body(body)
    module = wire_named(wire)
    declared = _NO_REQUEST if request is None else declared_by(request)
    context = Context(wire, provider, declared, status, [], respelled)
    try:
        response: Response = module.decode(body, context)
        return response
    except MalformedBody as error:
        return _not_plain(body, error, context)


def _not_plain(body: Any, error: MalformedBody, context: Context) -> Response:
    """A body that is no JSON object: a stream after all, or the text of an HTTP error."""
    if isinstance(body, bytes):
        start = body.lstrip()[:6]
        framed = body[:1] == b"\x00" and context.wire != "xai.grpc"
        if framed or start.startswith((b"data:", b"event:", b":", b"id:")):
            decoder = StreamDecoder(
                context.wire, provider=context.provider, request=context.declared, status=context.status
            )
            decoder.context.find("stream-body")
            decoder.feed(body)
            return decoder.finish()
        if context.status is not None and context.status >= 400:
            return error_response(context, body.decode("utf-8", "replace"))
    raise error


class StreamDecoder:
    """Reads one streamed response, in whatever pieces it arrives.

    ``feed(data)`` takes bytes of the body (SSE, AWS event stream, JSON lines or a JSON array: told by its beginning),
    or an SDK's own event objects; it returns the canonical events that became known. ``finish()`` returns the
    Response. On `xai.grpc`, feed one serialized message or one SDK object at a time.

    Raises EventTooLarge where a pending event outgrows ``max_event_bytes``.
    """

    def __init__(
        self,
        wire: str | None = None,
        *,
        provider: str | None = None,
        request: Any = None,
        status: int | None = None,
        max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES,
    ) -> None:
        declared = _NO_REQUEST if request is None else declared_by(request)
        self.context = Context(wire or "", provider, declared, status, [], False)
        self._stream: Any = None if wire is None else wire_named(wire).Stream(self.context)
        self._messages = wire == "xai.grpc"
        self._reader: Reader | None = None
        self._head = b""
        self._max = max_event_bytes
        self._finished = False
        self._plain: Response | None = None
        self._events = 0
        self._running = False  # an SSE stream has begun: its usual events may take the short path

    def feed(self, data: Any) -> list[Event]:
        """Take the next piece; give the events it completed."""
        if self._finished:
            raise DecoderFinished("feed() after finish()")
        out: list[Event] = []
        if type(data) is not bytes:
            payload = payload_of(data, event=True)
            if payload.wire is not None or not isinstance(data, (bytearray, memoryview, str)):
                self._object(payload, out)
                return out
            data = payload.data
        if self._messages:
            self._stream.event(None, data, out)
            return out
        reader = self._reader
        if reader is None:
            self._head += data
            reader = self._reader = sniff(self._head, self._max)
            if reader is None:
                return out
            data, self._head = self._head, b""
            self._running = self._stream is not None and type(reader) is SseReader
        if self._running:
            run = reader.run(data)  # type: ignore[attr-defined]
            if run is not None:
                self._stream.run(run, out)
                return out
        items = reader.feed(data)
        if reader.problems:
            self._report(reader)
        if items:
            self._take(items, out)
        return out

    def finish(self) -> Response:
        """The response. What is not whole is reported, never guessed."""
        if self._finished:
            raise DecoderFinished("finish() twice")
        self._finished = True
        out: list[Event] = []
        reader = self._reader
        if reader is None and self._head.strip():
            reader = SseReader(self._max)
            items = reader.feed(self._head)
            if items:
                self._take(items, out)
        if reader is not None:
            items = reader.close()
            self._report(reader)
            if items:
                self._take(items, out)
        if self._plain is not None:
            return self._plain
        if self._stream is None:
            raise MalformedBody("the stream held no event", hint="pass wire=… to read an empty stream as incomplete")
        response: Response = self._stream.finish()
        return response

    def _report(self, reader: Reader) -> None:
        for code, message in reader.problems:
            if not any(f.code == code and (not message or f.message == message) for f in self.context.findings):
                self.context.find(code, message)
        reader.problems.clear()

    def _take(self, items: list[Item], out: list[Event]) -> None:
        if not self._events:
            if self._is_whole_body(items[0][1]):
                items = items[1:]
            elif self._stream is None:
                self._begin(items[0][1])
        self._events += len(items)
        self._running = isinstance(self._reader, SseReader) and self._stream is not None
        if items and self._stream is not None:
            self._stream.feed(items, out)

    def _begin(self, data: bytes) -> None:
        self.context.wire = detect_event(data)
        self._stream = wire_named(self.context.wire).Stream(self.context)

    def _is_whole_body(self, data: bytes) -> bool:
        """A server that ignores ``stream`` answers with a whole body: bare JSON that says so itself."""
        if not isinstance(self._reader, JsonLinesReader):
            return False
        wire = whole_body_wire(data, self.context.wire or None)
        if wire is None:
            return False
        self.context.wire = wire
        self.context.find("plain-body")
        self._plain = wire_named(wire).decode(data, self.context)
        return True

    def _object(self, payload: Payload, out: list[Event]) -> None:
        self._events += 1
        if self._stream is None:
            self.context.wire = payload.wire or detect_event(payload.data)
            self._stream = wire_named(self.context.wire).Stream(self.context)
        self.context.respelled = self.context.respelled or payload.respelled
        if payload.data:
            self._stream.event(None, payload.data, out)
