"""Traversal of unvalidated request bodies: values of an unexpected type are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import json_codec
from ..errors import MalformedBody


def request_object(body: Any, wire: str, *lists: str) -> dict[str, Any]:
    """Return a request body (parsed JSON, bytes or text) as an object.

    ``lists``: members that must be lists. Raises MalformedBody if the body is not such an object.
    """
    value = body
    if isinstance(body, (bytes, bytearray, memoryview, str)):
        try:
            value = json_codec.decode(body if isinstance(body, str) else bytes(body))
        except (ValueError, RecursionError) as error:
            raise MalformedBody(f"the request is not JSON: {error}", body=body) from None
    if not isinstance(value, dict):
        raise MalformedBody(f"a request of {wire} is a JSON object, got {type(value).__name__}", body=body)
    for name in lists:
        if not isinstance(value.get(name), list):
            raise MalformedBody(
                f"a request of {wire} has a list {name!r}, got {type(value.get(name)).__name__}", body=body
            )
    return value


def member(holder: Any, name: str) -> Any:
    """Return a member of an object, or None if it is absent or ``holder`` is not an object."""
    return holder.get(name) if isinstance(holder, dict) else None


def members_except(members: dict[str, Any], *known: str) -> dict[str, Any]:
    """Return the members that are not in ``known`` and not None."""
    return {key: value for key, value in members.items() if key not in known and value is not None}


def items(holder: Any, name: str) -> list[Any]:
    """Return the member ``name`` of an object, or an empty list if it is absent or not a list."""
    value = member(holder, name)
    return value if isinstance(value, list) else []


def objects(holder: Any, name: str, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and value of each object in the list ``name`` of ``holder``, which has the path ``path``."""
    prefix = f"{path}.{name}" if path else name
    for number, item in enumerate(items(holder, name)):
        if isinstance(item, dict):
            yield f"{prefix}[{number}]", item


def text(value: Any) -> str:
    """Return a string, or an empty string for anything else."""
    return value if isinstance(value, str) else ""
