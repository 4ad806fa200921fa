"""Which wire a body or an event belongs to, where the caller did not say. Never guessed: what fits two is an error."""

from __future__ import annotations

from typing import Any

from . import jsontext
from .errors import AmbiguousBody, MalformedBody
from .readers import sniff

_ALL_JSON = ("openai.chat", "openai.responses", "anthropic.messages")
_ANTHROPIC_EVENTS = (
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "ping",
)


def detect_body(data: bytes) -> str:
    """The wire of a whole body (or of a stream given whole). Raises AmbiguousBody or MalformedBody."""
    start = data.lstrip()[:1]
    if start not in (b"{", b"["):
        return _detect_stream(data)
    try:
        body = jsontext.decode(data)
    except (ValueError, RecursionError):
        return _detect_stream(data)
    if isinstance(body, list):
        return _detect_stream(data)
    return _body_wire(body)


def _body_wire(body: dict[str, Any]) -> str:
    if isinstance(body.get("choices"), list) or str(body.get("object", "")).startswith("chat.completion"):
        return "openai.chat"
    if body.get("object") == "response" or isinstance(body.get("output"), list):
        return "openai.responses"
    if body.get("type") == "message" and "content" in body:
        return "anthropic.messages"
    if body.get("type") == "error" and isinstance(body.get("error"), dict):
        return "anthropic.messages"
    if "error" in body:
        raise AmbiguousBody("an error body fits several wires", candidates=_ALL_JSON[:2])
    raise AmbiguousBody("the body fits no wire that is known", candidates=())


def whole_body_wire(data: bytes, told: str | None) -> str | None:
    """The wire of a JSON object that says itself that it is a whole body, or an error; null for a stream's event."""
    try:
        body = jsontext.decode(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    kind, named = body.get("type"), body.get("object")
    if kind == "message" and isinstance(body.get("content"), list):
        found = "anthropic.messages"
    elif named == "response":
        found = "openai.responses"
    elif named == "chat.completion":
        found = "openai.chat"
    elif "error" in body and not isinstance(body.get("choices"), list) and "sequence_number" not in body:
        return told or ("anthropic.messages" if kind == "error" else None)
    else:
        return None
    return found if told in (None, found) else None


def _detect_stream(data: bytes) -> str:
    reader = sniff(data[:65536], len(data) + 1)
    if reader is None:
        raise MalformedBody("the body is empty", body=data)
    items = reader.feed(data) or reader.close()
    for _, payload in items:
        return detect_event(payload)
    raise MalformedBody("the body is neither JSON nor a stream of events", body=data)


def detect_event(data: bytes) -> str:
    """The wire of one stream event. Raises AmbiguousBody or MalformedBody."""
    if data == b"[DONE]":
        return "openai.chat"
    try:
        event = jsontext.decode(data)
    except (ValueError, RecursionError) as error:
        raise MalformedBody(f"the first event is no JSON: {error}", body=data, hint="pass wire=…") from None
    if not isinstance(event, dict):
        raise MalformedBody("the first event is no JSON object", body=data, hint="pass wire=…")
    kind = event.get("type")
    if isinstance(kind, str):
        if kind.startswith("response.") or (kind == "error" and "sequence_number" in event):
            return "openai.responses"
        if kind in _ANTHROPIC_EVENTS or (kind == "error" and isinstance(event.get("error"), dict)):
            return "anthropic.messages"
    return _body_wire(event)
