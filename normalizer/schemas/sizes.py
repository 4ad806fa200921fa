"""Sizes of a tool's parameters, as the caps of the providers count them."""

from __future__ import annotations

from typing import Any

from .keywords import is_object, nodes, properties_of, required_of, types_of


def sizes(schema: Any) -> dict[str, int]:
    """Return the size of the parameters of one tool for each cap that concerns a schema."""
    found = list(nodes(schema))
    inner = [property for node in found for property in properties_of(node.schema).values()]
    enums = [node.schema["enum"] for node in found if isinstance(node.schema, dict) and _is_list(node.schema, "enum")]
    return {
        "depth": max((node.depth for node in found if "object" in types_of(node.schema)), default=0) + 1,
        "properties": len(inner),
        "fields": len(inner),
        "enum-values": sum(map(len, enums)),
        "text-length": _text_length(found),
        "optional": sum(
            len(properties_of(node.schema).keys() - set(required_of(node.schema)))
            for node in found
            if is_object(node.schema)
        ),
        "unions": sum(
            isinstance(property, dict) and ("anyOf" in property or isinstance(property.get("type"), list))
            for property in inner
        ),
    }


def _text_length(found: list[Any]) -> int:
    total = 0
    for node in found:
        if not isinstance(node.schema, dict):
            continue
        for keyword in ("properties", "$defs", "definitions"):
            names = node.schema.get(keyword)
            total += sum(len(str(name)) for name in names) if isinstance(names, dict) else 0
        values = list(node.schema["enum"]) if _is_list(node.schema, "enum") else []
        values += [node.schema["const"]] if "const" in node.schema else []
        total += sum(len(value) for value in values if isinstance(value, str))
    return total


def _is_list(schema: dict[str, Any], keyword: str) -> bool:
    return isinstance(schema.get(keyword), list)
