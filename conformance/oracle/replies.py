"""Independent readings of what the next request must repeat of a response.

The reading of a wire is the function ``reply`` of its oracle of responses. The laws do not compare the history of a
wire without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..subjects import SubjectExchange
from . import facts, json_values
from .responses import Irregular, leaves, oracle_of


def _reading(wire: str) -> Callable[[SubjectExchange], list[Any]] | None:
    return getattr(oracle_of(wire), "reply", None)


def has_reading(wire: str) -> bool:
    """Return whether the history in requests for a wire can be read."""
    return _reading(wire) is not None


def reply(exchange: SubjectExchange) -> list[Any]:
    """Return what the model said, as it must go back to its wire. Raises Irregular if that is not unique."""
    items, member = _items(exchange), facts(exchange.wire).call_id
    ids = [value for name, value in leaves(_without_repeated_ids(items)) if name == member]
    if '""' in ids or len(ids) != len(set(ids)):
        raise Irregular("two calls with one id, or a call without an id")
    return items


def _items(exchange: SubjectExchange) -> list[Any]:
    read = _reading(exchange.wire)
    if read is None or exchange.status >= 400:
        raise Irregular("the response has no history")
    return read(exchange)


def begins_with_thinking(exchange: SubjectExchange) -> bool:
    """Return whether a response begins with thinking of `anthropic.messages` that can go back."""
    try:
        items = _items(exchange)
    except Irregular:
        return False
    return bool(items) and items[0].get("type") in ("thinking", "redacted_thinking")


def container_of(exchange: SubjectExchange) -> str | None:
    """Return the id of the container in which the provider of `anthropic.messages` ran code for a response, or None."""
    found = None
    for value in json_values(exchange) if b'"container"' in exchange.body and exchange.status < 400 else ():
        for holder in (value, value.get("message"), value.get("delta")):
            container = holder.get("container") if isinstance(holder, dict) else None
            found = container.get("id") if isinstance(container, dict) else found
    return found


def _without_repeated_ids(items: list[Any]) -> list[Any]:
    """Return the items without the results of Bedrock's own tools, which repeat the ids of their calls, and without
    Cohere's citations, which repeat those of their sources.
    """
    items = [{name: member for name, member in item.items() if name != "citations"} for item in items]
    return [
        {**item, "content": [part for part in item["content"] if "toolResult" not in part]}
        if isinstance(item.get("content"), list)
        else item
        for item in items
    ]
