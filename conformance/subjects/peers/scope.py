"""What a response needs of the request that caused it. The programs of this folder import it as a top-level module.

A provider sends several choices, a call of a custom tool, or a deprecated function call, only if the request asks for
them. A library that cannot
send such a request is not judged by the response to it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any


def several_choices(ask: dict[str, Any]) -> bool:
    """Return whether a Chat Completions response has more than one choice."""
    return any((choice.get("index") or 0) > 0 for choice in _choices(ask))


def asks_approval(ask: dict[str, Any]) -> bool:
    """Return whether a response has a call that waits for approval, as only a request for approvals gets it."""
    return any(b'"mcp_approval_request"' in base64.b64decode(piece) for piece in ask["pieces"])


def legacy_call(ask: dict[str, Any]) -> bool:
    """Return whether a Chat Completions response has a `function_call`, the form before tools.

    A provider sends it only if the request has `functions`.
    """
    return any(message.get("function_call") for message in _messages(ask))


def invalid_arguments(ask: dict[str, Any]) -> bool:
    """Return whether a call of a plain Chat Completions response has argument text that is not a JSON object."""
    messages = () if ask["stream"] else _messages(ask)
    calls = (call for message in messages for call in message.get("tool_calls") or ())
    texts = ((call.get("function") or {}).get("arguments") for call in calls)
    return any(not _is_object(text) for text in texts if isinstance(text, str) and text.strip())


def custom_tools(ask: dict[str, Any]) -> set[str]:
    """Return the names of the custom tools that the request declares."""
    declared = (tool for tool in ask["tools"] if tool.get("type") == "custom")
    return {str((tool.get("custom") or tool).get("name")) for tool in declared}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_int=float), dict)  # float: Python limits the digits of int
    except RecursionError:
        return True
    except ValueError:
        return False


def _messages(ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a Chat Completions response, or the deltas of its chunks."""
    for choice in _choices(ask):
        message = choice.get("message") or choice.get("delta")
        if isinstance(message, dict):
            yield message


def _choices(ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the choices of a Chat Completions response or of its chunks; a response of another wire has none."""
    if ask["wire"] == "openai.chat":
        for event in _events(ask):
            yield from (choice for choice in event.get("choices") or () if isinstance(choice, dict))


def _events(ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the body; other data is left to the library."""
    body = b"".join(map(base64.b64decode, ask["pieces"]))
    for line in body.splitlines() if ask["stream"] else [body]:
        try:
            event = json.loads(line.removeprefix(b"data:"))
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
