"""Conversion of tool definitions and of the tool choice, which is a member of ``generation_config``."""

from __future__ import annotations

import reprlib
from typing import Any

from ...conversation import Request, ToolChoice, ToolDefinition
from ..write_context import WriteContext, merged
from .schema import WIRE

_MODES = {"auto": "auto", "any": "required", "none": "none"}
_WORDS = {mode: word for word, mode in _MODES.items()}
_REPRESENTED = ("type", "name", "description", "parameters")
#: Schemas of a function without parameters, and of one for a tool that takes free text.
_NO_PARAMETERS = {"type": "object", "properties": {}}
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def read_tool(raw: Any) -> ToolDefinition:
    """Convert a function; any other tool is a hosted tool that keeps its raw value."""
    name = raw.get("name") if isinstance(raw, dict) else None
    if isinstance(raw, dict) and raw.get("type") == "function" and isinstance(name, str):
        description, parameters = raw.get("description"), raw.get("parameters")
        if isinstance(description, (str, type(None))) and isinstance(parameters, (dict, type(None))):
            extra = {k: v for k, v in raw.items() if k not in _REPRESENTED or v is None}
            return ToolDefinition(name, description, parameters, wire=WIRE, extra=extra)
    kind = raw.get("type") if isinstance(raw, dict) else None
    label = name if isinstance(name, str) else kind if isinstance(kind, str) else ""
    return ToolDefinition(label, kind="hosted", wire=WIRE, raw=raw)


def read_choice(raw: Any) -> ToolChoice | None:
    """Convert the tool choice: a mode, or a mode with the only tools that may be called."""
    if raw is None:
        return None
    if isinstance(raw, str) and raw in _MODES:
        return ToolChoice(_MODES[raw])  # type: ignore[arg-type]
    allowed = raw.get("allowed_tools") if isinstance(raw, dict) and len(raw) == 1 else None
    if isinstance(allowed, dict) and allowed.keys() == {"mode", "tools"} and allowed["mode"] == "any":
        tools = allowed["tools"]
        if isinstance(tools, list) and len(tools) == 1 and isinstance(tools[0], str):
            return ToolChoice("named", tools[0])
    return ToolChoice("raw", raw=raw)


def write_tools(request: Request, context: WriteContext, body: dict[str, Any]) -> Any:
    """Add the tool definitions to ``body``, and return the tool choice; None if there is none."""
    tools = [written for tool in request.tools if (written := _write_tool(tool, context)) is not None]
    if tools:
        body["tools"] = tools
    if request.parallel is False and (tools or context.own):
        context.lose("parallel")
    return None if request.tool_choice is None else _write_choice(request.tool_choice, tools, context)


def _write_tool(tool: ToolDefinition, context: WriteContext) -> Any:
    own = tool.wire == WIRE
    if tool.kind == "hosted":
        if own and context.own:
            return tool.raw
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    written: dict[str, Any] = {"type": "function", "name": context.name(tool.name)}
    if tool.description is not None:
        written["description"] = tool.description
    if tool.kind == "custom":
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
        written["parameters"] = _FREE_TEXT
    elif tool.parameters is not None:
        written["parameters"] = tool.parameters
    elif not own:
        written["parameters"] = _NO_PARAMETERS
    if tool.strict:
        context.lose("param", f"strict of the tool {tool.name} was left out")
    if own:
        return merged(written, tool.extra)
    context.lose_extra(tool.extra, f"the tool {tool.name}", None, "type", "name", "parameters")
    return written


def _write_choice(choice: ToolChoice, tools: list[Any], context: WriteContext) -> Any:
    if context.leaves_out(choice, tools):
        return None
    if context.own and choice.mode == "raw":
        return choice.raw
    if choice.mode == "named":
        name = context.name(choice.name) if choice.name is not None else None
        declared = (isinstance(tool, dict) and tool.get("name") == name for tool in tools)
        if name is not None and (context.own or any(declared)):
            return {"allowed_tools": {"mode": "any", "tools": [name]}}
        context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was replaced by auto")
        return "auto"
    if choice.mode == "raw":
        context.lose("tool-choice", f"{reprlib.repr(choice.raw)} was replaced by auto")
        return "auto"
    return _WORDS[choice.mode]
