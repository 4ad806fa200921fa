"""The values and the words of one recorded exchange, which `diff` compares beyond the shape.

Values are what a program reads or acts on: the model, parameters, call arguments, results, token figures. Words are
what a person or the model wrote. Ids, times, signatures and encrypted content differ between any two recordings, so
they are neither. Within arguments and schemas, whose names the caller chooses, every member counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response

#: Members whose content has names chosen by the model or the caller.
FREE = frozenset(("input", "arguments", "parameters", "properties", "schema"))

#: Members that hold words if their value is text.
_WORDS = frozenset(
    ("text", "content", "thinking", "refusal", "reasoning", "reasoning_content", "instructions", "system", "input",
     "output", "summary", "message")
)  # fmt: skip
#: Members that identify one request or moment, or that only the provider reads.
_PASSING = frozenset(
    ("id", "item_id", "call_id", "tool_call_id", "tool_use_id", "response_id", "previous_response_id", "request_id",
     "wire_id", "created", "created_at", "completed_at", "expires_at", "system_fingerprint", "signature", "encrypted",
     "encrypted_content", "encrypted_index", "obfuscation")
)  # fmt: skip
#: Members of a provider's error that the canonical error also has.
_ERROR = frozenset(("type", "message", "status"))
#: Arguments as JSON text; they are compared by value.
_PACKED = frozenset(("arguments", "arguments_text"))


def leaves(request: Any, response: Response, status: int | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values and the words of an exchange as path -> JSON. ``request``: the request's JSON."""
    values = {"status": json_codec.text(status)}
    words: dict[str, str] = {}
    for name, tree in (("request", request), ("response", _answer(response))):
        for path, key, leaf in _walk(name, name, tree, free=False):
            into = words if isinstance(leaf, str) and key in _WORDS else values
            into[path] = json_codec.text(leaf)
    return values, words


def _answer(response: Response) -> dict[str, Any]:
    """Return the canonical response without duplicates: raw usage, raw error members, parsed arguments, findings."""
    plain: dict[str, Any] = msgspec.to_builtins(response)
    if plain["usage"] is not None:
        del plain["usage"]["raw"]
    if plain["error"] is not None:
        plain["error"]["raw"] = _unrepeated(plain["error"]["raw"])
    for choice in plain["choices"]:
        for block in choice["blocks"]:
            block.pop("arguments", None)
    return {name: value for name, value in plain.items() if name != "findings"}


def _unrepeated(error: Any) -> Any:
    """Return a provider's raw error without the members that the canonical error has. The code, for example, stays."""
    if not isinstance(error, dict):
        return None
    return {
        name: _unrepeated(value) if name == "error" else value for name, value in error.items() if name not in _ERROR
    }


def _walk(path: str, key: str, value: Any, *, free: bool) -> Iterator[tuple[str, str, Any]]:
    """Yield (path, member name, leaf) for every compared leaf of a value. An empty collection is a leaf."""
    if key in _PACKED and isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = json_codec.decode(value)
        free = True
    if isinstance(value, dict) and value:
        free = free or key in FREE
        for name, inner in value.items():
            if free or name not in _PASSING:
                yield from _walk(f"{path}.{name}", "" if free else name, inner, free=free)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _walk(f"{path}[{index}]", key, inner, free=free)
    else:
        yield path, "" if free else key, value
