"""Checked access to members of interactions in other projects' formats."""

from __future__ import annotations

from typing import Any

from ..errors import UnreadableSource


def mapping(item: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the member, which must be a mapping. Raises UnreadableSource."""
    value = item.get(key)
    if not isinstance(value, dict):
        raise UnreadableSource(f"no recorded interaction: {key!r} is {'missing' if value is None else 'no mapping'}")
    return value


def optional_mapping(item: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the member if it is a mapping, else an empty one."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def status_of(response: dict[str, Any]) -> int | None:
    """Return the HTTP status from a number, a mapping with ``code``, or text like "200 OK"; else None."""
    status = response.get("status", response.get("status_code", response.get("code")))
    if isinstance(status, dict):
        status = status.get("code", status.get("status_code"))
    if isinstance(status, str):
        status = status.strip().partition(" ")[0]
    try:
        return int(status)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def method_of(request: dict[str, Any]) -> str | None:
    """Return the HTTP method in capitals, or None if the recorder kept none."""
    method = request.get("method")
    return method.upper() if isinstance(method, str) and method else None


def address_of(request: dict[str, Any]) -> str:
    """Return the address under ``uri`` or ``url``, with a separately kept query, or "" if there is none."""
    address = request.get("uri") or request.get("url") or ""
    query = request.get("query_string")
    return f"{address}?{query}" if address and query else str(address)
