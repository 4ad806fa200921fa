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
