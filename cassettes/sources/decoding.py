"""Decoding of an exchange into a canonical response."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response, Wire

from .model import Exchange


def response_of(exchange: Exchange, wire: Wire, provider: str | None = None) -> Response:
    """Decode the response of an exchange. Raises whatever `normalize` and `StreamDecoder` raise.

    ``provider``: by default that of the exchange.
    """
    request = exchange.request
    # Pass only a request that declares tools: with any other, every call would look undeclared.
    declares = request if isinstance(request, dict) and (request.get("tools") or request.get("functions")) else None
    options: dict[str, Any] = {
        "provider": provider or exchange.provider,
        "request": declares,
        "status": exchange.status,
    }
    # A body beside frames is the status of a failed call.
    parts = [*(exchange.frames or ()), *([exchange.body] if exchange.body is not None else [])] or [b""]
    failed = exchange.status is not None and exchange.status >= 400
    # A streaming request that fails at once gets a plain error body.
    plain_error = failed and exchange.frames is None and parts[0][:1] == b"{"
    if len(parts) == 1 and (plain_error or not exchange.stream):
        return normalize(parts[0], wire, **options)
    decoder = StreamDecoder(wire, **options)
    for part in parts:
        decoder.feed(part)
    return decoder.finish()
