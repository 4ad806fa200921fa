"""Conversion of tool definitions. The wire has no tool choice and no setting for parallel calls."""

from __future__ import annotations

from typing import Any

from ...conversation import Request, ToolDefinition
from ..traverse import members_except
from ..write_context import WriteContext
from .schema import WIRE

#: Schema for a custom tool, which takes one free text.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_TYPES = {"name": str, "description": str, "parameters": dict}


def read_tool(definition: Any) -> ToolDefinition:
    """Convert a tool definition. One that is not a function with a name is kept as a raw object."""
    function = definition.get("function") if isinstance(definition, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return ToolDefinition("", kind="hosted", wire=WIRE, raw=definition)
    fields = {key: function[key] for key, kind in _TYPES.items() if isinstance(function.get(key), kind)}
    rest = {key: value for key, value in function.items() if key not in fields}
    extra = members_except(definition, "type", "function")
    if definition.get("type") != "function":
        extra["type"] = definition.get("type")
    return ToolDefinition(**fields, wire=WIRE, extra={**extra, "function": rest} if rest else extra)


def write_tools(request: Request, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the tool definitions to ``body``, and report the loss of a tool choice and of a limit to one call.

    If the model must not call tools, none is declared.
    """
    tools = [written for tool in request.tools if (written := _write_tool(tool, context)) is not None]
    mode = "auto" if request.tool_choice is None else request.tool_choice.mode
    if tools and mode != "none":
        body["tools"] = tools
    if mode == "none":
        context.lose("tool-choice", "the wire has no tool choice; no tool was declared, so that the model calls none")
    elif mode != "auto":
        context.lose("tool-choice", "the wire has no tool choice; the model may call any tool or none")
    if request.parallel is False:
        context.lose("parallel")


def _write_tool(tool: ToolDefinition, context: WriteContext) -> Any:
    if tool.kind == "hosted":
        if tool.wire == WIRE:
            return tool.raw
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    own = tool.wire == WIRE
    function: dict[str, Any] = {"name": context.name(tool.name)}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.kind == "custom":
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
        function["parameters"] = _FREE_TEXT
    elif tool.parameters is not None or not own:
        function["parameters"] = _with_type(tool.parameters or {"properties": {}})
    if own:
        function |= tool.extra.get("function") or {}
        outer = {key: value for key, value in tool.extra.items() if key != "function" and value is not None}
        head = {} if "type" in tool.extra else {"type": "function"}
        return {**head, "function": function, **outer}
    if tool.strict:
        context.lose("param", f"strict: the wire does not have it; {tool.name} was declared without it")
    context.lose_extra(tool.extra, f"the tool {tool.name}")
    return {"type": "function", "function": function}


def _with_type(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with a type. Templates of models depend on it, and the server sets an empty one."""
    return schema if "type" in schema else {"type": "object", **schema}
