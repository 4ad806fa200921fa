"""Operators that change one member in every object of its owner. Each returns whether it changed anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .fields import Field

Objects = Sequence[dict[str, Any]]
Operator = Callable[[Field, Objects], bool]


def drop(field: Field, objects: Objects) -> bool:
    """Set the member to None or to an empty value."""
    return _assign(field, objects, lambda value: field.empty)


def alter(field: Field, objects: Objects) -> bool:
    """Replace a value by another one of its type."""
    return _assign(field, objects, lambda value: value if value in (None, "", [], {}) else other(field, value))


def invent(field: Field, objects: Objects) -> bool:
    """Give the member a value where the wire has none."""
    return _assign(field, objects, lambda value: _invented(field) if value in (None, "", [], {}) else value)


def zero(field: Field, objects: Objects) -> bool:
    """Write 0 where the wire has no number."""
    return _assign(field, objects, lambda value: 0 if value is None else value)


def swap(field: Field, objects: Objects) -> bool:
    """Exchange the values of the first two neighbours that differ."""
    for one, two in pairwise(objects):
        if one[field.name] != two[field.name]:
            one[field.name], two[field.name] = two[field.name], one[field.name]
            return True
    return False


def move(field: Field, objects: Objects) -> bool:
    """Move each value to the next object; the first one is left without a value."""
    values = [each[field.name] for each in objects]
    moved = [field.empty, *values[:-1]]
    if len(objects) < 2 or moved == values:
        return False
    for each, value in zip(objects, moved, strict=True):
        each[field.name] = value
    return True


def confuse(field: Field, objects: Objects) -> bool:
    """Exchange the member with the next one of the same type in the same object."""
    changed = False
    for each in objects:
        if field.neighbour and each[field.name] != each[field.neighbour]:
            each[field.name], each[field.neighbour] = each[field.neighbour], each[field.name]
            changed = True
    return changed


def duplicate(field: Field, objects: Objects) -> bool:
    """Repeat the last element of a list, or a whole text."""
    return _assign(field, objects, lambda value: value and ([*value, value[-1]] if field.kind is list else value * 2))


def reverse(field: Field, objects: Objects) -> bool:
    """Reverse a list."""
    return _assign(field, objects, lambda value: value and value[::-1])


def cut(field: Field, objects: Objects) -> bool:
    """Lose the last element of a list, the last character of a text, or the last member of an object."""
    return _assign(field, objects, lambda value: value and _shorter(value))


def _shorter(value: Any) -> Any:
    return value[:-1] if isinstance(value, (str, list)) else dict(list(value.items())[:-1])


def _assign(field: Field, objects: Objects, new: Callable[[Any], Any]) -> bool:
    changed = False
    for each in objects:
        value = new(each[field.name])
        if value != each[field.name] or type(value) is not type(each[field.name]):
            each[field.name] = value
            changed = True
    return changed


def other_scalar(value: Any) -> Any:
    """Return another boolean, number or text; a list, an object or None as it is."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return "x" + value[1:] if value[:1] != "x" else "y" + value[1:]
    return value


def other(field: Field, value: Any) -> Any:
    """Return another value of the same type."""
    if field.values:
        return next(word for word in field.values if word != value)
    if isinstance(value, (bool, int, float, str)):
        return other_scalar(value)
    if isinstance(value, list):
        return [*value[:-1], other(field._replace(values=()), value[-1])]
    key = next(iter(value))
    return {**value, key: "x" if value[key] != "x" else "y"}


def _invented(field: Field) -> Any:
    if field.values:
        return field.values[0]
    return {str: "invented", int: 7, bool: True, list: ["invented"], dict: {"invented": "x"}}[field.kind]


_TEXTS = (str, list)
#: Name -> operator, and the kinds of members that it suits.
OPERATORS: dict[str, tuple[Operator, tuple[type, ...]]] = {
    "drop": (drop, (str, int, bool, list, dict)),
    "alter": (alter, (str, int, bool, list, dict)),
    "invent": (invent, (str, int, list, dict)),
    "zero": (zero, (int,)),
    "swap": (swap, (str, int, bool, list, dict)),
    "confuse": (confuse, (str, int, bool, list, dict)),
    "move": (move, (str, int, bool, list, dict)),
    "duplicate": (duplicate, _TEXTS),
    "reverse": (reverse, (list,)),
    "cut": (cut, (str, list, dict)),
}
