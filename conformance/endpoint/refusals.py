"""Requests beside the conversations: malformed ones, ones with optional parameters, and that for the list of models."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from toolparity.cassettes.stated import PLACES, Stated, state
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec

from ..raw_client import Reply
from .conversation import read_reply
from .forms import FORMS, missing

#: The members of a request that hold the conversation.
_MESSAGES = ("messages", "input", "contents")


def malformed(body: dict[str, Any], wire: str) -> Iterator[tuple[str, bytes]]:
    """Yield malformed variants of a request, each with its description."""
    data = json_codec.encode(body)
    yield "a body that is not JSON", data[:-2]
    if wire in FORMS and not FORMS[wire].validated:
        return
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
    shown = reply.body[:100].decode("utf-8", "replace")
    if not isinstance(body, dict) or response is None or response.error is None:
        return f"the error is not one of {wire}: {problem or shown}"
    form = FORMS.get(wire)
    lacking = [] if form is None else [path for path in form.error if not _has(body, path)]
    named = " and no ".join(path.rpartition("|")[2] for path in lacking)
    return f"the error has no {named}: {shown}" if lacking else ""


def _has(body: Any, paths: str) -> bool:
    """Return whether a text or a number is at one of the paths, which ``|`` separates."""
    for path in paths.split("|"):
        value = body
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str | int) and value:
            return True
    return False


#: Optional parameters that agents send, each with a value.
_OPTIONAL = (Stated(user="user-1"), Stated(store=False), Stated(cache_key="key-1"), Stated(seed=7), Stated(cache=True))


def optional(body: dict[str, Any], wire: str) -> Iterator[tuple[str, bytes]]:
    """Yield variants of a request with one documented optional parameter, each with its description."""
    for stated in _OPTIONAL:
        [name] = stated.settings
        place = PLACES.get(wire, {}).get(name)
        if place is not None and (name != "cache" or "tools" in body or "toolConfig" in body):
            changed = state(body, stated, wire, wire)
            yield f"the parameter {place.path or 'cache_control'}", json_codec.encode(changed)


def refused(reply: Reply, wire: str) -> str:
    """Return why a reply is not a response, or ""."""
    if not reply.status:
        return reply.broken
    response, problem = read_reply(reply, wire, None, stream=False)
    if reply.status < 400 and response is not None and response.error is None:
        return ""
    message = problem if response is None or response.error is None else response.error.message
    return f"HTTP {reply.status}: {message}"


def unlisted(reply: Reply, wire: str) -> str:
    """Return why a reply is not a list of models, or ""."""
    try:
        body = json_codec.decode(reply.body)
    except ValueError:
        body = None
    path = FORMS[wire].models
    listed = body.get(path.partition(".")[0]) if isinstance(body, dict) else None
    if reply.status == 200 and isinstance(listed, list) and listed and not list(missing(body, [path])):
        return ""
    return f"HTTP {reply.status}, expected {path}: {reply.body[:100].decode('utf-8', 'replace')}"
