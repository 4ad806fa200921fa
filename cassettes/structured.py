"""Request bodies that are not encoded: vcrpy keeps what aiohttp's arguments ``json`` and ``data`` hold.

    client.post(url, json={"a": [1]})        # the body is {"a": [1]}
    client.post(url, data=[("a", "b")])      # the body is [("a", "b")]

`plain` gives the JSON in which such a body can be searched, and `restored` the body for a changed JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The members that some recorders write instead of a body.
_SPELLINGS = frozenset(("string", "base64_string"))


def is_structured(body: Any) -> bool:
    """Return whether a request's body is a mapping, or a list of anything but chunks of bytes or text."""
    if isinstance(body, Mapping):
        return not (body.keys() & _SPELLINGS)
    return isinstance(body, list | tuple) and not all(isinstance(item, str | bytes | int) for item in body)


def plain(value: Any) -> Any:
    """Return a body as JSON values. A pair, as in a form, becomes an object, so that its name stays a name."""
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items()}
    if _is_pair(value):
        return {str(value[0]): plain(value[1])}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def restored(value: Any, original: Any) -> Any:
    """Return a body of the same types as ``original`` for its JSON, of which only texts changed."""
    if isinstance(original, Mapping):
        members = zip(original, original.values(), value.values(), strict=True)
        return {name: restored(new, old) for name, old, new in members}
    if _is_pair(original):
        return (original[0], restored(next(iter(value.values())), original[1]))
    if isinstance(original, list | tuple):
        return type(original)(restored(new, old) for new, old in zip(value, original, strict=True))
    if isinstance(original, bytes):
        return value.encode("latin-1")
    return value if isinstance(original, str) or value != plain(original) else original


def without_tuples(body: Any) -> Any:
    """Return a body with lists for its pairs, as YAML gives them back."""
    if isinstance(body, list | tuple):
        return [without_tuples(item) for item in body]
    return {name: without_tuples(item) for name, item in body.items()} if isinstance(body, Mapping) else body


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
