"""Conversion of tool definitions and of the tool choice."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ... import json_codec
from ...conversation import Request, ToolChoice, ToolDefinition
from ..write_context import WriteContext
from . import schema
from .schema import MODES, WIRE, Function, as_dict, fields_except, parse_dict

#: Schema for a tool that takes one free text, and for a tool without parameters.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_NO_PARAMETERS = {"type": "object", "properties": {}}
_MODE_NUMBERS = {mode: number for number, mode in MODES.items()}


def read_tool(tool: Any) -> ToolDefinition:
    """Convert a protobuf Tool. Tools that xAI runs are kept as raw objects."""
    kind = tool.WhichOneof("tool")
    if kind != "function":
        return ToolDefinition(kind or "", kind="hosted", wire=WIRE, raw=as_dict(tool))
    function = tool.function
    extra = fields_except(function, "name", "description", "strict", "parameters")
    parameters = None
    if function.parameters:
        with suppress(ValueError):
            parameters = json_codec.decode(function.parameters)
        if not isinstance(parameters, dict) or json_codec.text(parameters) != function.parameters:
            extra["parameters"] = function.parameters  # the original spelling
        if not isinstance(parameters, dict):
            parameters = None
    description, strict = function.description or None, function.strict or None
    return ToolDefinition(function.name, description, parameters, strict, wire=WIRE, extra=extra)


def read_choice(choice: Any) -> ToolChoice:
    """Convert a protobuf ToolChoice."""
    if choice.WhichOneof("tool_choice") == "function_name":
        return ToolChoice("named", choice.function_name)
    mode = MODES.get(choice.mode)
    return ToolChoice(mode) if mode else ToolChoice("raw", raw=as_dict(choice))


def write_tools(request: Request, context: WriteContext, body: Any) -> None:
    """Add the tool definitions, the tool choice and the flag for parallel calls to the protobuf request ``body``."""
    body.tools.extend(written for tool in request.tools if (written := _write_tool(tool, context)) is not None)
    if request.tool_choice is not None:
        _write_choice(request.tool_choice, context, body)
    if request.parallel is not None:
        body.parallel_tool_calls = request.parallel


def _write_tool(tool: ToolDefinition, context: WriteContext) -> Any:
    if tool.kind == "hosted":
        if tool.wire == WIRE:
            return parse_dict(tool.raw, schema.Tool())
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    parameters = tool.parameters
    if tool.kind != "function":
        context.lose("kind", f"{tool.name}: a {tool.kind} tool was declared as a function")
        parameters = parameters or _FREE_TEXT
    spelling = tool.extra.get("parameters") if context.own else None
    if isinstance(spelling, str) and (parameters is None or json_codec.decode(spelling) == parameters):
        text = spelling
    elif parameters is None and context.own:
        text = ""
    else:
        text = json_codec.text(parameters or _NO_PARAMETERS)
    if not context.own:
        context.lose_extra(tool.extra, f"the tool {tool.name}", None, "type", "name", "parameters")
    name, description = context.name(tool.name), tool.description or ""
    return schema.Tool(function=Function(name=name, description=description, strict=bool(tool.strict), parameters=text))


def _write_choice(choice: ToolChoice, context: WriteContext, body: Any) -> None:
    mode = choice.mode
    if context.leaves_out(choice, body.tools):
        return
    if context.own and mode == "raw":
        body.tool_choice.SetInParent()
        parse_dict(choice.raw or {}, body.tool_choice)
        return
    if mode == "named":
        name = context.name(choice.name) if choice.name is not None else None
        if name is not None and (context.own or any(tool.function.name == name for tool in body.tools)):
            body.tool_choice.function_name = name
            return
        context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was replaced by auto")
        mode = "auto"
    elif mode == "raw":
        context.lose("tool-choice", f"{json_codec.text(choice.raw)} was replaced by auto")
        mode = "auto"
    body.tool_choice.mode = _MODE_NUMBERS[mode]
