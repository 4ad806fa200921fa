"""JSON inside text, as logs keep values of which they need not know the form."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec


def parsed(value: Any) -> Any:
    """Return the value of JSON text that is an object or a list; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json_codec.decode(value)
        except (ValueError, RecursionError):
            return value
    return value
