"""Spans as single JSON objects: OpenTelemetry's console exporter, and exports of Phoenix.

    {"name": …, "context": {"trace_id", "span_id"}, "attributes": {…}, "events": […]}

Attributes may be flat (``llm.model_name``) or nested (``llm: {model_name}``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableSource
from ..entries import mapping, mappings, word
from ..model import Exchange
from . import spans


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a span."""
    named = isinstance(item.get("context"), dict) or "span_id" in item or "context.span_id" in item
    return named and ("attributes" in item or any(key.startswith("attributes.") for key in item))


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange of a span of a model; other spans hold none. Raises UnreadableSource if it is not a span."""
    if not claims(item):
        raise UnreadableSource("not a span: it has no identifier or no attributes")
    attributes = item.get("attributes")
    flat = {} if attributes is None else dict(_flat(mapping(attributes, "attributes")))
    for key, value in item.items():
        if key.startswith("attributes."):
            flat[key.removeprefix("attributes.")] = value
    if spans.is_model_span(flat):
        events = mappings(item.get("events"), "events")
        named = [
            (word(event.get("name", ""), "the name of an event"), mapping(event.get("attributes") or {}, "attributes"))
            for event in events
        ]
        status = item.get("status")
        failed = isinstance(status, dict) and status.get("status_code", status.get("code")) in ("ERROR", 2)
        yield from spans.exchange(source, line, flat, named, failed=failed)


def _flat(value: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, member in value.items():
        if isinstance(member, dict) and member:
            yield from _flat(member, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", member
