"""Conversion of tool definitions and of the tool choice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...conversation import Request, ToolChoice, ToolDefinition
from ..tool_rules import keeps_strict
from ..traverse import member, members_except
from ..write_context import WriteContext, merged
from .parts import kind_of
from .schema import WIRE

_MODES = {"auto": "auto", "any": "required", "tool": "named"}
_TYPES = {mode: kind for kind, mode in _MODES.items()}
#: The members of a tool definition that canonical fields represent.
_REPRESENTED = ("name", "description", "inputSchema", "strict")
#: Schema for a custom tool, which takes one free text.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
#: Schema for a tool of which only the calls are known.
_ANY = {"type": "object", "properties": {}}


def read_tool(definition: Any) -> ToolDefinition:
    """Convert a tool definition.

    System tools, which Bedrock runs, and cache points are kept as raw objects. So are definitions with members of
    undocumented types.
    """
    if not _is_function(definition):
        kind = kind_of(definition) or ""
        value = definition.get(kind) if isinstance(definition, dict) else None
        name = value.get("name") if isinstance(value, dict) else None
        return ToolDefinition(name if isinstance(name, str) else kind, kind="hosted", wire=WIRE, raw=definition)
    spec = definition["toolSpec"]
    return ToolDefinition(
        spec.get("name") or "",
        spec.get("description"),
        spec["inputSchema"]["json"],
        spec.get("strict"),
        wire=WIRE,
        extra=members_except(spec, *_REPRESENTED),
    )


def _is_function(definition: Any) -> bool:
    spec = definition.get("toolSpec") if isinstance(definition, dict) and len(definition) == 1 else None
    if not isinstance(spec, dict):
        return False
    schema = spec.get("inputSchema")
    kinds = (("name", str), ("description", str), ("strict", bool))
    return (
        isinstance(schema, dict)
        and schema.keys() == {"json"}
        and isinstance(schema["json"], dict)
        and all(spec.get(member) is None or isinstance(spec[member], kind) for member, kind in kinds)
    )


def read_choice(choice: Any) -> ToolChoice | None:
    """Convert the tool choice."""
    if choice is None:
        return None
    kind = kind_of(choice)
    value = choice[kind] if kind is not None and len(choice) == 1 else None
    mode = _MODES.get(kind or "")
    if mode == "named" and isinstance(value, dict) and value.keys() == {"name"} and isinstance(value["name"], str):
        return ToolChoice("named", value["name"])
    if mode not in (None, "named") and value == {}:
        return ToolChoice(mode)  # type: ignore[arg-type]
    return ToolChoice("raw", raw=choice)


def write_tools(request: Request, context: WriteContext, called: Iterable[str]) -> dict[str, Any] | None:
    """Return the `toolConfig`, or None if no tool is declared.

    ``called``: the names on the wire of the tools that the history calls. Bedrock refuses a history with calls and no
    tool (BED-03), so these are declared if the request declares none.
    """
    tools = [written for tool in request.tools if (written := _write_tool(tool, context)) is not None]
    choice = request.tool_choice
    mode = None if choice is None else choice.mode
    if request.parallel is False and (tools or called):
        context.lose("parallel")
    if mode == "none":  # Bedrock has no such mode
        tools = [] if not called else tools
        context.lose("tool-choice", "there is no mode none; " + ("auto is used" if called else "no tool is declared"))
    if not tools:
        if mode not in (None, "auto", "none"):
            context.lose("tool-choice", "no tool is declared")
        tools = [{"toolSpec": {"name": name, "inputSchema": {"json": _ANY}}} for name in called]
        if tools:
            context.lose("default", "the tools of the history were declared, because the provider requires it")
        return {"tools": tools} if tools else None
    config: dict[str, Any] = {"tools": tools}
    if choice is not None and mode != "none":
        names = [member(member(tool, "toolSpec"), "name") for tool in tools]
        config["toolChoice"] = _write_choice(choice, request.wire == WIRE, context, names)
    return config


def _write_tool(tool: ToolDefinition, context: WriteContext) -> Any:
    own = tool.wire == WIRE
    if tool.kind == "hosted":
        if own:
            return tool.raw
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    written: dict[str, Any] = {"name": context.name(tool.name)}
    if tool.description:  # refused when empty
        written["description"] = tool.description
    schema = tool.parameters
    if tool.kind == "custom":
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
        schema = _FREE_TEXT
    elif not schema:
        schema = _ANY
    elif "type" not in schema:
        schema = {"type": "object", **schema}
    written["inputSchema"] = {"json": schema}
    if tool.strict is not None:
        written["strict"] = tool.strict and (own or keeps_strict(tool.name, schema, context))
    if own:
        written = merged(written, tool.extra)
    else:
        context.lose_extra(tool.extra, f"the tool {tool.name}")
    return {"toolSpec": written}


def _write_choice(choice: ToolChoice, own: bool, context: WriteContext, names: list[Any]) -> dict[str, Any]:
    """Convert the tool choice. ``names``: names of the declared tools on the wire."""
    if choice.mode == "raw":
        if own:
            raw: dict[str, Any] = choice.raw
            return raw
        context.lose("tool-choice", "a mode that only another wire has was replaced by auto")
        return {"auto": {}}
    if choice.mode != "named":
        return {_TYPES[choice.mode]: {}}
    name = None if choice.name is None else context.name(choice.name)
    if name is None or name not in names:
        context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was replaced by auto")
        return {"auto": {}}
    return {"tool": {"name": name}}
