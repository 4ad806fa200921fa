"""Detection of the wire of a body or an event. Input that fits several wires raises an error instead of a guess."""

from __future__ import annotations

from typing import Any

from . import json_codec
from .errors import AmbiguousBody, MalformedBody
from .model import Wire
from .readers import Item, sniff, without_mark

_ALL_JSON: tuple[Wire, ...] = ("openai.chat", "openai.responses", "anthropic.messages")
_ANTHROPIC_EVENTS = (
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "ping",
)


def detect_body(data: bytes) -> Wire:
    """Return the wire of a whole body or a complete stream.

    Raises AmbiguousBody if it fits no wire or several, and MalformedBody if it contains neither JSON nor events.
    """
    data = without_mark(data)
    start = data.lstrip()[:1]
    if start not in (b"{", b"["):
        return _detect_stream(data)
    try:
        body = json_codec.decode(data)
    except (ValueError, RecursionError):
        return _detect_stream(data)
    if isinstance(body, list):
        return _detect_stream(data)
    return _body_wire(body)


def _body_wire(body: dict[str, Any]) -> Wire:
    fits = _fits(body)
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise AmbiguousBody("the body fits several wires", candidates=fits)
    if body.get("type") == "error" and isinstance(body.get("error"), dict):
        return "anthropic.messages"
    if "error" in body:
        raise AmbiguousBody("an error body fits several wires", candidates=_ALL_JSON)
    raise AmbiguousBody("the body fits no known wire", candidates=())


def _fits(body: dict[str, Any]) -> tuple[Wire, ...]:
    """Return the wires that a body fits, by its type marker or else by the member that holds its content."""
    named = body.get("object")
    if named == "response":
        return ("openai.responses",)
    if isinstance(named, str) and named.startswith("chat.completion"):
        return ("openai.chat",)
    found = (
        isinstance(body.get("choices"), list),
        isinstance(body.get("output"), list),
        body.get("type") == "message" and "content" in body,
    )
    return tuple(wire for wire, fits in zip(_ALL_JSON, found, strict=True) if fits)


def looks_like(data: bytes) -> tuple[Wire, ...]:
    """Return the wires whose response this JSON object could be; none if the data is not a JSON object."""
    body = _object(data)
    return () if body is None else _fits(body)


def whole_body_wire(data: bytes, told: Wire | None, *, or_error: bool = True) -> Wire | None:
    """Return the wire of a JSON object whose type marks it as a whole body or an error.

    ``told``: the wire that the caller passed; an error gets this wire. Return None for a stream event, for a body of
    another wire than ``told``, and for an error of unknown wire. ``or_error``: whether errors count.
    """
    body = _object(data)
    if body is None:
        return None
    found = _says_whole(body)
    if found is None and or_error and is_error(body):
        return told or ("anthropic.messages" if body.get("type") == "error" else None)
    return found if told in (None, found) else None


def whole_wire(body: dict[str, Any]) -> Wire | None:
    """Return the wire whose whole response a JSON object is, by its type marker or its members; else None."""
    said = _says_whole(body)
    if said is not None or "type" in body or "object" in body:
        return said
    choices = body.get("choices")
    if isinstance(choices, list) and any(isinstance(one, dict) and "message" in one for one in choices):
        return "openai.chat"
    return "openai.responses" if isinstance(body.get("output"), list) and "choices" not in body else None


def _says_whole(body: dict[str, Any]) -> Wire | None:
    kind, named = body.get("type"), body.get("object")
    if kind == "message" and isinstance(body.get("content"), list):
        return "anthropic.messages"
    if named == "response":
        return "openai.responses"
    return "openai.chat" if named == "chat.completion" else None


def error_body(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object if it is an error of any wire, else None."""
    body = _object(data)
    return body if body is not None and is_error(body) else None


def is_error(body: dict[str, Any]) -> bool:
    """Return whether a JSON object is an error of any wire, but not a chunk or an event that reports one."""
    told = body.get("error") is not None
    return told and not isinstance(body.get("choices"), list) and "sequence_number" not in body


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        body = json_codec.decode(data)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _detect_stream(data: bytes) -> Wire:
    reader = sniff(data[:65536], len(data) + 1)
    if reader is None:
        raise MalformedBody("the body contains only white space" if data else "the body is empty", body=data)
    items = reader.feed(data) or reader.close()
    if not items:
        raise MalformedBody("the body is neither JSON nor a stream of events", body=data)
    return detect_events(items)


#: The number of events in which one has to identify the wire.
MOST_BEFORE = 16


def detect_events(items: list[Item]) -> Wire:
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


def detect_event(data: bytes) -> Wire:
    """Return the wire of one stream event.

    Raises AmbiguousBody if it fits no wire or several, and MalformedBody if it is not a JSON object.
    """
    if data == b"[DONE]":
        return "openai.chat"
    try:
        event = json_codec.decode(data)
    except (ValueError, RecursionError) as error:
        raise MalformedBody(f"the first event is not JSON: {error}", body=data, hint="pass wire=…") from None
    if not isinstance(event, dict):
        raise MalformedBody("the first event is not a JSON object", body=data, hint="pass wire=…")
    return _event_type_wire(event) or _body_wire(event)


def event_wire(event: dict[str, Any]) -> Wire | None:
    """Return the wire of one stream event; None if it fits no wire or several."""
    found = _event_type_wire(event)
    if found is not None:
        return found
    return "openai.chat" if _fits(event) == ("openai.chat",) else None


def _event_type_wire(event: dict[str, Any]) -> Wire | None:
    kind = event.get("type")
    if isinstance(kind, str):
        if kind.startswith("response.") or (kind == "error" and "sequence_number" in event):
            return "openai.responses"
        if kind in _ANTHROPIC_EVENTS or (kind == "error" and isinstance(event.get("error"), dict)):
            return "anthropic.messages"
    return None
