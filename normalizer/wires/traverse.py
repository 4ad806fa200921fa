"""Traversal of unvalidated request bodies: values of an unexpected type are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def member(holder: Any, name: str) -> Any:
    """Return a member of an object, or None if it is absent or ``holder`` is not an object."""
    return holder.get(name) if isinstance(holder, dict) else None


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
