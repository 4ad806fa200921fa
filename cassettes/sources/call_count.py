"""An independent count of the calls in a value of a log, in whatever notation and however deep.

Importers and the normalizer look for calls where the notation has them. This only knows how a call looks, so that a
difference shows that something was not read.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from toolparity.normalizer import json_codec

#: The types of blocks and items that are calls, and the members that hold a call.
_TYPES = frozenset(("tool_use", "function_call", "tool_call", "custom_tool_call"))
_HOLDERS = ("functionCall", "toolUse")
_DEEPEST = 64


def calls_in(value: Any, deepest: int = _DEEPEST) -> int:
    """Return how many calls a value contains, also inside JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = json_codec.decode(value)
        except (ValueError, RecursionError):
            return 0
    if deepest == 0 or not isinstance(value, (dict, list)):
        return 0
    if isinstance(value, list):
        return sum(calls_in(element, deepest - 1) for element in value)
    count = int(value.get("type") in _TYPES and _named(value)) if isinstance(value.get("type"), str) else 0
    count += sum(_named(value.get(name)) for name in _HOLDERS)
    function = value.get("function")
    count += _named(function) and "arguments" in function  # a definition has parameters
    calls = value.get("tool_calls")
    if isinstance(calls, list):
        count += sum(_is_call(call) or calls_in(call, deepest - 1) for call in calls)
        return count + _inside(value, "tool_calls", deepest)
    return count + _inside(value, "", deepest)


def _inside(value: dict[str, Any], omitted: str, deepest: int) -> int:
    return sum(calls_in(member, deepest - 1) for name, member in value.items() if name != omitted)


def _is_call(value: Any) -> bool:
    return _named(value) or (isinstance(value, dict) and _named(value.get("function")))


def _named(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and bool(value["name"])
