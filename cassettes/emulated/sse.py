"""Framing of server-sent events, as the providers send them."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec

DONE = b"data: [DONE]\n\n"


def data(payload: dict[str, Any]) -> bytes:
    """Return an event without a name (Chat Completions)."""
    return b"data: " + json_codec.encode(payload) + b"\n\n"


def named(payload: dict[str, Any]) -> bytes:
    """Return an event whose name is the payload's ``type`` (Responses, Messages)."""
    name: str = payload["type"]
    return b"event: " + name.encode() + b"\ndata: " + json_codec.encode(payload) + b"\n\n"
