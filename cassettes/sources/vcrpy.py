"""vcrpy cassettes: ``interactions`` of ``request`` (method, uri, body, headers) and ``response``.

The response's body is a mapping with ``string`` (text or binary) or ``base64_string``, or text itself.
"""

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
    return http.exchange(
        source,
        line,
        url=str(request.get("uri") or ""),
        request=spelled(request.get("body")),
        status=status_of(response),
        headers=http.headers_of(optional_mapping(response, "headers").items()),
        body=spelled(response.get("body", response.get("content"))),
    )
