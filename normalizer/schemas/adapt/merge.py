"""Intersection of schemas, and whether two schemas exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..keywords import ANNOTATIONS, properties_of, required_of, types_of
from .validation import same

_LARGEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_SMALLEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_OF_OBJECTS = ("properties", "required", "additionalProperties")
#: Keywords of which one changes the meaning of the others, so that two schemas with different ones do not merge.
_DEPENDENT = (("prefixItems", "items"), ("contains", "minContains", "maxContains"), ("if", "then", "else"))


class CannotMerge(Exception):
    """No single schema without allOf describes the intersection."""


class NothingFits(CannotMerge):
    """No value fits both schemas."""


def intersection(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that accepts what both schemas accept. Raises CannotMerge."""
    if not one or not other:
        return dict(one or other)
    merged = {**other, **one}
    for keyword in one.keys() & other.keys() - ANNOTATIONS:
        if keyword in _OF_OBJECTS or same(one[keyword], other[keyword]):
            continue
        merge = _MERGES.get(keyword)
        if merge is None:
            raise CannotMerge(keyword)
        merged[keyword] = merge(one[keyword], other[keyword])
    for special in ("patternProperties", "unevaluatedProperties", "unevaluatedItems"):
        if special in merged:
            raise CannotMerge(special)
    for group in _DEPENDENT:
        ones, others = ({keyword: schema[keyword] for keyword in group if keyword in schema} for schema in (one, other))
        if group[0] in merged and ones and others and not same(ones, others):
            raise CannotMerge(group[0])
    if not set(_OF_OBJECTS) & merged.keys():
        return merged
    others = {keyword: value for keyword, value in merged.items() if keyword not in _OF_OBJECTS}
    return others | _objects(one, other)


def intersection_of(schemas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a schema that accepts what all of them accept. Raises CannotMerge.

    Halves are merged first, because a merged schema grows with the number of its parts.
    """
    if len(schemas) == 1:
        return schemas[0]
    half = len(schemas) // 2
    return intersection(intersection_of(schemas[:half]), intersection_of(schemas[half:]))


def _objects(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name in dict.fromkeys((*properties_of(one), *properties_of(other))):
        inner = [_declared(schema, name) for schema in (one, other)]
        if False in inner:
            continue  # one of the schemas excludes the property
        properties[name] = intersection(*(schema for schema in inner if isinstance(schema, dict)))
    required = list(dict.fromkeys((*required_of(one), *required_of(other))))
    rest = _rest(one.get("additionalProperties", True), other.get("additionalProperties", True))
    if rest is False and any(name not in properties for name in required):
        raise NothingFits("required")
    merged: dict[str, Any] = {"properties": properties} if "properties" in one or "properties" in other else {}
    if required:
        merged["required"] = required
    if "additionalProperties" in one or "additionalProperties" in other:
        merged["additionalProperties"] = rest
    return merged


def _declared(schema: dict[str, Any], name: str) -> Any:
    """Return the schema of a property: False if it is excluded."""
    found = properties_of(schema).get(name, schema.get("additionalProperties", True))
    return {} if found is True else found


def _rest(one: Any, other: Any) -> Any:
    if one is False or other is False:
        return False
    if one is True or other is True:
        return other if one is True else one
    return intersection(one, other)


def _types(one: Any, other: Any) -> Any:
    ones, others = ([kind] if isinstance(kind, str) else kind for kind in (one, other))
    both = [kind for kind in ones if kind in others or (kind == "integer" and "number" in others)]
    both += [kind for kind in others if kind == "integer" and "number" in ones and kind not in both]
    if not both:
        raise NothingFits("type")
    return both[0] if len(both) == 1 else both


def _enums(one: list[Any], other: list[Any]) -> list[Any]:
    both = [value for value in one if any(same(value, known) for known in other)]
    if not both:
        raise NothingFits("enum")
    return both


_MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "enum": _enums,
    "items": _rest,
    **dict.fromkeys(_LARGEST, max),
    **dict.fromkeys(_SMALLEST, min),
}


def exclusive(one: Any, other: Any) -> bool:
    """Return whether no value fits both schemas, as far as types, constants and required properties show."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    kinds = [{"number" if kind == "integer" else kind for kind in types_of(schema)} for schema in (one, other)]
    if all(kinds) and not kinds[0] & kinds[1]:
        return True
    values = [_values(schema) for schema in (one, other)]
    if values[0] is not None and values[1] is not None:
        return not any(same(value, known) for value in values[0] for known in values[1])
    if not (kinds[0] == kinds[1] == {"object"}):
        return False
    for first, second in ((one, other), (other, one)):
        if first.get("additionalProperties") is False and set(required_of(second)) - properties_of(first).keys():
            return True
    shared = set(required_of(one)) & set(required_of(other)) & properties_of(one).keys() & properties_of(other).keys()
    return any(exclusive(properties_of(one)[name], properties_of(other)[name]) for name in shared)


def _values(schema: dict[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else None
