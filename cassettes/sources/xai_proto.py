"""Cassettes of xAI's gRPC interface in pydantic-ai's format.

``request_sample``/``response_sample`` hold a plain exchange, ``request_stream``/``response_stream`` a streamed one,
each with the serialized messages (``raw``, ``chunks_raw``) beside their JSON form.
"""

from __future__ import annotations

from typing import Any

from ..errors import UnreadableSource
from .http import mapping, optional_mapping
from .model import Exchange

#: Request member -> response member.
_PAIRS = {"request_sample": "response_sample", "request_stream": "response_stream"}


def claims(item: dict[str, Any]) -> bool:
    """Return whether an interaction has this format."""
    return any(key in item for key in _PAIRS)


def exchange(source: str, line: int | None, item: dict[str, Any]) -> Exchange:
    """Read one interaction. Raises UnreadableSource if it has another shape."""
    request_member = next(key for key in _PAIRS if key in item)
    answer = mapping(item, _PAIRS[request_member])
    frames = answer.get("chunks_raw") if request_member == "request_stream" else [answer.get("raw")]
    if not isinstance(frames, list) or not all(isinstance(frame, bytes) for frame in frames):
        raise UnreadableSource(
            "the response has no serialized messages", hint="expected raw or chunks_raw, as !!binary"
        )
    sample = optional_mapping(item, request_member)
    request, sent = sample.get("json"), sample.get("raw")
    model = request.get("model") if isinstance(request, dict) else None
    return Exchange(
        source=source,
        line=line,
        provider="xai",
        wire="xai.grpc",
        stream=request_member == "request_stream",
        content_type="application/grpc+proto",
        model=model if isinstance(model, str) else None,
        request=request,
        sent=sent if isinstance(sent, bytes) else None,
        frames=frames,
    )
