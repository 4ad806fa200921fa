"""Members of what somebody else wrote down: there and of the right type, or said so."""

from __future__ import annotations

from typing import Any

from normalizer.errors import UnreadableSource


def mapping(item: dict[str, Any], key: str) -> dict[str, Any]:
    """The member, which must be a mapping. Raises UnreadableSource."""
    value = item.get(key)
    if not isinstance(value, dict):
        raise UnreadableSource(f"no recorded interaction: {key!r} is {'missing' if value is None else 'no mapping'}")
    return value


def optional_mapping(item: dict[str, Any], key: str) -> dict[str, Any]:
    """The member where it is a mapping, else an empty one."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def status_of(response: dict[str, Any]) -> int | None:
    """The HTTP status: a number, or a mapping with ``code``; null where it is neither."""
    status = response.get("status", response.get("status_code"))
    if isinstance(status, dict):
        status = status.get("code")
    try:
        return int(status)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
