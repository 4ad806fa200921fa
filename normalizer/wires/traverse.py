"""Traversal of unvalidated request bodies: values of an unexpected type are skipped."""

from __future__ import annotations

from typing import Any


def items(holder: Any, member: str) -> list[Any]:
    """Return the member ``member`` of an object, or an empty list if it is absent or not a list."""
    value = holder.get(member) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []
