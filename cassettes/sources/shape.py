"""Members of what somebody else wrote down: there and of the right type, or said so."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.errors import UnreadableSource


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
    """The HTTP status: a number, a mapping with ``code``, or a text like "200 OK"; None where it is none of these."""
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
    """The HTTP method in capitals; None where the recorder kept none."""
    method = request.get("method")
    return method.upper() if isinstance(method, str) and method else None


def address_of(request: dict[str, Any]) -> str:
    """The address under ``uri`` or ``url``, with the query that some recorders keep beside it; "" where it is none."""
    address = request.get("uri") or request.get("url") or ""
    query = request.get("query_string")
    return f"{address}?{query}" if address and query else str(address)
