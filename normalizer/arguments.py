"""Strict parser for argument texts, which never repairs them.

A JSON object is complete. An empty text or null counts as {}. Any other text cannot run, and a finding code states why.
The caller keeps the exact text in every case (law `arguments`).
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

import msgspec

from .model import CallStatus

_decode = msgspec.json.Decoder(dict[str, Any]).decode
#: A pseudo-tool that models call although no request declares it; its arguments hold the intended calls (NAME-04).
PSEUDO_PARALLEL = "multi_tool_use.parallel"
_SPACE = " \t\n\r"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Parsed(NamedTuple):
    """A parsed argument text. ``arguments``: None if the call cannot run. ``code``: a finding code, or ""."""

    arguments: dict[str, Any] | None
    status: CallStatus = "complete"
    code: str = ""


def parse(text: str) -> Parsed:
    """Parse one argument text. Never raises."""
    try:
        return Parsed(_decode(text))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _diagnose(text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_lenient = json.JSONDecoder(parse_constant=_refuse_constant)


def _diagnose(text: str) -> Parsed:
    stripped = text.strip(_SPACE)
    if not stripped:
        return Parsed({}, code="arguments-empty")
    if stripped == "null":
        return Parsed({}, code="arguments-null")
    try:
        value, end = _lenient.raw_decode(stripped)
    except RecursionError:
        return Parsed(None, "invalid", "arguments-too-deep")
    except json.JSONDecodeError as error:
        # A text is truncated only if it ends inside its JSON; an earlier error makes it invalid (FIN-10, REP-01).
        if error.pos >= len(stripped) or error.msg.startswith("Unterminated string") or _cut_literal(stripped, error):
            return Parsed(None, "truncated", "arguments-truncated")
        return Parsed(None, "invalid", "arguments-invalid")
    except ValueError as error:
        large = "digits" in str(error)  # CPython's limit on integer literals (NUM-02)
        return Parsed(None, "invalid", "arguments-number-too-large" if large else "arguments-invalid")
    if end < len(stripped):
        code = "arguments-glued" if isinstance(value, dict) and stripped[end:].lstrip(_SPACE)[0] == "{" else ""
        return Parsed(None, "invalid", code or "arguments-invalid")
    if isinstance(value, str):
        return Parsed(None, "invalid", "arguments-double-encoded" if _is_object(value) else "arguments-not-object")
    if not isinstance(value, dict):
        return Parsed(None, "invalid", "arguments-not-object")
    if overflows(value):
        return Parsed(None, "invalid", "arguments-number-too-large")
    return Parsed(value, code="arguments-lone-surrogate" if _has_lone_surrogate(value) else "")


def _cut_literal(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether the text ends inside an escape, after a minus sign or inside ``true``, ``false`` or ``null``."""
    tail = text[error.pos :]
    if error.msg.startswith("Invalid \\"):
        return len(tail) < 6
    return tail != "" and (tail == "-" or any(word.startswith(tail) for word in ("true", "false", "null")))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def by_value(text: str) -> str:
    """Return the same text for all argument texts of equal value, as a key for comparison.

    White space, key order, escapes and number formats do not matter. ``1`` and ``1.0`` are equal, as in JSON Schema;
    ``true`` and ``1`` are not. A text that cannot run equals only itself.
    """
    parsed = parse(text).arguments
    if not parsed:
        return text if parsed is None else "{}"
    try:
        return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)
    except (ValueError, RecursionError):  # only msgspec parses this text
        return text


def _number(literal: str) -> float | int:
    value = float(literal)
    return int(value) if value.is_integer() else value


def overflows(value: Any) -> bool:
    """Return whether a value contains an infinite float (from an overflow while parsing) or NaN, unlike any JSON."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, float) and item - item != 0:
            return True
    return False


def _has_lone_surrogate(value: Any) -> bool:
    return _LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)) is not None
