"""Server-sent events as the providers frame them: one piece for the network each."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec

DONE = b"data: [DONE]\n\n"


def data(payload: dict[str, Any]) -> bytes:
    """An event without a name (Chat Completions)."""
    return b"data: " + json_codec.encode(payload) + b"\n\n"


def named(payload: dict[str, Any]) -> bytes:
    """An event that is named by its payload's ``type`` (Responses, Messages)."""
    name: str = payload["type"]
    return b"event: " + name.encode() + b"\ndata: " + json_codec.encode(payload) + b"\n\n"
