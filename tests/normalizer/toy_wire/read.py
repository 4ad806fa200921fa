"""Reader of the requests of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import conversation, json_codec
from toolparity.normalizer.wires.decode_context import Context

from .decode import response_of


def read(body: Any, provider: str | None = None) -> conversation.Request:
    if isinstance(body, (bytes, str)):
        body = json_codec.decode(body)
    tools = [
        conversation.ToolDefinition(tool["fn"], tool.get("about"), tool.get("takes"))
        for tool in body.get("functions", ())
    ]
    messages = list[conversation.Message]()
    for entry in body["entries"]:
        _add(messages, entry, provider)
    params = {"stream": body["stream"]} if "stream" in body else {}
    return conversation.Request("toy.chat", body.get("model"), messages, tools, provider=provider, params=params)


def _add(messages: list[conversation.Message], entry: dict[str, Any], provider: str | None) -> None:
    match entry["by"]:
        case "model":
            context = Context("toy.chat", provider, findings=[])
            messages.append(conversation.Assistant(response_of({"end": "done", **entry}, context)))
        case "tool":
            if not messages or not isinstance(messages[-1], conversation.ToolResults):
                messages.append(conversation.ToolResults([]))
            result = conversation.ToolResult(entry["ref"], [conversation.TextPart(entry["output"])])
            messages[-1].results.append(result)  # type: ignore[union-attr]
        case role:
            kind = conversation.System if role == "system" else conversation.User
            messages.append(kind([conversation.TextPart(entry["text"])]))
