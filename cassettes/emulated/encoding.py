"""How emulated providers encode bodies, and their server-sent events."""

from __future__ import annotations

from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

DONE = b"data: [DONE]\n\n"


class Encoding(NamedTuple):
    """The properties of a surface's HTTP bodies.

    ``stream_type``: the content type of a stream. ``indented``: the provider indents the JSON of other bodies.
    ``stores``: the provider stores answers, and GET returns them by id.
    """

    stream_type: str = "text/event-stream; charset=utf-8"
    indented: bool = False
    stores: bool = False


def event(payload: dict[str, Any]) -> bytes:
    """Return an event without a name (Chat Completions)."""
    return b"data: " + json_codec.encode(payload) + b"\n\n"


def named_event(payload: dict[str, Any]) -> bytes:
    """Return an event whose name is the payload's ``type`` (Responses, Messages)."""
    name: str = payload["type"]
    return b"event: " + name.encode() + b"\ndata: " + json_codec.encode(payload) + b"\n\n"
