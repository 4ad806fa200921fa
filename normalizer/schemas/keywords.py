"""Traversal of JSON schemas, and the classes of their keywords."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

#: Keywords whose value maps names to schemas.
MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
#: Keywords whose value is a list of schemas.
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
#: Keywords whose value is one schema. ``items`` was also a list before 2020-12.
SINGLE = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
)
COMPOSITION = ("anyOf", "oneOf", "allOf", "not")
#: Keywords that describe a value and exclude none.
ANNOTATIONS = frozenset(
    (
        "$comment",
        "$id",
        "$schema",
        "$anchor",
        "$vocabulary",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "deprecated",
        "description",
        "example",
        "examples",
        "externalDocs",
        "propertyOrdering",
        "readOnly",
        "title",
        "writeOnly",
        "xml",
    )
)
#: Keywords that are part of the structure of a schema: a rewriter handles each of them separately.
STRUCTURE = frozenset(
    (
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "definitions",
    )
)
#: Keywords that apply to values of one type only.
OF_TYPE = {
    "object": (
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "propertyOrdering",
    ),
    "array": (
        "items",
        "prefixItems",
        "contains",
        "minContains",
        "maxContains",
        "minItems",
        "maxItems",
        "uniqueItems",
        "unevaluatedItems",
    ),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
#: Formats of numbers (OpenAPI).
_OF_NUMBERS = ("int32", "int64", "float", "double")
TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")


class Node(NamedTuple):
    """One schema inside another. ``pointer``: its JSON pointer. ``depth``: the objects and arrays around it."""

    pointer: str
    schema: Any
    depth: int = 0


def escaped(step: object) -> str:
    """Return one step of a JSON pointer."""
    return str(step).replace("~", "~0").replace("/", "~1")


def typed_keywords(schema: dict[str, Any]) -> dict[str, str]:
    """Return the keywords of a schema that apply to values of one type only, each with that type."""
    found = {keyword: kind for kind, keywords in OF_TYPE.items() for keyword in keywords if keyword in schema}
    return {**found, "format": "number"} if schema.get("format") in _OF_NUMBERS else found


def foreign_keywords(schema: dict[str, Any], kinds: Iterable[str]) -> set[str]:
    """Return the keywords that apply only to values of other types than ``kinds``, and so have no meaning."""
    own = {"number" if kind == "integer" else kind for kind in kinds}
    return {keyword for keyword, kind in typed_keywords(schema).items() if kind not in own}


def nodes(schema: Any, pointer: str = "") -> Iterator[Node]:
    """Yield the schema and every schema in it, in order of appearance, each object once."""
    waiting = [Node(pointer, schema)]
    seen = set[int]()
    while waiting:
        node = waiting.pop()
        if isinstance(node.schema, dict):
            if id(node.schema) in seen:
                continue
            seen.add(id(node.schema))
        yield node
        waiting += reversed(list(children(node)))


def children(node: Node) -> Iterator[Node]:
    """Yield the schemas directly inside a schema."""
    schema, pointer = node.schema, node.pointer
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        depth = node.depth + (keyword in ("properties", "items", "prefixItems", "additionalProperties"))
        at = f"{pointer}/{escaped(keyword)}"
        if keyword in MAPS and isinstance(value, dict):
            yield from (Node(f"{at}/{escaped(name)}", inner, depth) for name, inner in value.items())
        elif (keyword in LISTS or keyword == "items") and isinstance(value, list):
            yield from (Node(f"{at}/{n}", inner, depth) for n, inner in enumerate(value))
        elif keyword in SINGLE and isinstance(value, (dict, bool)):
            yield Node(at, value, depth)


def types_of(schema: Any) -> list[str]:
    """Return the types that the keyword ``type`` lists, or an empty list."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return (
        [kind] if isinstance(kind, str) else [t for t in kind if isinstance(t, str)] if isinstance(kind, list) else []
    )


def properties_of(schema: Any) -> dict[str, Any]:
    """Return the declared properties of an object schema, or an empty dict."""
    declared = schema.get("properties") if isinstance(schema, dict) else None
    return declared if isinstance(declared, dict) else {}


def required_of(schema: Any) -> list[str]:
    """Return the names of the required properties, or an empty list."""
    names = schema.get("required") if isinstance(schema, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def is_object(schema: Any) -> bool:
    """Return whether a schema describes objects: by its type, or by properties without a type."""
    kinds = types_of(schema)
    return "object" in kinds or (not kinds and bool(properties_of(schema)))
