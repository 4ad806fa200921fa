"""Checks of the shapes: each yields the pointer and a message for each place that breaks the rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from .keywords import COMPOSITION, Node, foreign_keywords, is_object, nodes, properties_of, required_of, types_of
from .references import Resolver, references
from .rules.model import SchemaRules

Found = Iterator[tuple[str, str]]
#: Keywords that give a schema its type, for the shape ``typed``.
_TYPING = ("type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref")
#: Keywords that stay beside a reference.
_BESIDE_REF = frozenset(("$ref", "description", "default", "title", "$defs", "definitions"))


class Schema(Struct, frozen=True):
    """The parameters of one tool, for the checks. ``nodes``: all schemas in it. ``resolver``: of its references."""

    root: Any
    rules: SchemaRules
    nodes: list[Node]
    resolver: Resolver

    @property
    def objects(self) -> list[Node]:
        """The schemas of objects."""
        return [node for node in self.nodes if is_object(node.schema)]


def schema_of(root: Any, rules: SchemaRules) -> Schema:
    """Return the parameters of a tool, prepared for the checks."""
    return Schema(root, rules, list(nodes(root)), Resolver(root))


def _root_object(schema: Schema) -> Found:
    kind = schema.root.get("type") if isinstance(schema.root, dict) else schema.root
    if kind != "object":
        yield "", f"type must be object, got {kind!r}"


def _root_properties(schema: Schema) -> Found:
    if is_object(schema.root) and not isinstance(schema.root.get("properties"), dict):
        yield "", "properties is missing"


def _root_members(schema: Schema) -> Found:
    for keyword, kind in (("properties", dict), ("required", list)):
        value = schema.root.get(keyword) if isinstance(schema.root, dict) else None
        if value is not None and not isinstance(value, kind):
            yield f"/{keyword}", f"{keyword} must be of type {kind.__name__}, got {type(value).__name__}"


def _typed(schema: Schema) -> Found:
    for node in schema.nodes:
        if isinstance(node.schema, dict) and not any(keyword in node.schema for keyword in _TYPING):
            yield node.pointer, "no type"


def _single_type(schema: Schema) -> Found:
    for node in schema.nodes:
        if isinstance(node.schema, dict) and isinstance(node.schema.get("type"), list):
            yield f"{node.pointer}/type", f"several types: {', '.join(map(str, node.schema['type']))}"


def _closed(schema: Schema) -> Found:
    for node in schema.objects:
        if "additionalProperties" not in node.schema:
            yield node.pointer, "additionalProperties is missing"


def _all_required(schema: Schema) -> Found:
    for node in schema.objects:
        if missing := properties_of(node.schema).keys() - set(required_of(node.schema)):
            yield node.pointer, f"not required: {', '.join(sorted(map(str, missing)))}"


def _some_required(schema: Schema) -> Found:
    for node in schema.objects:
        if properties_of(node.schema) and not required_of(node.schema):
            yield node.pointer, "no property is required"


def _required_defined(schema: Schema) -> Found:
    for node in schema.nodes:
        declared = properties_of(node.schema)
        for number, name in enumerate(required_of(node.schema)):
            if name not in declared:
                yield f"{node.pointer}/required/{number}", f"{name} is not declared in properties"


def _items(schema: Schema) -> Found:
    for node in schema.nodes:
        if "array" in types_of(node.schema) and "items" not in node.schema:
            yield node.pointer, "items is missing"


def _items_schema(schema: Schema) -> Found:
    for node in schema.nodes:
        if isinstance(node.schema, dict) and isinstance(node.schema.get("items"), list):
            yield f"{node.pointer}/items", "items is a list"


def _object_properties(schema: Schema) -> Found:
    for node in schema.objects:
        if node.pointer and not properties_of(node.schema):
            yield node.pointer, "an object without properties"


def _string_enum(schema: Schema) -> Found:
    for node in schema.nodes:
        values = node.schema.get("enum") if isinstance(node.schema, dict) else None
        if isinstance(values, list) and not (
            all(isinstance(v, str) for v in values) and types_of(node.schema) == ["string"]
        ):
            yield f"{node.pointer}/enum", "an enum of values that are not text"


def _enum_not_empty(schema: Schema) -> Found:
    for node in schema.nodes:
        values = node.schema.get("enum") if isinstance(node.schema, dict) else None
        for number, value in enumerate(values if isinstance(values, list) else ()):
            if value == "":
                yield f"{node.pointer}/enum/{number}", "an empty text"


def _matching_type(schema: Schema) -> Found:
    for node in schema.nodes:
        kinds = types_of(node.schema)
        for keyword in sorted(foreign_keywords(node.schema, kinds)) if kinds else ():
            yield f"{node.pointer}/{keyword}", f"{keyword} in a schema of type {', '.join(kinds)}"


def _acyclic(schema: Schema) -> Found:
    for pointer, reference in references(schema.root):
        if schema.resolver.is_recursive(reference):
            yield f"{pointer}/$ref", f"{reference} is recursive"


def _resolvable(schema: Schema) -> Found:
    for pointer, reference in references(schema.root):
        if schema.resolver.target(reference) is None:
            yield f"{pointer}/$ref", f"{reference} leads nowhere in this schema"


def _no_boolean(schema: Schema) -> Found:
    for node in schema.nodes:
        for name, inner in properties_of(node.schema).items():
            if isinstance(inner, bool):
                yield f"{node.pointer}/properties/{name}", f"the schema of {name} is {str(inner).lower()}"


def _variants(schema: Schema) -> Found:
    for node in schema.nodes:
        for keyword in ("enum", *COMPOSITION):
            if isinstance(node.schema, dict) and node.schema.get(keyword) == []:
                yield f"{node.pointer}/{keyword}", f"{keyword} is empty"


def _ref_alone(schema: Schema) -> Found:
    by_pointer = {node.pointer: node.schema for node in schema.nodes}
    for pointer, reference in references(schema.root):
        if more := by_pointer[pointer].keys() - _BESIDE_REF:
            yield pointer, f"{reference} with {', '.join(sorted(more))}"


def _property_names(schema: Schema) -> Found:
    fits = re.compile(schema.rules.property_names).fullmatch
    for node in schema.nodes:
        for name in properties_of(node.schema):
            if not (isinstance(name, str) and fits(name)):
                yield node.pointer, f"the property {name!r} does not match {schema.rules.property_names}"


#: Key of `rules.model.SHAPES` -> its check. The shape ``closed-by-default`` refuses nothing: it changes a meaning.
CHECKS: dict[str, Callable[[Schema], Found]] = {
    "root-object": _root_object,
    "root-properties": _root_properties,
    "root-members": _root_members,
    "typed": _typed,
    "single-type": _single_type,
    "closed": _closed,
    "closed-by-default": lambda schema: iter(()),
    "all-required": _all_required,
    "some-required": _some_required,
    "required-defined": _required_defined,
    "items": _items,
    "items-schema": _items_schema,
    "object-properties": _object_properties,
    "string-enum": _string_enum,
    "enum-not-empty": _enum_not_empty,
    "matching-type": _matching_type,
    "acyclic": _acyclic,
    "resolvable": _resolvable,
    "no-boolean": _no_boolean,
    "variants": _variants,
    "ref-alone": _ref_alone,
    "property-names": _property_names,
}
