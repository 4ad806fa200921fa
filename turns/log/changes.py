"""The difference between two values as JSON pointers, and a value rebuilt from such differences.

    changes(before, after)          # {"/phase": "acting", "/rounds/0/calls/1/status": "started"}
    applied(document, changed)      # the document after the change

Consecutive states share their unchanged objects, so the cost of a comparison follows the size of the change. A list
that became shorter is stored whole. Pointers follow RFC 6901; the index after the last item appends.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, count
from operator import is_not
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

_SCALARS = (str, int, float, bool, type(None))


def changes(before: Any, after: Any) -> dict[str, Any]:
    """Return the pointers at which the two differ, each with the value in ``after``. Pointer "" is the whole value."""
    changed: dict[str, Any] = {}
    _compare(before, after, "", changed)
    return changed


def applied(document: Any, changed: Mapping[str, Any]) -> Any:
    """Apply ``changed`` to a document of plain values in place, and return the document.

    Raises LookupError for a pointer whose parent the document does not contain.
    """
    for pointer, value in changed.items():
        if not pointer:
            document = value
            continue
        *parents, last = (name.replace("~1", "/").replace("~0", "~") for name in pointer[1:].split("/"))
        inner = document
        for name in parents:
            inner = inner[int(name)] if isinstance(inner, list) else inner[name]
        if not isinstance(inner, list):
            inner[last] = value
        elif int(last) == len(inner):
            inner.append(value)
        else:
            inner[int(last)] = value
    return document


def inside(pointer: str, name: str | int) -> str:
    """Return the pointer of a member or an item below ``pointer``, escaped by RFC 6901."""
    return f"{pointer}/{name}" if isinstance(name, int) else f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def _compare(before: Any, after: Any, pointer: str, changed: dict[str, Any]) -> None:
    if before is after:
        return
    kind = type(after)
    if type(before) is not kind:
        changed[pointer] = after
    elif issubclass(kind, Struct):
        old, new = astuple(before), astuple(after)
        for number in compress(count(), map(is_not, old, new)):
            name = kind.__struct_encode_fields__[number]
            _compare(old[number], new[number], f"{pointer}/{name}", changed)  # no name of a field needs an escape
    elif kind is list and 0 < len(before) <= len(after):  # the document may omit an empty list
        for number, item in enumerate(after):
            if number < len(before) and before[number] is item:
                continue
            if number < len(before):
                _compare(before[number], item, inside(pointer, number), changed)
            else:
                changed[inside(pointer, number)] = item
    elif kind is dict and before and _continues(before, after):
        for name, value in after.items():
            if name in before:
                _compare(before[name], value, inside(pointer, name), changed)
            else:
                changed[inside(pointer, name)] = value
    elif kind not in _SCALARS or repr(before) != repr(after):
        changed[pointer] = after


def _continues(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    """Return whether ``after`` begins with the keys of ``before``, in the same order, and all its keys are strings."""
    names = list(after)
    return names[: len(before)] == list(before) and all(isinstance(name, str) for name in names)
