"""Reader for requests of version 1 of the Chat API. They are written as requests of version 2.

Calls have no ids in version 1: they get synthetic ones, and each result names its call with all parameters.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...conversation import (
    Assistant,
    JsonPart,
    Message,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from ...model import Block, Choice, Response, Stop, Text, ToolCall
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..traverse import items, member, members_except, objects, text
from ..write_context import AS_WRITTEN
from .parts import DOCUMENT
from .schema import WIRE

_REPRESENTED = ("model", "message", "chat_history", "preamble", "tools", "tool_results")
#: JSON types by the names of Python's types, which version 1 expects.
_TYPES = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "dict": "object",
    "object": "object",
    "list": "array",
    "array": "array",
}


def is_v1(request: dict[str, Any]) -> bool:
    """Report whether a request is one of version 1."""
    return "messages" not in request and isinstance(request.get("message"), str)


def read(request: dict[str, Any], provider: str | None) -> Request:
    """Convert a request to a canonical request."""
    history = _History(provider)
    if preamble := text(request.get("preamble")):
        history.messages.append(System([TextPart(preamble)]))
    for _, entry in objects(request, "chat_history"):
        history.add(entry)
    if request["message"]:
        history.messages.append(User([TextPart(request["message"])]))
    history.add_results(items(request, "tool_results"))
    model = request.get("model")
    tools = [_tool(tool) for _, tool in objects(request, "tools")]
    params = members_except(request, *_REPRESENTED)
    return Request(
        WIRE, model if isinstance(model, str) else None, history.messages, tools, provider=provider, params=params
    )


class _History:
    """Converts the entries of the history, and tracks which calls still lack a result."""

    def __init__(self, provider: str | None) -> None:
        self.messages: list[Message] = []
        self._context = Context(WIRE, provider, findings=[])
        self._builder = CallBuilder.of(self._context, 0, None)  # one for all messages, so that the ids are unique
        self._open: list[ToolCall] = []

    def add(self, entry: dict[str, Any]) -> None:
        """Add an entry of `chat_history`."""
        role, words = text(entry.get("role")).upper(), text(entry.get("message"))
        extra = members_except(entry, "role", "message", "tool_calls", "tool_results")
        if role == "TOOL":
            self.add_results(items(entry, "tool_results"))
        elif role == "CHATBOT":
            blocks: list[Block] = [Text(words)] if words else []
            self._add_assistant(blocks, [call for _, call in objects(entry, "tool_calls")], extra)
        elif words:
            message = System if role == "SYSTEM" else User
            self.messages.append(message([TextPart(words)], extra=extra))

    def _add_assistant(self, blocks: list[Block], calls: list[dict[str, Any]], extra: dict[str, Any]) -> None:
        self._open = []
        for call in calls:
            arguments = json_codec.text(call.get("parameters") or {})
            built = self._builder.build(len(blocks), None, text(call.get("name")), arguments)
            self._open.append(built)
            blocks.append(built)
        choice = Choice(0, blocks, Stop("tool_calls" if calls else "end_turn"))
        self.messages.append(Assistant(Response(WIRE, self._context.provider, None, None, [choice]), extra))

    def add_results(self, results: list[Any]) -> None:
        """Add tool results, after the calls that the history does not have."""
        found = [result for result in results if isinstance(result, dict)]
        if not found:
            return
        asked = [call if isinstance(call := result.get("call"), dict) else {} for result in found]
        if any(self._position(call) is None for call in asked):  # the history has no message with these calls
            self._add_assistant([], asked, {})
        answers = [self._result(call, result) for call, result in zip(asked, found, strict=True)]
        self.messages.append(ToolResults(answers))

    def _position(self, call: dict[str, Any]) -> int | None:
        name, parameters = text(call.get("name")), call.get("parameters") or {}
        for index, open_call in enumerate(self._open):
            if open_call.name == name and open_call.arguments == parameters:
                return index
        return None

    def _result(self, call: dict[str, Any], result: dict[str, Any]) -> ToolResult:
        position = self._position(call)
        answered = None if position is None else self._open.pop(position)
        parts = [JsonPart({"data": output}, {AS_WRITTEN: DOCUMENT}) for output in items(result, "outputs")]
        plain = ToolResult("" if answered is None else answered.id, list(parts), plain=False)
        return plain if answered is None else replace(plain, name=answered.name)


def _tool(tool: dict[str, Any]) -> ToolDefinition:
    """Convert a tool. Its parameters are a map of names to type, description and ``required``."""
    definitions = tool.get("parameter_definitions")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, definition in definitions.items() if isinstance(definitions, dict) else ():
        schema = _schema(text(member(definition, "type")))
        if about := text(member(definition, "description")):
            schema["description"] = about
        properties[name] = schema
        if member(definition, "required") is True:
            required.append(name)
    parameters = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    description = tool.get("description")
    return ToolDefinition(
        text(tool.get("name")), description if isinstance(description, str) else None, parameters, wire=WIRE
    )


def _schema(python_type: str) -> dict[str, Any]:
    """Return the JSON schema of a Python type such as ``str`` or ``List[int]``; {} for any other word."""
    outer, _, inner = python_type.strip().rstrip("]").partition("[")
    kind = _TYPES.get(outer.strip().lower())
    if kind is None:
        return {}
    if kind == "array" and (items_schema := _schema(inner)):
        return {"type": kind, "items": items_schema}
    return {"type": kind}
