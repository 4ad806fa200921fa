"""Conversion of tool definitions and of the tool choice.

Strict mode is a member of the request here (``strict_tools``), and of each tool in the canonical form.
"""

from __future__ import annotations

from typing import Any, Literal

from ...conversation import Request, ToolChoice, ToolDefinition
from ...errors import MissingExtra
from ..traverse import members_except
from ..write_context import WriteContext, merged
from .schema import WIRE

_MODES: dict[str, Literal["required", "none"]] = {"REQUIRED": "required", "NONE": "none"}
_WORDS = {mode: word for word, mode in _MODES.items()}
#: Schema for a custom tool, which takes one free text.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
#: The members of a function that canonical fields represent, with their types.
_REPRESENTED = {"name": str, "description": str, "parameters": dict}


def read_tool(tool: Any, strict: bool | None) -> ToolDefinition:
    """Convert a tool definition. ``strict``: the request's ``strict_tools``."""
    function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        name = tool.get("name") or tool.get("type") if isinstance(tool, dict) else None
        return ToolDefinition(name if isinstance(name, str) else "", kind="hosted", wire=WIRE, raw=tool)
    fields = {name: function[name] for name, kind in _REPRESENTED.items() if isinstance(function.get(name), kind)}
    extra = members_except(tool, "type", "function")
    if rest := members_except(function, *fields):
        extra["function"] = rest
    return ToolDefinition(**fields, strict=strict, wire=WIRE, extra=extra)


def read_choice(choice: Any) -> ToolChoice | None:
    """Convert the tool choice."""
    if choice is None:
        return None
    mode = _MODES.get(choice) if isinstance(choice, str) else None
    return ToolChoice("raw", raw=choice) if mode is None else ToolChoice(mode)


def write_tools(request: Request, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the tool definitions, ``strict_tools`` and the tool choice to ``body``."""
    tools = [written for tool in request.tools if (written := _write_tool(tool, context)) is not None]
    if tools or (request.tools and context.own):
        body["tools"] = tools
        _write_strict(request.tools, context, body)
    if request.parallel is False and tools:
        context.lose("parallel")
    choice = request.tool_choice
    if choice is not None and (word := _write_choice(choice, request.tools, bool(tools), context)) is not None:
        body["tool_choice"] = word


def _write_tool(tool: ToolDefinition, context: WriteContext) -> Any:
    own = tool.wire == WIRE and context.own
    if tool.kind == "hosted":
        if own:
            return tool.raw
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    function: dict[str, Any] = {"name": context.name(tool.name)}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.kind == "custom":
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
        function["parameters"] = _FREE_TEXT
    elif tool.parameters is not None or not own:
        function["parameters"] = tool.parameters or _NO_PARAMETERS
    if not own:
        context.lose_extra(tool.extra, f"the tool {tool.name}")
        return {"type": "function", "function": function}
    function.update(tool.extra.get("function") or {})
    return merged({"type": "function", "function": function}, tool.extra)


def _write_strict(tools: list[ToolDefinition], context: WriteContext, body: dict[str, Any]) -> None:
    """Add ``strict_tools`` if all tools are strict and the API accepts their schemas then."""
    functions = [tool for tool in tools if tool.kind != "hosted"]
    modes = {tool.strict for tool in functions}
    if context.own:
        if len(modes) == 1 and (mode := modes.pop()) is not None:
            body["strict_tools"] = mode
        return
    if True not in modes:
        return
    if modes != {True}:
        context.lose("param", "strict: the API has one setting for all tools, and not all are strict; it was left out")
    elif refused := _refused_when_strict(functions):
        context.lose(
            "param", f"strict: strict mode does not accept the schema of {', '.join(refused)}; it was left out"
        )
    else:
        body["strict_tools"] = True


def _refused_when_strict(tools: list[ToolDefinition]) -> list[str]:
    """Return the names of the tools whose schemas strict mode refuses."""
    from ...schemas import check_tools  # imported only when needed

    try:
        violations = check_tools(tools, WIRE)
    except MissingExtra:  # a schema with references, which only the extra can resolve
        return [tool.name for tool in tools]
    return list(dict.fromkeys(v.name for v in violations if v.effect == "refused" and v.rule != "name"))


def _write_choice(choice: ToolChoice, tools: list[ToolDefinition], declared: bool, context: WriteContext) -> Any:
    """Return the tool choice; None if the model may choose. There is no word for one tool."""
    if context.leaves_out(choice, declared):
        return None
    if choice.mode == "raw":
        if context.own:
            return choice.raw
        context.lose("tool-choice", "a mode that only another wire has was left out")
        return None
    if choice.mode == "auto":
        return None
    if choice.mode == "named":
        if not any(tool.name == choice.name and tool.kind != "hosted" for tool in tools):
            context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was left out")
            return None
        context.lose("tool-choice", f"the API cannot force the tool {choice.name}; any tool was required instead")
        return _WORDS["required"]
    return _WORDS[choice.mode]
