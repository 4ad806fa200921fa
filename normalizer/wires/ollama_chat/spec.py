"""Spec of the wire `ollama.chat`: the native chat API of Ollama's server, `/api/chat`."""

from __future__ import annotations

from typing import Any

from ..registry import Boundary, Shape, WireSpec
from ..sdk_objects import model_json

_CHUNK = Shape(body=True, event=True, marked=True)
#: The last event of a stream has the same members as a whole response.
_LAST = Shape(body=True, whole=True, event=True, marked=True)
_WITHIN, _END = Boundary(begins=True), Boundary(begins=True, ends=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. No other API has the members ``message`` and ``done``. Errors have no marker."""
    done = body.get("done")
    if not isinstance(done, bool) or not isinstance(body.get("message"), dict):
        return None
    return _LAST if done else _CHUNK


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`. No event marks the beginning: the one after the last event begins another response."""
    return _END if event.get("done") is True else _WITHIN


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `ollama` SDK."""
    return model_json(source)


SPEC = WireSpec(
    name="ollama.chat",
    package=__package__,
    owner="ollama",
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
)
