"""Cassettes of VCR for Ruby: ``http_interactions``, bodies as ``{encoding, string}`` or ``{base64_string}``."""

from __future__ import annotations

from typing import Any

from . import http
from .bodies import spelled
from .model import Exchange
from .shape import mapping, optional_mapping, status_of


def exchange(source: str, line: int | None, item: dict[str, Any]) -> Exchange:
    """Raises UnreadableSource where the interaction is of another shape."""
    request = mapping(item, "request")
    response = mapping(item, "response")
    recorded_at = item.get("recorded_at")
    return http.exchange(
        source,
        line,
        url=str(request.get("uri") or ""),
        request=spelled(request.get("body")),
        status=status_of(response),
        headers=http.headers_of(optional_mapping(response, "headers").items()),
        body=spelled(response.get("body")),
        provenance=None if recorded_at is None else {"recorded_at": str(recorded_at)},
    )
