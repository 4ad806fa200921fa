"""References of a schema in one form: every reference names an entry of ``$defs``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..keywords import LISTS, MAPS, SINGLE, escaped, nodes
from ..references import Resolver, references
from .canonical import canonical

_PREFIX = "#/$defs/"


def definition_of(reference: str) -> str:
    """Return the name of the definition that a reference names."""
    return reference.removeprefix(_PREFIX).replace("~1", "/").replace("~0", "~")


def with_definitions(schema: dict[str, Any], unresolved: Callable[[str, str], None]) -> dict[str, Any]:
    """Return a canonical schema whose references all name entries of its ``$defs``.

    Targets elsewhere become entries. A reference that leads nowhere is left out, after ``unresolved(pointer,
    reference)``.
    """
    resolver = Resolver(schema)
    definitions: dict[str, Any] = dict(schema.get("$defs", {}))
    names: dict[str, str] = {}
    waiting = [schema, *definitions.values()]
    while waiting:
        for pointer, reference in references(waiting.pop()):
            if reference in names or (reference.startswith(_PREFIX) and definition_of(reference) in definitions):
                continue
            target = resolver.target(reference)
            if target is None:
                unresolved(pointer, reference)
                continue
            names[reference] = name = _free_name(reference, definitions)
            target = canonical(target)
            definitions[name] = {key: value for key, value in target.items() if key != "$defs"}
            waiting.append(definitions[name])
    written = _renamed({**schema, "$defs": definitions}, names)
    found: dict[str, Any] = {key: value for key, value in written.items() if key != "$defs" or value}
    return found


def definitions_in(schema: Any) -> bool:
    """Return whether a schema contains a reference."""
    return any(isinstance(node.schema, dict) and "$ref" in node.schema for node in nodes(schema))


def _free_name(reference: str, taken: dict[str, Any]) -> str:
    base = definition_of(reference).rsplit("/", 1)[-1].lstrip("#") or "root"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def _renamed(schema: Any, names: dict[str, str]) -> Any:
    """Return a copy with other references, and without those that lead nowhere. Values such as constants stay."""
    if not isinstance(schema, dict):
        return schema
    copied: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "$ref":
            if value in names:
                copied["$ref"] = _PREFIX + escaped(names[value])
            elif value.startswith(_PREFIX):
                copied["$ref"] = value
        elif keyword in MAPS:
            copied[keyword] = {name: _renamed(inner, names) for name, inner in value.items()}
        elif keyword in LISTS:
            copied[keyword] = [_renamed(inner, names) for inner in value]
        else:
            copied[keyword] = _renamed(value, names) if keyword in SINGLE else value
    return copied
