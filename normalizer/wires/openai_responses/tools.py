"""Conversion of tool definitions and of the tool choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ...conversation import Assistant, Message, RawItem, Request, ToolChoice, ToolDefinition
from ...model import Opaque
from ..strict_schema import fits_strict, with_properties
from ..traverse import member
from ..write_context import AS_WRITTEN, WriteContext, merged
from .schema import WIRE

ADDITIONAL = "additional_tools"
_MODES = frozenset(("auto", "none", "required"))
#: Marks a function that was declared in the form of Chat Completions.
NESTED = "nested"
#: Extra members of tools from other wires that this wire expresses in canonical fields.
_SPELLINGS = ("type", "name", "parameters", "legacy_functions")


def read_tool(raw: Any) -> ToolDefinition:
    """Return the definition of a function or custom tool; any other is a hosted tool that keeps its raw value."""
    if not isinstance(raw, dict):
        return ToolDefinition("", kind="hosted", wire=WIRE, raw=raw)
    if _is_nested(raw):
        return replace(read_tool({"type": "function", **raw["function"]}), extra={AS_WRITTEN: NESTED})
    kind, name = raw.get("type"), raw.get("name")
    parameters, strict, description = raw.get("parameters"), raw.get("strict"), raw.get("description")
    fits = isinstance(name, str) and (description is None or isinstance(description, str))
    if kind == "function" and fits and _is(parameters, dict) and _is(strict, bool):
        known = ("type", "name", "description", "parameters", "strict")
        extra = {k: v for k, v in raw.items() if k not in known or v is None}
        return ToolDefinition(name, description, parameters, strict, wire=WIRE, extra=extra)  # type: ignore[arg-type]
    if kind == "custom" and fits:
        extra = {k: v for k, v in raw.items() if k not in ("type", "name", "description") or v is None}
        return ToolDefinition(name, description, kind="custom", wire=WIRE, extra=extra)  # type: ignore[arg-type]
    label = name if isinstance(name, str) else kind if isinstance(kind, str) else ""
    return ToolDefinition(label, kind="hosted", wire=WIRE, raw=raw)


def _is_nested(raw: dict[str, Any]) -> bool:
    """Whether a tool is a function in the form of Chat Completions, which the endpoints also accept."""
    inner = raw.get("function")
    if raw.keys() != {"type", "function"} or raw["type"] != "function" or not isinstance(inner, dict):
        return False
    kinds = {"name": str, "description": str, "parameters": dict, "strict": bool}
    return "name" in inner and all(isinstance(value, kinds.get(key, ())) for key, value in inner.items())


def _is(value: Any, kind: type) -> bool:
    return value is None or isinstance(value, kind)


def read_choice(raw: Any) -> ToolChoice | None:
    if raw is None:
        return None
    if isinstance(raw, str) and raw in _MODES:
        return ToolChoice(raw)  # type: ignore[arg-type]
    named = isinstance(raw, dict) and raw.keys() == {"type", "name"} and isinstance(raw["name"], str)
    if named and raw["type"] in ("function", "custom"):
        return ToolChoice("named", raw["name"], None if raw["type"] == "function" else raw)
    return ToolChoice("raw", raw=raw)


def write_tools(request: Request, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the tool definitions, the tool choice and ``parallel_tool_calls`` to ``body``."""
    tools = [written for tool in request.tools if (written := _write_tool(tool, context)) is not None]
    if tools:
        body["tools"] = tools
    choice = _write_choice(request, tools, context)
    if choice is not None:
        body["tool_choice"] = choice
    if request.parallel is not None:
        body["parallel_tool_calls"] = request.parallel


def _write_tool(tool: ToolDefinition, context: WriteContext) -> dict[str, Any] | None:
    own = tool.wire == WIRE
    if tool.kind == "hosted":
        if own and context.own and tool.raw is not None:
            return tool.raw  # type: ignore[no-any-return]
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    nested = own and tool.extra.get(AS_WRITTEN) == NESTED
    written: dict[str, Any] = {
        "type": "custom" if tool.kind == "custom" else "function",
        "name": context.name(tool.name),
    }
    if tool.description is not None:
        written["description"] = tool.description
    if tool.kind != "custom":
        if own:
            if tool.parameters is not None:
                written["parameters"] = tool.parameters
            if tool.strict is not None:
                written["strict"] = tool.strict
            elif nested and not context.own:
                written["strict"] = False  # the default in that form
        else:
            strict = bool(tool.strict)  # the default is true here and false on other wires
            closed = {"additionalProperties": False} if strict else {}
            written["parameters"] = with_properties(tool.parameters or {"type": "object", **closed})
            written["strict"] = strict and fits_strict(tool.name, written["parameters"], context)
    elif not own and isinstance(custom := tool.extra.get("custom"), dict) and isinstance(custom.get("format"), dict):
        form = custom["format"]
        grammar = form.get("grammar")
        rest = {k: v for k, v in form.items() if k != "grammar"}
        # A grammar is flat here and nested in Chat Completions.
        written["format"] = {**rest, **grammar} if isinstance(grammar, dict) else rest
        left = {**tool.extra, **custom, "custom": None, "format": None}
        context.lose_extra(left, f"the tool {tool.name}", None, *_SPELLINGS)
        return written
    if nested and context.own:
        return {"type": "function", "function": {k: v for k, v in written.items() if k != "type"}}
    if own:
        return merged(written, tool.extra, AS_WRITTEN)
    context.lose_extra(tool.extra, f"the tool {tool.name}", None, *_SPELLINGS)
    return written


def additions(message: Message) -> Iterator[Any]:
    """Yield the items of a message that add tools."""
    if type(message) is RawItem and message.wire == WIRE:
        if member(message.raw, "type") == ADDITIONAL:
            yield message.raw
    elif type(message) is Assistant:
        for block in message.response.choices[0].blocks if message.response.choices else ():
            if type(block) is Opaque and block.wire_type == ADDITIONAL:
                yield block.raw


def _write_choice(request: Request, tools: list[dict[str, Any]], context: WriteContext) -> Any:
    choice = request.tool_choice
    if choice is None:
        return None
    # A stored prompt can have tools, and so can the history.
    elsewhere = context.own and ("prompt" in request.params or any(map(list, map(additions, request.messages))))
    if context.leaves_out(choice, tools or elsewhere):
        return None
    if context.own and choice.mode == "raw":
        return choice.raw
    if choice.mode == "named":
        name = context.name(choice.name) if choice.name is not None else None
        declared = [tool.get("type") for tool in tools if isinstance(tool, dict) and tool.get("name") == name]
        if name is not None and (context.own or declared):
            return {"type": "custom" if "custom" in declared else "function", "name": name}
        context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was replaced by auto")
        return "auto"
    if choice.mode != "raw":
        return choice.mode
    context.lose("tool-choice", f"{choice.raw!r} was replaced by auto")
    return "auto"
