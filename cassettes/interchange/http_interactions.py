"""``http_interactions``: the notation that VCR for Ruby and R and Betamax share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from ..sources.entries import listed, mapping
from .members import (
    EXTENSION,
    UNKNOWN_TIME,
    combined,
    extended,
    extension,
    interaction_of,
    moment,
    rfc3339,
    text_or_base64,
    without,
)
from .model import CassetteContent, Interaction, grouped

_TOP = "http_interactions"


def recorded_with(data: Any) -> str | None:
    """Return what recorded the file, "" if it does not say so, None if it has another notation."""
    if not isinstance(data, dict) or not isinstance(data.get(_TOP), list):
        return None
    return str(data.get("recorded_with") or "")


def items(data: Any) -> list[Any]:
    """Return the interactions as the file has them."""
    return listed(data.get(_TOP), _TOP)


def read(data: Any, name: str, recorder: str) -> CassetteContent:
    """Return the content of a parsed file of the format ``name``. Raises UnreadableSource.

    ``recorder``: what `write` names. It is not kept, because `write` adds it again.
    """
    rest = without(data, _TOP, EXTENSION, *(["recorded_with"] if data.get("recorded_with") == recorder else []))
    beside = data.get(EXTENSION) or {}
    return CassetteContent([read_item(item, name) for item in items(data)], beside | ({name: rest} if rest else {}))


def read_item(item: Any, name: str) -> Interaction:
    """Return one interaction of the format ``name``. Raises UnreadableSource."""
    item = mapping(item, "an interaction")
    request, response = mapping(item.get("request"), "request"), mapping(item.get("response"), "response")
    interaction = interaction_of(item, request, response)
    rest = {
        **without(item, "request", "response", "recorded_at", EXTENSION),
        "request": without(request, "method", "uri", "url", "headers", "body", "query_string"),
        "response": without(response, "status", "headers", "body", "http_version"),
    }
    if rest["response"].get("url") == interaction.request.uri:
        del rest["response"]["url"]
    return extended(interaction, item.get(EXTENSION), name, {key: value for key, value in rest.items() if value})


def write(
    content: CassetteContent, name: str, recorder: str, method: Callable[[str], str], time: Callable[[datetime], str]
) -> dict[str, Any]:
    """Return the members of a file. ``method`` and ``time``: the notations of the format."""
    beside = without(content.rest, name)
    return {
        _TOP: [_item(item, name, method, time) for item in content.interactions],
        "recorded_with": recorder,
        **({EXTENSION: beside} if beside else {}),
        **(content.rest.get(name) or {}),
    }


def _item(
    interaction: Interaction, name: str, method: Callable[[str], str], time: Callable[[datetime], str]
) -> dict[str, Any]:
    request, response = interaction.request, interaction.response
    exact = moment(interaction.recorded_at)
    written = time(exact or UNKNOWN_TIME)
    is_exact = rfc3339(moment(written)) == interaction.recorded_at
    members: dict[str, Any] = {
        "request": {
            "method": method(request.method),
            "uri": request.uri,
            "body": _body(request.body or b""),
            "headers": grouped(request.headers),
        },
        "response": {
            "status": {"code": response.status, "message": response.reason},
            "headers": grouped(response.headers),
            "body": _body(response.body),
            **({} if response.version is None else {"http_version": response.version}),
        },
        "recorded_at": written,
    }
    beside = extension(interaction, name, ("reason", "version", *(["recorded_at"] if is_exact else [])))
    return combined(members, {EXTENSION: beside} if beside else {}, interaction.rest.get(name))


def _body(data: bytes) -> dict[str, str]:
    text, packed = text_or_base64(data)
    if text is not None:
        return {"encoding": "UTF-8", "string": text}
    return {"encoding": "ASCII-8BIT", "base64_string": str(packed)}
