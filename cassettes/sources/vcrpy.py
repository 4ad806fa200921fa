"""vcrpy cassettes: ``interactions`` of ``request`` (method, uri, body, headers) and ``response``.

Custom vcrpy serializers use other notations: see `recorders`. A response with ``grpc`` belongs to a call that
`cassettes.vcr_grpc` wrote: its body is JSON text with the messages. Only their bytes are read here; replay checks that
the readable form agrees with them.
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec

from .. import emulation_marker
from ..errors import UnreadableSource
from . import http, recorders
from .bodies import from_base64, spelled
from .endpoints import classify
from .http import mapping, method_of
from .model import Exchange

#: gRPC status -> equivalent HTTP status (google/rpc/code.proto); all others map to 500.
HTTP_STATUS = {
    "OK": 200,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_XAI = "/xai_api."


def exchange(source: str, line: int | None, item: dict[str, Any]) -> Exchange:
    """Read one interaction. Raises UnreadableSource if it has another shape."""
    response = mapping(item, "response")
    if isinstance(response.get("grpc"), dict):
        return _call(source, line, mapping(item, "request"), response)
    return recorders.exchange(source, line, item)


def _call(source: str, line: int | None, request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    address = str(request.get("uri") or "")
    address_parts = classify(address)
    status = mapping(response, "grpc")
    call = http.parsed(spelled(request.get("body")))
    message, packed = (call.get("message"), call.get("serialized")) if isinstance(call, dict) else (None, None)
    model = message.get("model") if isinstance(message, dict) else None
    frames = _frames(spelled(response.get("body")) or b"")
    code = status.get("code")  # None if the client left the stream
    failed = code not in ("OK", None)
    return Exchange(
        source=source,
        line=line,
        provider="xai" if _XAI in address_parts.url else address_parts.provider,
        wire=address_parts.wire or "grpc",
        stream=status.get("stream") is True,
        status=None if code is None else HTTP_STATUS.get(str(code), 500),
        content_type="application/grpc+proto",
        model=model if isinstance(model, str) else None,
        url=address_parts.url,
        address=address,
        method=method_of(request),
        request=message,
        sent=None if packed is None else from_base64(packed),
        origin=emulation_marker.proof(response),
        body=json_codec.encode({"code": code, "details": status.get("details")}) if failed else None,
        frames=None if failed and not frames else frames,
    )


def _frames(body: bytes) -> list[bytes]:
    value = http.parsed(body)
    entries = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not all(isinstance(e, dict) and "serialized" in e for e in entries):
        raise UnreadableSource("the call has no serialized messages", hint="messages: [{serialized: <base64>}, …]")
    return [from_base64(entry["serialized"]) for entry in entries]
