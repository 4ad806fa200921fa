"""Spec of the wire `anthropic.messages`: Anthropic's Messages API, including Claude on Bedrock and Vertex."""

from __future__ import annotations

from typing import Any

from ..grammar import Grammar, Unit
from ..limits import SILENT, Boundary
from ..registry import History, Shape, WireSpec
from ..sdk_objects import model_json

GRAMMAR = Grammar(
    "https://docs.anthropic.com/en/docs/build-with-claude/streaming#event-types",
    (
        Unit("the message", start="message_start", end="message_stop"),
        Unit(
            "content block",
            start="content_block_start",
            within="content_block_delta",
            end="content_block_stop",
            keys="index",
            parent="the message",
            numbered=True,
            alone=True,
        ),
    ),
    type="type",
    named="required",  # anthropic-sdk-python, _streaming.py: an event without a known name is skipped
    closing="message_delta",
    stop="delta.stop_reason",
)
_EVENTS = GRAMMAR.types | {"ping"}
#: Members that other APIs have. With one of them, the type "message" does not identify this wire.
_OTHER_APIS = frozenset(("choices", "output", "object"))
#: Types of events that the SDK's stream helper derives from raw events, which it also passes on.
_DERIVED = frozenset(("text", "citation", "thinking", "signature", "input_json", "compaction"))

_EVENT = Shape(event=True, marked=True)
_WITHIN, _END = Boundary(), Boundary(ends=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. Every object of this wire has a ``type``."""
    kind = body.get("type")
    if kind == "message" and "content" in body:
        return Shape(body=True, whole=isinstance(body["content"], list), marked=_OTHER_APIS.isdisjoint(body))
    if isinstance(kind, str) and kind in _EVENTS:
        return _EVENT
    if kind == "error" and isinstance(body.get("error"), dict) and "sequence_number" not in body:
        return Shape(event=True, error=True, marked=True)
    return None


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`."""
    kind = event.get("type")
    if kind == "ping":
        return SILENT  # gateways keep streams of other wires alive with it
    if kind != "message_start":
        return _END if kind in ("message_stop", "error") else _WITHIN
    message = event.get("message")
    id = message.get("id") if isinstance(message, dict) else None
    return Boundary(id if isinstance(id, str) and id else None, begins=True)


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `anthropic` SDK, for its stream helper's events that of the raw event."""
    if not (event and ".lib" in type(source).__module__):
        return model_json(source)
    if source.type in _DERIVED:
        return b""
    block = {"content_block": True} if source.type.endswith("stop") else {}
    return model_json(source, {"snapshot": True, "message": True, **block})


SPEC = WireSpec(
    name="anthropic.messages",
    package=__package__,
    owner="anthropic",
    history=History("messages", ("assistant",)),
    models=r"claude",
    parsed_arguments=True,
    results="first",
    path="/v1/messages",
    key_header="x-api-key",
    headers={"anthropic-version": "2023-06-01"},
    members={"max_tokens": 4096},
    models_path="/v1/models",
    hosts=("api.anthropic.com",),
    addresses=(
        r"(/v1|/anthropic)/messages$|^api\.anthropic\.com/.*messages$",
        r"/model/.*anthropic.*/invoke(-with-response-stream)?$",
        r"/publishers/anthropic/models/[^/]+:(stream)?RawPredict$",
    ),
    sdk="anthropic",
    sdk_modules=("anthropic.types", "anthropic.lib"),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    grammar=GRAMMAR,
)
