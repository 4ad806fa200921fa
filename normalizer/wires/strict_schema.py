"""OpenAI's rule for schemas of ``strict`` tools and structured outputs, on all its wires.

Every object schema, at any depth, must set ``additionalProperties: false`` and require all its properties. Source:
OpenAI's guide on structured outputs and its refusals ('additionalProperties' is required to be supplied and to be
false; 'required' is required to be supplied and to be an array including every key in properties).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_MAPS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")


def lacking_for_strict(schema: Any) -> Iterator[str]:
    """Yield a message for each violation, after its path in the schema; nothing for a schema that strict accepts."""
    waiting: list[tuple[str, Any]] = [("", schema)]
    seen = set[int]()  # a schema built in Python may contain itself
    while waiting:
        place, node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        yield from (f"{place}: {lack}" if place else lack for lack in _lacks(node, not place))
        inner = [(f"{member}.{name}", one) for member in _MAPS for name, one in _named(node.get(member))]
        for member in _LISTS:
            listed = node.get(member)
            inner += [(f"{member}[{n}]", one) for n, one in enumerate(listed if isinstance(listed, list) else ())]
        inner.append(("items", node.get("items")))
        waiting += [(f"{place}.{step}" if place else step, one) for step, one in reversed(inner)]


def _lacks(node: dict[str, Any], root: bool) -> Iterator[str]:
    kind, properties, required = node.get("type"), node.get("properties"), node.get("required")
    named = set(properties) if isinstance(properties, dict) else set()
    if not (root or named or kind == "object" or (isinstance(kind, list) and "object" in kind)):
        return
    given = [one for one in required if isinstance(one, str)] if isinstance(required, list) else []
    if node.get("additionalProperties") is not False:
        yield "additionalProperties is not false"
    if missing := named.difference(given):
        yield f"not required: {', '.join(sorted(map(str, missing)))}"


def _named(given: Any) -> list[tuple[str, Any]]:
    return list(given.items()) if isinstance(given, dict) else []
