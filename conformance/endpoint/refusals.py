"""Malformed requests, which every endpoint must refuse."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec

from ..raw_client import Reply
from .conversation import read_reply

#: The members of a request that hold the conversation.
_MESSAGES = ("messages", "input", "contents")


def malformed(body: dict[str, Any], wire: str) -> Iterator[tuple[str, bytes]]:
    """Yield malformed variants of a request, each with its description."""
    data = json_codec.encode(body)
    yield "a body that is not JSON", data[:-2]
    member = next(name for name in _MESSAGES if name in body)
    yield f"a request without {member}", json_codec.encode({key: body[key] for key in body if key != member})
    if isinstance(body[member], list) and "role" in body[member][-1]:
        changed = deepcopy(body)
        changed[member][-1] = {**changed[member][-1], "role": "narrator"}
        yield "a message with an unknown role", json_codec.encode(changed)
    changed = deepcopy(body)
    if not spec(wire).unnamed_tools and _remove_name(changed.get("tools") or changed.get("toolConfig")):
        yield "a tool without a name", json_codec.encode(changed)


def _remove_name(value: Any) -> bool:
    """Remove the first member ``name`` of a value. Return whether there is one."""
    if isinstance(value, dict):
        return value.pop("name", None) is not None or any(map(_remove_name, value.values()))
    return isinstance(value, list) and any(map(_remove_name, value))


def unrefused(reply: Reply, wire: str) -> str:
    """Return why a reply does not refuse a malformed request as it should, or ""."""
    if not reply.status:
        return reply.broken
    if not 400 <= reply.status < 500:
        return f"it was answered with HTTP {reply.status}"
    try:
        body = json_codec.decode(reply.body)
    except ValueError:
        body = None
    response, problem = read_reply(reply, wire, None, stream=False)
    if not isinstance(body, dict) or response is None or response.error is None:
        return f"the error is not one of {wire}: {problem or reply.body[:100].decode('utf-8', 'replace')}"
    return "" if response.error.message else "the error has no message"
