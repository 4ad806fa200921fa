"""Messages, tools and results as JSON text, in the form that the semantic conventions define for recorded content.

Sources: `gen-ai-input-messages.json`, `gen-ai-output-messages.json`, `gen-ai-system-instructions.json` and
`gen-ai-tool-definitions.json` of open-telemetry/semantic-conventions-genai. Attributes contain them as JSON text,
because not every exporter accepts structured values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
    Assistant,
    JsonPart,
    MediaPart,
    Message,
    OpaquePart,
    Part,
    RawItem,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import (
    ApprovalRequest,
    Block,
    Choice,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)


def request_content(request: Request) -> dict[str, str]:
    """Return the attributes with the instructions, the messages and the tools of a request."""
    system = [part for message in request.messages if isinstance(message, System) for part in _parts(message.parts)]
    messages = [_message(message) for message in request.messages if not isinstance(message, System)]
    content = {
        "gen_ai.system_instructions": system,
        "gen_ai.input.messages": messages,
        "gen_ai.tool.definitions": [_definition(tool) for tool in request.tools],
    }
    return {name: json_codec.text(value) for name, value in content.items() if value}


def response_content(response: Response) -> dict[str, str]:
    """Return the attribute with the messages of a response, one for each choice."""
    return {"gen_ai.output.messages": json_codec.text([_choice(choice) for choice in response.choices])}


def answer_content(text: str) -> dict[str, str]:
    """Return the attribute with the answer of a turn."""
    parts = [{"type": "text", "content": text}]
    return {"gen_ai.output.messages": json_codec.text([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])}


def arguments_content(call: ToolCall) -> dict[str, str]:
    """Return the attribute with the arguments of a call."""
    return {"gen_ai.tool.call.arguments": call.arguments_text}


def result_content(result: ToolResult) -> dict[str, str]:
    """Return the attribute with the result of a call."""
    return {"gen_ai.tool.call.result": json_codec.text(_response(result))}


def _message(message: Message) -> dict[str, Any]:
    match message:
        case Assistant(response=response):
            blocks = response.choices[0].blocks if response.choices else []
            return {"role": "assistant", "parts": [_block(block) for block in blocks]}
        case ToolResults(results=results):
            return {"role": "tool", "parts": [_tool_response(result) for result in results]}
        case User(parts=parts):
            return {"role": "user", "parts": _parts(parts)}
        case System(parts=parts):
            return {"role": "system", "parts": _parts(parts)}
        case RawItem(wire=wire, raw=raw):
            return {"role": "user", "parts": [{"type": wire, "content": raw}]}


def _choice(choice: Choice) -> dict[str, Any]:
    reason = choice.stop.raw or choice.stop.reason
    return {"role": "assistant", "parts": [_block(block) for block in choice.blocks], "finish_reason": reason}


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "content": text}
        case Reasoning(text=text):
            return {"type": "reasoning", "content": text}
        case Refusal(text=text):
            return {"type": "refusal", "content": text}
        case ToolCall():
            arguments = block.arguments if block.arguments is not None else block.arguments_text
            return {"type": "tool_call", "id": block.id, "name": block.name, "arguments": arguments}
        case ServerToolCall():
            call = {"type": block.tool, "arguments": block.arguments_text}
            return {"type": "server_tool_call", "id": block.id, "name": block.name, "server_tool_call": call}
        case ServerToolResult():
            result = {"type": block.tool, "result": block.raw}
            return {"type": "server_tool_call_response", "id": block.call_id, "server_tool_call_response": result}
        case ApprovalRequest():
            members = {"id": block.id, "name": block.name, "server": block.server, "arguments": block.arguments_text}
            return {"type": "approval_request", **members}
        case Opaque(wire_type=wire_type, raw=raw):
            return {"type": wire_type, "content": raw}


def _parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text=text):
            return {"type": "text", "content": text}
        case JsonPart(value=value):
            return {"type": "json", "content": value}
        case OpaquePart(wire_type=wire_type, raw=raw):
            return {"type": wire_type, "content": raw}
        case MediaPart():
            return _media(part)


def _media(part: MediaPart) -> dict[str, Any]:
    """Return a part for media. Its bytes are left out: a span is not a place for them."""
    media = {"mime_type": part.media_type, "modality": part.kind}
    if part.file_id is not None:
        return {"type": "file", **media, "file_id": part.file_id}
    if part.url is not None:
        return {"type": "uri", **media, "uri": part.url}
    return {"type": "blob", **media, "content": ""}


def _tool_response(result: ToolResult) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": result.call_id, "response": _response(result)}


def _response(result: ToolResult) -> Any:
    """Return a result as its plain text or value, or else as parts."""
    [part] = result.parts if len(result.parts) == 1 else [None]
    if isinstance(part, TextPart):
        return part.text
    return part.value if isinstance(part, JsonPart) else _parts(result.parts)


def _definition(tool: ToolDefinition) -> dict[str, Any]:
    definition = {"type": tool.kind, "name": tool.name, "description": tool.description}
    return {**definition, "parameters": tool.parameters} if tool.kind == "function" else definition
