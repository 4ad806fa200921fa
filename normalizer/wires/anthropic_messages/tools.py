"""Conversion of tool definitions and of the tool choice."""

from __future__ import annotations

from typing import Any

from ...conversation import Request, ToolChoice, ToolDefinition
from ..tool_rules import keeps_strict
from ..traverse import members_except
from ..write_context import WriteContext, merged
from .parts import kind_of
from .schema import WIRE

_MODES = {"auto": "auto", "any": "required", "tool": "named", "none": "none"}
_TYPES = {mode: kind for kind, mode in _MODES.items()}
#: The members of a tool definition that canonical fields represent.
_REPRESENTED = ("name", "description", "input_schema", "strict")
#: Schema for a custom tool, which takes one free text.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def read_tool(definition: Any) -> ToolDefinition:
    """Convert a tool definition.

    Tools that the provider defines have a type and no schema, and are kept as raw objects. So are definitions with
    members of undocumented types.
    """
    if not isinstance(definition, dict) or definition.get("type") not in (None, "custom") or not _fits(definition):
        members = ("name", "mcp_server_name", "type")
        names = (definition.get(member) for member in members) if isinstance(definition, dict) else ()
        name = next((name for name in names if isinstance(name, str)), "")
        return ToolDefinition(name, kind="hosted", wire=WIRE, raw=definition)
    strict = definition.get("strict")
    return ToolDefinition(
        definition.get("name") or "",
        definition.get("description"),
        definition.get("input_schema"),
        strict if isinstance(strict, bool) else None,
        wire=WIRE,
        extra=members_except(definition, *_REPRESENTED),
    )


def _fits(definition: dict[str, Any]) -> bool:
    kinds = (("name", str), ("description", str), ("input_schema", dict))
    return all(definition.get(member) is None or isinstance(definition[member], kind) for member, kind in kinds)


def read_choice(choice: Any) -> tuple[ToolChoice | None, bool | None]:
    """Convert the tool choice, and return it with the flag for parallel calls (None if not specified)."""
    if not isinstance(choice, dict):
        return (None, None) if choice is None else (ToolChoice("raw", raw=choice), None)
    mode = _MODES.get(kind_of(choice) or "")
    single = choice.get("disable_parallel_tool_use")
    name = choice.get("name")
    known = {"type", "disable_parallel_tool_use", "name"} >= choice.keys() and isinstance(single, (bool, type(None)))
    if mode is None or not known or (mode == "named") != isinstance(name, str):
        return ToolChoice("raw", raw=choice), None
    return ToolChoice(mode, name), None if single is None else not single  # type: ignore[arg-type]


def write_tools(request: Request, context: WriteContext, params: dict[str, Any], body: dict[str, Any]) -> None:
    """Add the tool definitions and the tool choice to ``body``. ``params``: the parameters of the body."""
    own = request.wire == WIRE
    tools = [written for tool in request.tools if (written := _write_tool(tool, context)) is not None]
    if tools or (request.tools and own):
        body["tools"] = tools
    choice = request.tool_choice
    declared = tools or (own and (params.get("mcp_servers") or params.get("tools")))
    if not declared and (choice is None or context.leaves_out(choice, declared, strict=True)):
        return  # providers refuse a choice without tools
    thinking = params.get("thinking")
    thinks = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
    if (written := _write_choice(request, context, thinks, names)) is not None:
        body["tool_choice"] = written


def _write_tool(tool: ToolDefinition, context: WriteContext) -> Any:
    own = tool.wire == WIRE
    if tool.kind == "hosted":
        if own:
            return tool.raw
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    written: dict[str, Any] = {"name": context.name(tool.name)}
    if tool.description is not None:
        written["description"] = tool.description
    schema = tool.parameters
    if tool.kind == "custom":
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
        schema = _FREE_TEXT
    elif not schema:
        schema = {"type": "object", "properties": {}}
    elif isinstance(schema, dict) and "type" not in schema:
        schema = {"type": "object", **schema}
    written["input_schema"] = schema
    if tool.strict is not None:
        written["strict"] = tool.strict and (own or keeps_strict(tool.name, schema, context))
    if own:
        return merged(written, tool.extra)
    context.lose_extra(tool.extra, f"the tool {tool.name}")
    return written


def _write_choice(request: Request, context: WriteContext, thinks: bool, names: list[Any]) -> dict[str, Any] | None:
    """Convert the tool choice. With extended thinking a forced choice becomes "auto", as providers refuse it (TC-01).

    ``names``: names of the declared tools on the wire.
    """
    choice, parallel = request.tool_choice, request.parallel
    written: dict[str, Any] | None = None
    if choice is not None and choice.mode == "raw":
        if request.wire == WIRE:
            raw: dict[str, Any] = choice.raw
            return raw
        context.lose("tool-choice", "a mode that only another wire has was replaced by auto")
        written = {"type": "auto"}
    elif choice is not None:
        kind = _TYPES[choice.mode]
        if thinks and kind in ("any", "tool"):
            context.lose("tool-choice", "thinking does not allow a forced choice; it was replaced by auto")
            kind = "auto"
        name = context.name(choice.name) if kind == "tool" and choice.name is not None else None
        if kind == "tool" and (name is None or name not in names):
            context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was replaced by auto")
            kind = "auto"
        written = {"type": kind}
        if kind == "tool":
            written["name"] = name
    elif parallel is False:
        written = {"type": "auto"}
    if written is not None and parallel is not None and written["type"] != "none":
        written["disable_parallel_tool_use"] = not parallel
    return written
