"""Reader of the requests of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
    Assistant,
    Message,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.wires.decode_context import Context

from .decode import response_of


def read(body: Any, provider: str | None = None) -> Request:
    """Convert a request body to a canonical request. Raises MalformedBody."""
    if isinstance(body, (bytes, str)):
        body = json_codec.decode(body)
    if not isinstance(body, dict) or not isinstance(body.get("entries"), list):
        raise MalformedBody("not a request of toy.chat: it has no list of entries", body=body)
    tools = [ToolDefinition(tool["fn"], tool.get("about"), tool.get("takes")) for tool in body.get("functions", ())]
    params = {key: value for key, value in body.items() if key not in ("model", "entries", "functions")}
    messages = list[Message]()
    for entry in body["entries"]:
        _add(messages, entry, provider)
    return Request("toy.chat", body.get("model"), messages, tools, provider=provider, params=params)


def _add(messages: list[Message], entry: dict[str, Any], provider: str | None) -> None:
    match entry["by"]:
        case "model":
            context = Context("toy.chat", provider, findings=[])
            messages.append(Assistant(response_of({"end": "done", **entry}, context)))
        case "tool":
            result = ToolResult(entry["ref"], [TextPart(entry["output"])], entry.get("failed", False))
            if messages and isinstance(messages[-1], ToolResults):
                messages[-1].results.append(result)
            else:
                messages.append(ToolResults([result]))
        case "system":
            messages.append(System([TextPart(entry["text"])]))
        case _:
            messages.append(User([TextPart(entry["text"])]))
