"""Spec of the wire `ollama.chat`: the native chat API of Ollama's server, `/api/chat`."""

from __future__ import annotations

from typing import Any

from ..grammar import Grammar, Unit
from ..limits import Boundary
from ..registry import History, Output, Shape, WireSpec
from ..sdk_objects import model_json

_CHUNK = Shape(body=True, event=True, marked=True)
#: The last event of a stream has the same members as a whole response.
_LAST = Shape(body=True, whole=True, event=True, marked=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. No other API has the members ``message`` and ``done``. Errors have no marker."""
    done = body.get("done")
    if not isinstance(done, bool) or not isinstance(body.get("message"), dict):
        return None
    return _LAST if done else _CHUNK


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`. No event marks the beginning: content after the last event begins another response."""
    message = event.get("message")
    said = isinstance(message, dict) and any(message.get(name) for name in ("content", "thinking", "tool_calls"))
    return Boundary(ends=event.get("done") is True, greets=True, empty=not said)


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `ollama` SDK."""
    return model_json(source)


GRAMMAR = Grammar(
    "https://docs.ollama.com/api/streaming",
    (Unit("the response", within="message.content message.thinking message.tool_calls", end="done"),),
)

SPEC = WireSpec(
    name="ollama.chat",
    package=__package__,
    owner="ollama",
    history=History("messages", ("assistant",), counted="messages"),
    output=Output(unseen=True),  # https://docs.ollama.com/capabilities/structured-outputs
    parsed_arguments=True,
    parsed_streams=True,
    streams_by_default=True,
    anonymous_calls=True,
    unnamed_tools=True,
    path="/api/chat",
    stream_type="application/x-ndjson",
    models_path="/api/tags",
    hosts=("ollama.com", ":11434"),
    addresses=(r"/api/chat$",),
    sdk="ollama",
    sdk_modules=("ollama._types",),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    grammar=GRAMMAR,
)
