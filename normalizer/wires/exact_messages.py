"""The original bytes of the messages in a request, which keep the exact argument texts."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from .. import json_codec


class _RawMessage(Struct):
    content: Raw = Raw(b"")


class _RawBody(Struct):
    messages: list[_RawMessage]


def body_bytes(body: Any) -> bytes:
    """Return a request body, which may be bytes, text or parsed JSON, as bytes."""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    return json_codec.bytes_of(body)


def exact_contents(data: bytes, messages: list[Any]) -> list[bytes]:
    """Return the ``content`` of each message as its original bytes."""
    try:
        return [bytes(message.content) for message in json_codec.decoder(_RawBody)(data).messages]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        contents = [message.get("content") if isinstance(message, dict) else None for message in messages]
        return [json_codec.encode(content) for content in contents]
