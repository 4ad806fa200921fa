"""vcrpy cassettes: ``interactions`` of ``request`` (method, uri, body, headers) and ``response``.

The response's body is a mapping with ``string`` (text or binary) or ``base64_string``, or text itself. A response with
``grpc`` is that of a call as `cassettes.vcr_grpc` writes it, its body a JSON text with the messages. Their bytes count:
whether the readable form beside them says the same is checked where the call is played.
"""

from __future__ import annotations

from typing import Any

from normalizer import jsontext
from normalizer.errors import UnreadableSource

from . import http
from .bodies import from_base64, spelled
from .model import Exchange
from .shape import mapping, optional_mapping, status_of
from .whose import told_by

#: gRPC's status -> the HTTP status that says the same (google/rpc/code.proto); the others are 500.
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
    """Raises UnreadableSource where the interaction is of another shape."""
    request = mapping(item, "request")
    response = mapping(item, "response")
    if isinstance(response.get("grpc"), dict):
        return _call(source, line, request, response)
    return http.exchange(
        source,
        line,
        url=str(request.get("uri") or ""),
        request=spelled(request.get("body")),
        status=status_of(response),
        headers=http.headers_of(optional_mapping(response, "headers").items()),
        body=spelled(response.get("body", response.get("content"))),
    )


def _call(source: str, line: int | None, request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    told = told_by(str(request.get("uri") or ""))
    ended = mapping(response, "grpc")
    asked = http.parsed(spelled(request.get("body")))
    message = asked.get("message") if isinstance(asked, dict) else None
    model = message.get("model") if isinstance(message, dict) else None
    frames = _frames(spelled(response.get("body")) or b"")
    code = ended.get("code")  # none where the caller left the stream
    broke = code not in ("OK", None)
    return Exchange(
        source=source,
        line=line,
        provider="xai" if _XAI in told.url else told.provider,
        wire=told.wire or "grpc",
        stream=ended.get("stream") is True,
        status=None if code is None else HTTP_STATUS.get(str(code), 500),
        content_type="application/grpc+proto",
        model=model if isinstance(model, str) else None,
        url=told.url,
        request=message,
        body=jsontext.encode({"code": code, "details": ended.get("details")}) if broke else None,
        frames=None if broke and not frames else frames,
    )


def _frames(body: bytes) -> list[bytes]:
    value = http.parsed(body)
    entries = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not all(isinstance(e, dict) and "serialized" in e for e in entries):
        raise UnreadableSource("the call holds no serialized messages", hint="messages: [{serialized: <base64>}, …]")
    return [from_base64(entry["serialized"]) for entry in entries]
