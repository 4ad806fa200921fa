"""HAR files: ``log.entries`` of ``request`` and ``response``, headers as pairs, bodies as ``content.text``."""

from __future__ import annotations

from typing import Any

from ..errors import UnreadableSource
from . import http
from .bodies import from_base64, spelled
from .http import address_of, mapping, method_of, optional_mapping, status_of
from .model import Exchange


def exchange(source: str, line: int | None, item: dict[str, Any]) -> Exchange:
    """Read one entry. Raises UnreadableSource if it has another shape or keeps no response body."""
    request = mapping(item, "request")
    response = mapping(item, "response")
    content = optional_mapping(response, "content")
    text = content.get("text")
    if text is None:
        raise UnreadableSource("the entry has no response body", hint="export the HAR with content")
    body = from_base64(text) if content.get("encoding") == "base64" else spelled(text)
    headers = _headers(response)
    if content.get("mimeType"):
        headers.setdefault("content-type", str(content["mimeType"]))
    started = item.get("startedDateTime")
    return http.exchange(
        source,
        line,
        method=method_of(request),
        url=address_of(request),
        request_headers=_headers(request),
        request=spelled(optional_mapping(request, "postData").get("text")),
        status=status_of(response),
        headers=headers,
        body=body,
        provenance=None if started is None else {"recorded_at": str(started)},
    )


def _headers(half: dict[str, Any]) -> dict[str, str]:
    listed = half.get("headers")
    pairs = [h for h in listed if isinstance(h, dict)] if isinstance(listed, list) else []
    return http.headers_of((h.get("name"), h.get("value")) for h in pairs)
