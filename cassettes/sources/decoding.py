"""An exchange as a canonical response."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response

from .model import Exchange


def response_of(exchange: Exchange, wire: str) -> Response:
    """Decode the answer of an exchange. Raises what `normalize` and `StreamDecoder` raise."""
    request = exchange.request
    # Only a request with tools declares any: from another one every call would look undeclared.
    declares = request if isinstance(request, dict) and (request.get("tools") or request.get("functions")) else None
    told: dict[str, Any] = {"provider": exchange.provider, "request": declares, "status": exchange.status}
    if exchange.frames is not None:
        if not exchange.stream and len(exchange.frames) == 1:
            return normalize(exchange.frames[0], wire, **told)
        # what stands beside messages is the status of a call that broke off
        return _stream([*exchange.frames, *([] if exchange.body is None else [exchange.body])], wire, told)
    body = exchange.body or b""
    # An error answers a request to stream with a plain body.
    if exchange.stream and not (exchange.status is not None and exchange.status >= 400 and body[:1] == b"{"):
        return _stream([body], wire, told)
    return normalize(body, wire, **told)


def _stream(parts: list[bytes], wire: str, told: dict[str, Any]) -> Response:
    decoder = StreamDecoder(wire, **told)
    for part in parts:
        decoder.feed(part)
    return decoder.finish()
