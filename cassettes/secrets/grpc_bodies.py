"""Bodies of recorded gRPC calls: ``{"messages": [{"message": …, "serialized": "<base64>"}, …]}``.

The readable halves are JSON and are scrubbed as such. The serialized halves of a stream are read together here, so
that a secret broken over messages is found in both, and both get the same placeholder.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from .leaves import members


def rewritten(body: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """``body`` with the serialized messages of its stream passed through ``change``, which keeps their lengths."""
    if b'"serialized"' not in body or b'"messages"' not in body or not body.lstrip().startswith(b"{"):
        return body
    text = body.decode("utf-8", "surrogateescape")
    spans = members(text, ("messages", "serialized"))
    try:
        messages = [base64.b64decode(text[start:end], validate=True) for start, end in spans]
    except (binascii.Error, ValueError):
        return body
    if len(messages) < 2:
        return body
    for (start, end), message in zip(spans, change(messages), strict=True):
        text = text[:start] + base64.b64encode(message).decode() + text[end:]
    return text.encode("utf-8", "surrogateescape")
