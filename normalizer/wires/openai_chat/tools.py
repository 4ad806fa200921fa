"""Read and write tool definitions and the tool choice of a Chat Completions request."""

from __future__ import annotations

from typing import Any

from ...conversation import Request, ToolChoice, ToolDefinition
from ..strict_schema import fits_strict, with_properties
from ..traverse import member
from ..write_context import WriteContext
from .dialects import Dialect
from .schema import WIRE

#: Marks a tool definition or tool choice in the old spelling (``functions``, ``function_call``).
LEGACY = "legacy_functions"
_MODES: dict[str, Any] = {"auto": "auto", "none": "none", "required": "required", "any": "required"}
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def read_tools(tools: Any, params: dict[str, Any]) -> list[ToolDefinition]:
    """Return the tool definitions of ``tools`` and of the old ``functions`` in ``params``.

    Consumes a valid ``functions``. A ``tools`` value that is empty or not a list goes to ``params``.
    """
    legacy = params.get("functions")
    declared = []
    if isinstance(legacy, list) and legacy and all(isinstance(member(entry, "name"), str) for entry in legacy):
        declared = [_function(entry, {LEGACY: True}) for entry in params.pop("functions")]
    if not isinstance(tools, list) or not tools:
        if tools is not None:
            params["tools"] = tools
        return declared
    return declared + [_read_tool(tool) for tool in tools]


def _read_tool(tool: Any) -> ToolDefinition:
    kind = tool.get("type", "function") if isinstance(tool, dict) else None
    inner = tool.get(kind) if isinstance(kind, str) else None
    if kind not in ("function", "custom") or not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        name = tool.get("name") or kind if isinstance(tool, dict) else None
        return ToolDefinition(name if isinstance(name, str) else "", kind="hosted", wire=WIRE, raw=tool)
    outer = {key: value for key, value in tool.items() if key not in ("type", kind)}
    if "type" not in tool:
        outer["type"] = None
    return _function(inner, outer, kind)


def _function(inner: dict[str, Any], outer: dict[str, Any], kind: str = "function") -> ToolDefinition:
    known = {"name": str, "description": str, "parameters": dict, "strict": bool}
    if kind == "custom":
        known = {"name": str, "description": str}
    fields = {key: inner[key] for key, cls in known.items() if isinstance(inner.get(key), cls)}
    rest = {key: value for key, value in inner.items() if key not in fields}
    extra = {**outer, kind: rest} if rest else outer
    return ToolDefinition(**fields, kind=kind, wire=WIRE, extra=extra)


def read_choice(body: dict[str, Any], params: dict[str, Any]) -> ToolChoice | None:
    """Read ``tool_choice`` or the old ``function_call``; ``raw`` of the result keeps a non-standard spelling."""
    if "tool_choice" not in body:
        legacy = params.get("function_call")
        if legacy is None:
            return None
        choice = _read_choice(legacy, {"function": legacy} if isinstance(legacy, dict) else None)
        del params["function_call"]
        return ToolChoice(choice.mode, choice.name, {LEGACY: legacy})
    given = body["tool_choice"]
    if given is None:
        params["tool_choice"] = None
        return None
    return _read_choice(given, given)


def _read_choice(choice: Any, named: Any) -> ToolChoice:
    if isinstance(choice, str) and choice in _MODES:
        return ToolChoice(_MODES[choice], raw=choice if choice != _MODES[choice] else None)
    if isinstance(named, dict):
        function = named.get("function")
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            usual = named == {"type": "function", "function": {"name": function["name"]}}
            return ToolChoice("named", function["name"], None if usual else named)
        custom = named.get("custom")
        if isinstance(custom, dict) and isinstance(custom.get("name"), str):
            return ToolChoice("named", custom["name"], named)
    return ToolChoice("raw", raw=choice)


def write_tools(request: Request, dialect: Dialect, context: WriteContext, body: dict[str, Any]) -> None:
    """Add tool definitions, tool choice and ``parallel_tool_calls`` to ``body``, as far as the dialect accepts them."""
    own = context.own
    declared: list[Any] = []
    legacy: list[Any] = []
    for tool in request.tools:
        if own and LEGACY in tool.extra:
            legacy.append(_write_function(tool, context, "function"))
        elif (written := _write_tool(tool, dialect, context)) is not None:
            declared.append(written)
    if declared:
        body["tools"] = declared
    if legacy:
        body["functions"] = legacy
    if request.tool_choice is not None:
        _write_choice(request, request.tool_choice, dialect, context, body)
    if request.parallel is not None and (declared or (own and not dialect.tools_needed)):
        if own or dialect.parallel:
            body["parallel_tool_calls"] = request.parallel
        elif not request.parallel:
            context.lose("parallel")


def _write_tool(tool: ToolDefinition, dialect: Dialect, context: WriteContext) -> Any:
    if tool.kind == "hosted" or (tool.wire not in (None, WIRE) and tool.raw is not None):
        if context.own and tool.wire == WIRE:
            return tool.raw
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    if tool.kind == "custom" and not (context.own or dialect.custom):
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
        function = {"name": context.name(tool.name), "description": tool.description or "", "parameters": _FREE_TEXT}
        return {"type": "function", "function": function}
    kind = "custom" if tool.kind == "custom" else "function"
    inner = _write_function(tool, context, kind)
    if not context.own:
        return {"type": kind, kind: inner}
    outer = {key: value for key, value in tool.extra.items() if key not in (kind, LEGACY)}
    head = {} if "type" in outer and outer.pop("type") is None else {"type": kind}
    return {**head, kind: inner, **outer}


def _write_function(tool: ToolDefinition, context: WriteContext, kind: str) -> dict[str, Any]:
    inner: dict[str, Any] = {"name": context.name(tool.name)}
    if tool.description is not None:
        inner["description"] = tool.description
    if tool.parameters is not None:
        as_read = context.own and tool.wire == WIRE
        inner["parameters"] = tool.parameters if as_read else with_properties(tool.parameters)
    elif kind == "function" and not context.own:
        closed = {"additionalProperties": False} if tool.strict else {}
        inner["parameters"] = with_properties({"type": "object", **closed})
    if tool.strict is not None:
        inner["strict"] = tool.strict and (context.own or fits_strict(tool.name, inner.get("parameters"), context))
    if context.own:
        inner.update(tool.extra.get(kind) or {})
    else:
        context.lose_extra(tool.extra, f"the tool {tool.name}")
    return inner


def _write_choice(
    request: Request, choice: ToolChoice, dialect: Dialect, context: WriteContext, body: dict[str, Any]
) -> None:
    raw = choice.raw
    if context.leaves_out(choice, "tools" in body or "functions" in body, strict=dialect.tools_needed):
        return
    if context.own and isinstance(raw, dict) and LEGACY in raw:
        body["function_call"] = raw[LEGACY]
        return
    if context.own and raw is not None and (choice.name is None or context.name(choice.name) == choice.name):
        body["tool_choice"] = raw
        return
    if choice.mode == "named":
        named = [tool.kind for tool in request.tools if tool.name == choice.name and tool.kind != "hosted"]
        if choice.name is None or not (context.own or named):
            context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was replaced by auto")
            body["tool_choice"] = "auto"
            return
        kind = "custom" if dialect.custom and "custom" in named else "function"
        body["tool_choice"] = {"type": kind, kind: {"name": context.name(choice.name)}}
    elif choice.mode == "raw":
        context.lose("tool-choice")
    else:
        body["tool_choice"] = dialect.any_word if choice.mode == "required" and not context.own else choice.mode
