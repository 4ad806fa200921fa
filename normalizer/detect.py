"""Detection of the wire of a body or an event, from the shapes that each wire's spec recognizes.

Input that fits several wires raises an error instead of a guess. Wires framed as messages are never detected.
"""

from __future__ import annotations

from typing import Any

from . import json_codec
from .errors import AmbiguousBody, MalformedBody
from .readers import StreamEvent, sniff, without_mark
from .wires.limits import is_error
from .wires.registry import spec, specs
from .wires.shapes import event_wire, shapes_of


def detect_body(data: bytes) -> str:
    """Return the wire of a whole body or a complete stream.

    Raises AmbiguousBody if it fits no wire or several, and MalformedBody if it contains neither JSON nor events.
    """
    data = without_mark(data)
    body = json_object(data) if data.lstrip()[:1] == b"{" else None
    return _detect_stream(data) if body is None else _body_wire(body)


def json_object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that ``data`` contains, or None if it contains anything else."""
    try:
        body = json_codec.decode(data)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _body_wire(body: dict[str, Any]) -> str:
    fits = body_wires(body)
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise AmbiguousBody("the body fits several wires", candidates=fits)
    error = next((wire.name for wire, shape in shapes_of(body) if shape.error), None)
    if error is not None:
        return error
    if "error" in body:
        raise AmbiguousBody("an error body fits several wires", candidates=_framed_as_bytes())
    if any(isinstance(body.get(name), list) for name in ("messages", "contents", "input")):
        raise AmbiguousBody("the body is a request, and not a response", candidates=(), hint="use read_request")
    names = [name[:40] for name in body]  # their values may be secret
    members = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    raise AmbiguousBody(f"the body fits no known wire: {members or 'an empty object'}", candidates=())


def _framed_as_bytes() -> tuple[str, ...]:
    return tuple(wire.name for wire in specs() if wire.framing == "bytes")


def body_wires(body: dict[str, Any]) -> tuple[str, ...]:
    """Return the wires whose body a JSON object can be: those whose type marker it has, or else all that it fits."""
    fits = [(wire.name, shape.marked) for wire, shape in shapes_of(body) if shape.body]
    marked = [name for name, is_marked in fits if is_marked]
    return tuple(marked or [name for name, _ in fits])


def whole_body_wire(body: dict[str, Any], wire: str | None, *, or_error: bool = True) -> str | None:
    """Return the wire of a JSON object whose type marker shows a whole body or an error.

    ``wire``: the wire that the caller passed; an error gets this wire. Return None for a stream event, for a body of
    another wire than ``wire``, and for an error of unknown wire. ``or_error``: whether errors count.
    """
    for candidate in [spec(wire)] if wire is not None else specs():
        shape = candidate.shape(body)
        if shape is not None and shape.marked and (shape.whole or (or_error and shape.error)):
            return candidate.name
    return wire if or_error and is_error(body) else None


def _detect_stream(data: bytes) -> str:
    reader = sniff(data[:65536], 1 << 62)
    if reader is None:
        raise MalformedBody("the body contains only white space" if data else "the body is empty", body=data)
    items = reader.feed(data) + reader.close()
    if not items:
        raise MalformedBody("the body is neither JSON nor a stream of events", body=data)
    return detect_events(items)


#: The number of events in which one has to identify the wire.
MOST_BEFORE = 16


def detect_events(items: list[StreamEvent]) -> str:
    """Return the wire of a stream from its first events: that of the first event that identifies one.

    Events that fit no wire are skipped. Raises AmbiguousBody at once for an event that fits several wires; if no event
    identifies a wire, raises the AmbiguousBody or MalformedBody of the first event.
    """
    first: AmbiguousBody | MalformedBody | None = None
    for _, data in items[:MOST_BEFORE]:
        try:
            return detect_event(data)
        except (AmbiguousBody, MalformedBody) as error:
            if isinstance(error, AmbiguousBody) and error.candidates:
                raise
            first = first or error
    assert first is not None
    raise first


def detect_event(data: bytes) -> str:
    """Return the wire of one stream event.

    Raises AmbiguousBody if it fits no wire or several, and MalformedBody if it is not a JSON object.
    """
    for wire in specs():
        if wire.end_of_stream == data:
            return wire.name
    try:
        event = json_codec.decode(data)
    except (ValueError, RecursionError) as error:
        raise MalformedBody(f"the first event is not JSON: {error}", body=data, hint="pass wire=…") from None
    if not isinstance(event, dict):
        raise MalformedBody("the first event is not a JSON object", body=data, hint="pass wire=…")
    return event_wire(event) or _body_wire(event)
