"""Spec of the wire `cohere.chat`: version 2 of Cohere's Chat API. Version 1 is only read."""

from __future__ import annotations

from typing import Any

from ..grammar import Grammar, Unit
from ..limits import Boundary
from ..registry import History, Shape, WireSpec
from ..sdk_objects import model_json

GRAMMAR = Grammar(
    "https://docs.cohere.com/v2/docs/streaming",
    (
        Unit(
            "the message",
            start="message-start stream-start",
            within="tool-plan-delta text-generation",
            end="message-end stream-end",
        ),
        Unit(
            "content",
            start="content-start",
            within="content-delta",
            end="content-end",
            keys="index",
            parent="the message",
            numbered=True,
        ),
        Unit(
            "call",
            start="tool-call-start",
            within="tool-call-delta",
            end="tool-call-end",
            keys="index",
            parent="the message",
            numbered=True,
        ),
        Unit("citation", start="citation-start", end="citation-end", keys="index", parent="the message"),
    ),
    type="type event_type",
    named="names",
    stop="delta.finish_reason",
)
#: The events of version 1, which have an ``event_type`` instead of a ``type``.
_EVENTS_V1 = frozenset(
    (
        "stream-start",
        "search-queries-generation",
        "search-results",
        "text-generation",
        "citation-generation",
        "tool-calls-generation",
        "tool-calls-chunk",
        "stream-end",
    )
)
#: The types of the events of version 2, except `debug`.
EVENTS = GRAMMAR.types - _EVENTS_V1
#: Members of the bodies of other APIs whose ``message`` is an object, too.
_OTHER_APIS = frozenset(("choices", "done", "object", "output", "type"))
#: All members of an error body. Its ``message`` is a text.
_ERROR = frozenset(("id", "message", "error_type"))

_BODY = Shape(body=True, whole=True, marked=True)
_EVENT = Shape(event=True, marked=True)
_WITHIN, _END = Boundary(), Boundary(ends=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. A body has no type; its `message` and a member that only this API has show it."""
    kind, kind_v1 = body.get("type"), body.get("event_type")
    if (isinstance(kind, str) and kind in EVENTS) or (isinstance(kind_v1, str) and kind_v1 in _EVENTS_V1):
        return _EVENT
    message = body.get("message")
    if isinstance(message, dict):
        return _BODY if "finish_reason" in body and _OTHER_APIS.isdisjoint(body) else None
    if isinstance(body.get("text"), str) and "generation_id" in body and _OTHER_APIS.isdisjoint(body):
        return _BODY
    is_error = isinstance(message, str) and isinstance(body.get("id"), str) and body.keys() <= _ERROR
    return Shape(error=True) if is_error else None


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`."""
    kind = event.get("type", event.get("event_type"))
    if kind not in ("message-start", "stream-start"):
        return _END if kind in ("message-end", "stream-end") else _WITHIN
    id = event.get("id", event.get("generation_id"))
    return Boundary(id if isinstance(id, str) and id else None, begins=True)


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `cohere` SDK."""
    return model_json(source)


SPEC = WireSpec(
    name="cohere.chat",
    package=__package__,
    owner="cohere",
    history=History("messages", ("assistant",)),
    models=r"command-|command$|c4ai-",
    results="adjacent",
    path="/v2/chat",
    models_path="/v1/models",
    hosts=("api.cohere.com", "api.cohere.ai"),
    addresses=(r"^api\.cohere\.(com|ai)/.*chat$", r"/v2/chat$"),
    sdk="cohere",
    sdk_modules=("cohere.types", "cohere.v2"),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    end_of_stream=b"[DONE]",
    grammar=GRAMMAR,
)
