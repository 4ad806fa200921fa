"""gRPC calls as `cassettes.vcr_grpc` writes them into vcrpy cassettes: an interaction whose response has ``grpc``.

The messages stand base64-coded in the body's JSON, beside their readable form. Only xAI's chat service is a wire.
"""

from __future__ import annotations

from typing import Any

from normalizer import jsontext
from normalizer.errors import UnreadableSource

from .bodies import from_base64, spelled
from .model import Exchange
from .shape import mapping

#: gRPC's status -> the HTTP status that Google's API guide gives for it (google/rpc/code.proto).
_HTTP = {
    "OK": 200,
    "CANCELLED": 499,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "UNAUTHENTICATED": 401,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
}
_SERVICE = "/xai_api.Chat/"


def claims(item: dict[str, Any]) -> bool:
    """Whether an interaction is a gRPC call."""
    response = item.get("response")
    return isinstance(response, dict) and isinstance(response.get("grpc"), dict)


def exchange(source: str, line: int | None, item: dict[str, Any]) -> Exchange:
    """Raises UnreadableSource where the interaction is of another shape."""
    request = mapping(item, "request")
    response = mapping(item, "response")
    ended = mapping(response, "grpc")
    entries = _object(response.get("body"), "response").get("messages")
    if not isinstance(entries, list):
        raise UnreadableSource("the answer holds no list of messages")
    asked = _object(request.get("body"), "request").get("message")
    model = asked.get("model") if isinstance(asked, dict) else None
    url = str(request.get("uri") or "")
    ours = _SERVICE in url
    return Exchange(
        source=source,
        line=line,
        provider="xai" if ours else "other",
        wire="xai.grpc" if ours else "grpc",
        stream=ended.get("stream") is True,
        status=_HTTP.get(str(ended.get("code", "OK")), 500),
        content_type="application/grpc+proto",
        model=model if isinstance(model, str) else None,
        url=url.partition("://")[2],
        request=asked,
        frames=[_frame(entry) for entry in entries],
    )


def _object(body: Any, whose: str) -> dict[str, Any]:
    try:
        value = jsontext.decode(spelled(body) or b"")
    except (ValueError, RecursionError) as error:
        raise UnreadableSource(f"the body of the gRPC {whose} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableSource(f"the body of the gRPC {whose} is no JSON object")
    return value


def _frame(entry: Any) -> bytes:
    if not isinstance(entry, dict):
        raise UnreadableSource("a gRPC message that is no JSON object")
    return from_base64(entry.get("serialized"))
