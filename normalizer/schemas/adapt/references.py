"""References of a schema in one form: every reference names an entry of ``$defs``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..keywords import LISTS, MAPS, SINGLE, escaped, nodes
from ..references import Resolver, references
from .canonical import canonical

_PREFIX = "#/$defs/"
#: Keywords whose value is one schema for the same value.
_CONDITIONS = ("not", "if", "then", "else")


def definition_of(reference: str) -> str:
    """Return the name of the definition that a reference names."""
    return reference.removeprefix(_PREFIX).replace("~1", "/").replace("~0", "~")


def with_definitions(schema: dict[str, Any], unresolved: Callable[[str, str], None]) -> dict[str, Any]:
    """Return a canonical schema whose references all name entries of its ``$defs``.

    Targets elsewhere become entries. A reference that leads nowhere, or to a definition that consists of itself, is
    left out, after ``unresolved(pointer, reference)``.
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
    written = _without_loops(_renamed({**schema, "$defs": definitions}, names), unresolved)
    found: dict[str, Any] = {key: value for key, value in written.items() if key != "$defs" or value}
    return found


def _without_loops(schema: dict[str, Any], unresolved: Callable[[str, str], None]) -> dict[str, Any]:
    """Return a schema without references to a definition that describes a value by itself, such as ``allOf`` of itself.

    A definition may refer to itself only for members and items, which are smaller than the value.
    """
    definitions = schema["$defs"]
    direct = {name: set(_in_place(definition)) for name, definition in definitions.items()}
    reached: dict[str, set[str]] = {}
    for name in definitions:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            inner = direct.get(waiting.pop(), set()) - found
            found |= inner
            waiting += inner
        reached[name] = found
    written = {}
    for name, definition in definitions.items():
        loops = {other for other in direct[name] if name == other or name in reached.get(other, ())}
        for other in sorted(loops):
            unresolved(f"/$defs/{escaped(name)}", _PREFIX + escaped(other))
        written[name] = _cut(definition, loops) if loops else definition
    return {**schema, "$defs": written}


def _in_place(schema: Any) -> Iterator[str]:
    """Yield the definitions that describe the same value as a schema."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield definition_of(schema["$ref"])
    for keyword in (*LISTS, *_CONDITIONS):
        if keyword != "prefixItems":
            inner = schema.get(keyword)
            for part in inner if isinstance(inner, list) else [inner]:
                yield from _in_place(part)
    for part in (schema.get("dependentSchemas") or {}).values():
        yield from _in_place(part)


def _cut(schema: Any, loops: set[str]) -> Any:
    """Return a schema without references to these definitions, where these describe the same value."""
    if not isinstance(schema, dict):
        return schema
    copied: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "$ref" and definition_of(value) in loops:
            continue
        if keyword in LISTS and keyword != "prefixItems":
            copied[keyword] = [_cut(inner, loops) for inner in value]
        elif keyword == "dependentSchemas":
            copied[keyword] = {name: _cut(inner, loops) for name, inner in value.items()}
        else:
            copied[keyword] = _cut(value, loops) if keyword in _CONDITIONS else value
    return copied


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
