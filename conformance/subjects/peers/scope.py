"""What a response needs of the request that caused it. The programs of this folder import it as a top-level module.

A provider sends several choices, or a call of a custom tool, only if the request asks for them. A library that cannot
send such a request is not judged by the response to it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any


def several_choices(ask: dict[str, Any]) -> bool:
    """Return whether a Chat Completions response has more than one choice."""
    if ask["wire"] != "openai.chat":
        return False
    choices = (choice for event in _events(ask) for choice in event.get("choices") or ())
    return any(isinstance(choice, dict) and (choice.get("index") or 0) > 0 for choice in choices)


def custom_tools(ask: dict[str, Any]) -> set[str]:
    """Return the names of the custom tools that the request declares."""
    declared = (tool for tool in ask["tools"] if tool.get("type") == "custom")
    return {str((tool.get("custom") or tool).get("name")) for tool in declared}


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
