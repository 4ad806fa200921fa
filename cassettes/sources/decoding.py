"""Decoding of an exchange into a canonical response."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response, Wire

from .model import Exchange


def response_of(exchange: Exchange, wire: Wire) -> Response:
    """Decode the response of an exchange. Raises whatever `normalize` and `StreamDecoder` raise."""
    request = exchange.request
    # Pass only a request that declares tools: with any other, every call would look undeclared.
    declares = request if isinstance(request, dict) and (request.get("tools") or request.get("functions")) else None
    told: dict[str, Any] = {"provider": exchange.provider, "request": declares, "status": exchange.status}
    if exchange.frames is not None:
        if not exchange.stream and len(exchange.frames) == 1:
            return normalize(exchange.frames[0], wire, **told)
        # a body beside messages is the status of a failed call
        return _stream([*exchange.frames, *([] if exchange.body is None else [exchange.body])], wire, told)
    body = exchange.body or b""
    # A streaming request that fails gets a plain error body.
    if exchange.stream and not (exchange.status is not None and exchange.status >= 400 and body[:1] == b"{"):
        return _stream([body], wire, told)
    return normalize(body, wire, **told)


def _stream(parts: list[bytes], wire: Wire, told: dict[str, Any]) -> Response:
    decoder = StreamDecoder(wire, **told)
    for part in parts:
        decoder.feed(part)
    return decoder.finish()
