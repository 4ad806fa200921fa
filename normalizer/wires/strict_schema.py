"""OpenAI's rules for schemas on all its wires: those of ``strict`` tools and structured outputs, and of functions.

In strict mode, every object schema, at any depth, must set ``additionalProperties: false`` and require all its
properties. Source: OpenAI's guide on structured outputs and its refusals ('additionalProperties' is required to be
supplied and to be false; 'required' is required to be supplied and to be an array including every key in properties).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .write_context import WriteContext

_MAPS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")


def fits_strict(name: str, schema: Any, context: WriteContext) -> bool:
    """Report whether strict mode accepts the schema of the tool ``name``, and report a loss if not."""
    if not any(lacking_for_strict(schema)):
        return True
    context.lose("param", f"strict: the schema of {name} does not fit strict mode; strict was set to false")
    return False


def with_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of a function with ``properties``, without which OpenAI refuses an object ("missing")."""
    return {**schema, "properties": {}} if schema.get("type") == "object" and "properties" not in schema else schema


def lacking_for_strict(schema: Any) -> Iterator[str]:
    """Yield a message for each violation, after its path in the schema; nothing for a schema that strict accepts."""
    waiting: list[tuple[str, Any]] = [("", schema)]
    seen = set[int]()  # a schema built in Python may contain itself
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        yield from (f"{path}: {lack}" if path else lack for lack in _lacks(node, not path))
        inner = [(f"{member}.{name}", schema) for member in _MAPS for name, schema in _members(node.get(member))]
        for member in _LISTS:
            listed = node.get(member)
            inner += [(f"{member}[{n}]", schema) for n, schema in enumerate(listed if isinstance(listed, list) else ())]
        inner.append(("items", node.get("items")))
        waiting += [(f"{path}.{step}" if path else step, schema) for step, schema in reversed(inner)]


def _lacks(node: dict[str, Any], root: bool) -> Iterator[str]:
    kind, properties, required = node.get("type"), node.get("properties"), node.get("required")
    names = set(properties) if isinstance(properties, dict) else set()
    if not (root or names or kind == "object" or (isinstance(kind, list) and "object" in kind)):
        return
    listed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    if node.get("additionalProperties") is not False:
        yield "additionalProperties is not false"
    if missing := names.difference(listed):
        yield f"not required: {', '.join(sorted(map(str, missing)))}"


def _members(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []
