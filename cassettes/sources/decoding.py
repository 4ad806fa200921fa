"""Decoding of an exchange into a canonical response."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response, Wire
from toolparity.normalizer.wires.declared_tools import declared_by
from toolparity.normalizer.wires.registry import spec

from .model import Exchange


def response_of(exchange: Exchange, wire: Wire, provider: str | None = None) -> Response:
    """Decode the response of an exchange. Raises whatever `normalize` and `StreamDecoder` raise.

    ``provider``: by default that of the exchange.
    """
    options: dict[str, Any] = {
        "provider": provider or exchange.provider,
        "request": _declaring(exchange.request, wire),
        "status": exchange.status,
    }
    # A body beside frames is the status of a failed call.
    parts = [*(exchange.frames or ()), *([exchange.body] if exchange.body is not None else [])] or [b""]
    failed = exchange.status is not None and exchange.status >= 400
    # A streaming request that fails at once gets a plain error body.
    plain_error = failed and exchange.frames is None and parts[0][:1] == b"{"
    if len(parts) == 1 and (plain_error or not exchange.stream):
        return normalize(parts[0], wire, **options)
    decoder = StreamDecoder(wire, events=False, **options)
    for part in parts:
        decoder.feed(part)
    return decoder.finish()


def _declaring(request: Any, wire: Wire) -> Any:
    """Return a request that declares tools, else None, because then every call would look undeclared."""
    if not isinstance(request, dict):
        return None
    if request.get("tools") or request.get("functions"):
        return request
    declared = declared_by(request, spec(wire))
    return declared if declared.names else None
