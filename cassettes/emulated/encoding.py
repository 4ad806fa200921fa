"""How emulated providers encode bodies and answers, and their server-sent events."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..surfaces import Surface

DONE = b"data: [DONE]\n\n"


class Encoding(NamedTuple):
    """The properties of a surface's HTTP bodies.

    ``stream_type``: the content type of a stream. ``indented``: the provider indents the JSON of other bodies.
    ``stores``: the provider stores answers, and GET returns them by id.
    """

    stream_type: str = "text/event-stream; charset=utf-8"
    indented: bool = False
    stores: bool = False


def encoding(surface: Surface) -> Encoding:
    """Return the properties of a surface's HTTP bodies."""
    found: Encoding = getattr(surface.emulation, "ENCODING", Encoding())
    return found


def encoded(surface: Surface, answer: Any) -> bytes:
    """Return what the provider sends for a body, an event or a message. Raises nothing for lone surrogates in it."""
    if isinstance(answer, bytes):
        return answer
    if not isinstance(answer, dict):
        return bytes(answer.SerializeToString(deterministic=True))
    if not encoding(surface).indented:
        return json_codec.encode(answer)
    try:
        return json.dumps(answer, indent=2, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # scripts may put lone surrogates into arguments
        return json.dumps(answer, indent=2).encode() + b"\n"


def event(payload: dict[str, Any]) -> bytes:
    """Return an event without a name (Chat Completions)."""
    return b"data: " + json_codec.encode(payload) + b"\n\n"


def named_event(payload: dict[str, Any]) -> bytes:
    """Return an event whose name is the payload's ``type`` (Responses, Messages)."""
    name: str = payload["type"]
    return b"event: " + name.encode() + b"\ndata: " + json_codec.encode(payload) + b"\n\n"
