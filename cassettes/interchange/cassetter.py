"""cassetter's cassettes, version 1 (https://github.com/Kludex/cassetter, SPECIFICATION.md, and its crate `format.rs`).

Bodies have a ``type``: json, text, binary (as hex) or none. JSON is written as ``json`` if its compact form has exactly
the recorded bytes, else as ``text``, which keeps them. gRPC calls and WebSocket frames are refused.
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource
from ..library.writing import dump
from ..sources.bodies import spelled
from ..sources.entries import mapping
from .members import (
    EXTENSION,
    combined,
    extended,
    extension,
    headers_from,
    moment,
    request_of,
    rfc3339,
    status_from,
    without,
)
from .model import CassetteContent, Interaction, Response, grouped

NAME = "cassetter"
SUFFIX = ".yaml"

_TYPES = frozenset(("json", "text", "binary", "none"))
_OTHER_PROTOCOLS = ("grpc_interactions", "ws_interactions")


def recognizes(data: Any) -> bool:
    """Return whether this is the top of a cassette of cassetter: every body has a type."""
    if not isinstance(data, dict) or not isinstance(data.get("interactions"), list):
        return False
    if any(data.get(name) for name in _OTHER_PROTOCOLS):
        return True
    halves = [item.get(half) for item in data["interactions"] if isinstance(item, dict) for half in _HALVES]
    return bool(halves) and all(isinstance(half, dict) and _is_typed(half.get("body")) for half in halves)


_HALVES = ("request", "response")


def items(data: Any) -> list[Any]:
    """Return the interactions as the file has them."""
    return list(data["interactions"])


def read(data: Any) -> CassetteContent:
    """Return the content of a parsed file. Raises UnreadableSource, also for gRPC and WebSocket."""
    for name in _OTHER_PROTOCOLS:
        if data.get(name):
            raise UnreadableSource(f"{name}: only HTTP can be converted")
    rest = without(data, "interactions", "version", *_OTHER_PROTOCOLS, EXTENSION)
    beside = data.get(EXTENSION) or {}
    return CassetteContent([read_item(item) for item in items(data)], beside | ({NAME: rest} if rest else {}))


def read_item(item: Any) -> Interaction:
    """Return one interaction. Raises UnreadableSource."""
    item = mapping(item, "an interaction")
    request, response = mapping(item.get("request"), "request"), mapping(item.get("response"), "response")
    interaction = Interaction(
        request_of(request, _bytes(request.get("body"))),
        Response(status_from(response), headers_from(response.get("headers")), _bytes(response.get("body")) or b""),
        rfc3339(moment(item.get("recorded_at"))),
    )
    rest = {
        **without(item, "request", "response", "recorded_at", EXTENSION),
        "request": without(request, "method", "uri", "headers", "body"),
        "response": without(response, "status", "headers", "body"),
    }
    return extended(interaction, item.get(EXTENSION), NAME, {name: value for name, value in rest.items() if value})


def write(content: CassetteContent) -> bytes:
    """Return the text of a file."""
    beside = without(content.rest, NAME)
    return dump(
        {
            "version": 1,
            **(content.rest.get(NAME) or {}),
            **({EXTENSION: beside} if beside else {}),
            "interactions": [write_item(item) for item in content.interactions],
        }
    )


def write_item(interaction: Interaction) -> dict[str, Any]:
    """Return one interaction as plain data."""
    request, response = interaction.request, interaction.response
    members: dict[str, Any] = {
        "request": {
            "method": request.method,
            "uri": request.uri,
            "headers": grouped(request.headers),
            "body": _typed(request.body),
        },
        "response": {
            "status": response.status,
            "headers": grouped(response.headers),
            "body": _typed(response.body),
        },
    }
    if interaction.recorded_at is not None:
        members["recorded_at"] = interaction.recorded_at
    beside = extension(interaction, NAME, ("recorded_at",))
    return combined(members, {EXTENSION: beside} if beside else {}, interaction.rest.get(NAME))


def _is_typed(body: Any) -> bool:
    return isinstance(body, dict) and str(body.get("type")) in _TYPES and body.keys() <= {"type", "content"}


def _bytes(body: Any) -> bytes | None:
    if body is None:
        return None
    body = mapping(body, "a body")
    kind, content = body.get("type"), body.get("content")
    if kind == "none":
        return None
    if kind == "json":
        return json_codec.encode(content)
    if kind == "binary":
        try:
            return bytes.fromhex(content)
        except (TypeError, ValueError):
            raise UnreadableSource("a binary body is not hexadecimal") from None
    return spelled(content)


def _typed(body: bytes | None) -> dict[str, Any]:
    if not body:
        return {"type": "none"}
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return {"type": "binary", "content": body.hex()}
    try:
        value = json_codec.decode(body)
        if isinstance(value, dict | list) and json_codec.encode(value) == body:
            return {"type": "json", "content": value}
    except (ValueError, RecursionError):
        pass
    return {"type": "text", "content": text}
