"""The values and the words of one recorded exchange: what `diff` compares beyond the shape.

A value is what a program reads or acts on: the model, parameters, arguments of calls, results, token figures. Words are
what a person or the model wrote. Ids, times, signatures and encrypted contents differ between any two recordings, and
are neither; within arguments and schemas, where the caller chooses the names, every member counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response

#: Members whose content the model or the caller names.
FREE = frozenset(("input", "arguments", "parameters", "properties", "schema"))

#: Members that hold words, where they are text.
_WORDS = frozenset(
    ("text", "content", "thinking", "refusal", "reasoning", "reasoning_content", "instructions", "system", "input",
     "output", "summary", "message")
)  # fmt: skip
#: Members that name one request, one moment, or what only the provider reads.
_PASSING = frozenset(
    ("id", "item_id", "call_id", "tool_call_id", "tool_use_id", "response_id", "previous_response_id", "request_id",
     "wire_id", "created", "created_at", "completed_at", "expires_at", "system_fingerprint", "signature", "encrypted",
     "encrypted_content", "encrypted_index", "obfuscation")
)  # fmt: skip
#: Members of a provider's error that the canonical one has.
_ERROR = frozenset(("type", "message", "status"))
#: Arguments that are JSON in a text: compared by value.
_PACKED = frozenset(("arguments", "arguments_text"))


def leaves(asked: Any, said: Response, status: int | None) -> tuple[dict[str, str], dict[str, str]]:
    """The values and the words of an exchange: path -> JSON. ``asked``: the request's JSON."""
    values = {"status": json_codec.text(status)}
    words: dict[str, str] = {}
    for name, tree in (("request", asked), ("response", _answer(said))):
        for path, key, leaf in _walk(name, name, tree, free=False):
            into = words if isinstance(leaf, str) and key in _WORDS else values
            into[path] = json_codec.text(leaf)
    return values, words


def _answer(said: Response) -> dict[str, Any]:
    """The canonical response without what it repeats: the provider's figures, an error's words, parsed arguments."""
    plain: dict[str, Any] = msgspec.to_builtins(said)
    if plain["usage"] is not None:
        del plain["usage"]["raw"]
    if plain["error"] is not None:
        plain["error"]["raw"] = _unrepeated(plain["error"]["raw"])
    for choice in plain["choices"]:
        for block in choice["blocks"]:
            block.pop("arguments", None)
    return {name: value for name, value in plain.items() if name != "findings"}


def _unrepeated(error: Any) -> Any:
    """An error of a provider without the members that the canonical one has: its code, for one, is in no other."""
    if not isinstance(error, dict):
        return None
    return {
        name: _unrepeated(value) if name == "error" else value for name, value in error.items() if name not in _ERROR
    }


def _walk(path: str, key: str, value: Any, *, free: bool) -> Iterator[tuple[str, str, Any]]:
    """(path, name of the member, leaf) of everything in a value that counts. An empty collection is a leaf."""
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
