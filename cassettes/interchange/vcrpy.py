"""vcrpy's cassettes: ``interactions`` of ``request`` and ``response`` (vcr/serialize.py of vcrpy 9).

Read in every notation that is found in public cassettes: bodies as text, bytes, ``string`` or parsed JSON, statuses as
numbers or mappings, the older form of httpx (``status_code``, ``content``). Written in vcrpy's own notation. vcrpy
ignores the additional members ``recorded_at`` and ``toolparity`` of an interaction.
"""

from __future__ import annotations

from typing import Any

from ..library.writing import dump
from ..sources.entries import mapping
from .members import (
    EXTENSION,
    combined,
    extended,
    extension,
    interaction_of,
    without,
)
from .model import CassetteContent, Interaction, grouped

NAME = "vcrpy"
SUFFIX = ".yaml"

_REQUEST = ("method", "uri", "url", "headers", "body", "parsed_body", "body_json", "body_blob", "query_string")
_RESPONSE = (
    *("status", "status_code", "code", "headers", "body", "content", "parsed_body", "body_json", "body_blob"),
    *("http_version", EXTENSION),
)


def recognizes(data: Any) -> bool:
    """Return whether this is the top of a cassette of vcrpy."""
    return isinstance(data, dict) and isinstance(data.get("interactions"), list)


def items(data: Any) -> list[Any]:
    """Return the interactions as the file has them."""
    return list(data["interactions"])


def read(data: Any) -> CassetteContent:
    """Return the content of a parsed file. Raises UnreadableSource."""
    rest = without(data, "interactions", "version", EXTENSION)
    beside = data.get(EXTENSION) or {}
    return CassetteContent([read_item(item) for item in items(data)], beside | ({NAME: rest} if rest else {}))


def read_item(item: Any) -> Interaction:
    """Return one interaction. Raises UnreadableSource."""
    item = mapping(item, "an interaction")
    request, response = mapping(item.get("request"), "request"), mapping(item.get("response"), "response")
    interaction = interaction_of(item, request, response)
    rest = {
        **without(item, "request", "response", "recorded_at", EXTENSION),
        "request": without(request, *_REQUEST),
        "response": without(response, *_RESPONSE),
    }
    return extended(interaction, item.get(EXTENSION), NAME, {name: value for name, value in rest.items() if value})


def write(content: CassetteContent) -> bytes:
    """Return the text of a file."""
    own = content.rest.get(NAME) or {}
    beside = without(content.rest, NAME)
    return dump(
        {
            **own,
            "version": 1,
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
            "body": _body(request.body),
        },
        "response": {
            "status": {"code": response.status, "message": response.reason},
            "headers": grouped(response.headers),
            **({} if response.version is None else {"http_version": response.version}),
            "body": {"string": _body(response.body)},
        },
    }
    if interaction.recorded_at is not None:
        members["recorded_at"] = interaction.recorded_at
    beside = extension(interaction, NAME, ("reason", "version", "recorded_at"))
    return combined(members, {EXTENSION: beside} if beside else {}, interaction.rest.get(NAME))


def _body(body: bytes | None) -> str | bytes | None:
    """Return a body as vcrpy writes it: text if it is UTF-8."""
    if body is None:
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body
