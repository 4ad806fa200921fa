"""Conversion of tool definitions and of the tool choice.

A tool of Gemini holds a list of function declarations, or one of the provider's own tools, or both. Declarations have a
JSON schema (``parametersJsonSchema``) or a schema in a subset of OpenAPI (``parameters``).
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request, ToolChoice, ToolDefinition
from ...errors import MalformedBody
from ...schemas.reading import with_json_types
from ..declared_tools import declared_by_json
from ..decode_context import Declared
from ..traverse import member, members_except
from ..write_context import AS_WRITTEN, WriteContext, merged
from .schema import WIRE
from .spelling import camel_case, listed

_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none"}
_NAMES = {mode: name for name, mode in _MODES.items()}
_REPRESENTED = ("name", "description", "parametersJsonSchema", "parameters")
#: Schema for a custom tool, which takes one free text.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def declared_functions(request: Any) -> Declared:
    """Return the functions that a request declares, and the number of candidates that it requests.

    Tools in the form of another wire count, too.
    """
    body = camel_case(members_except(request, "contents")) if isinstance(request, dict) else {}
    schemas = dict(declared_by_json(body).schemas)
    for tool in listed(body.get("tools")):
        for declaration in listed(member(tool, "functionDeclarations")):
            name = member(declaration, "name")
            if isinstance(name, str):
                schemas[name] = declaration.get("parametersJsonSchema", declaration.get("parameters"))
    count = member(body.get("generationConfig"), "candidateCount")
    return Declared(frozenset(schemas), frozenset(), count if isinstance(count, int) and count > 0 else 1, schemas)


def read_tools(tools: Any) -> list[ToolDefinition]:
    """Convert the tools of a request, in which all members are in camel case."""
    definitions: list[ToolDefinition] = []
    for tool in listed(tools):
        if not isinstance(tool, dict):
            definitions.append(ToolDefinition("", kind="hosted", wire=WIRE, raw=tool))
            continue
        for name, value in tool.items():
            if name == "functionDeclarations":
                definitions += [_read_declaration(declaration) for declaration in listed(value)]
            else:
                definitions.append(ToolDefinition(name, kind="hosted", wire=WIRE, raw={name: value}))
    return definitions


def _read_declaration(declaration: Any) -> ToolDefinition:
    if not isinstance(declaration, dict) or not _fits(declaration):
        name = member(declaration, "name")
        raw = {"functionDeclarations": [declaration]}
        return ToolDefinition(name if isinstance(name, str) else "", kind="hosted", wire=WIRE, raw=raw)
    schema, original = declaration.get("parametersJsonSchema"), declaration.get("parameters")
    extra = members_except(declaration, *_REPRESENTED)
    if original is not None and schema is None:
        schema = json_schema(original)
        extra[AS_WRITTEN] = original
    elif schema is None:
        extra[AS_WRITTEN] = "no schema"
    name, description = declaration.get("name") or "", declaration.get("description")
    return ToolDefinition(name, description, schema, wire=WIRE, extra=extra)


def _fits(declaration: dict[str, Any]) -> bool:
    kinds = (("name", str), ("description", str), ("parametersJsonSchema", dict), ("parameters", dict))
    both = declaration.get("parameters") is not None and declaration.get("parametersJsonSchema") is not None
    return not both and all(
        declaration.get(name) is None or isinstance(declaration[name], kind) for name, kind in kinds
    )


def json_schema(schema: Any) -> Any:
    """Return the JSON schema of a schema in Gemini's subset of OpenAPI: types in small letters, no ``nullable``.

    Raises MalformedBody if it is nested too deeply.
    """
    try:
        return _nullable(with_json_types(schema))
    except RecursionError:
        raise MalformedBody("a schema of the request is nested too deeply", body=schema) from None


def _nullable(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_nullable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    written: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties" and isinstance(value, dict):
            written[keyword] = {name: _nullable(inner) for name, inner in value.items()}
        elif keyword in ("items", "anyOf"):
            written[keyword] = _nullable(value)
        elif keyword != "nullable":
            written[keyword] = value
    if schema.get("nullable") is True and isinstance(written.get("type"), str):
        written["type"] = [written["type"], "null"]
        if isinstance(written.get("enum"), list) and None not in written["enum"]:
            written["enum"] = [*written["enum"], None]
    return written


def read_choice(config: Any) -> tuple[ToolChoice | None, dict[str, Any]]:
    """Convert a ``toolConfig``, and return the tool choice with the members that it does not represent."""
    if not isinstance(config, dict):
        return None, {}
    calling = config.get("functionCallingConfig")
    rest = members_except(config, "functionCallingConfig")
    if not isinstance(calling, dict):
        return None, rest
    if others := members_except(calling, "mode", "allowedFunctionNames"):
        rest["functionCallingConfig"] = others
    mode, names = calling.get("mode"), listed(calling.get("allowedFunctionNames"))
    if mode is None and not names:
        return None, rest
    known = _MODES.get(mode.upper()) if isinstance(mode, str) else None
    if known == "required" and len(names) == 1 and isinstance(names[0], str):
        return ToolChoice("named", names[0]), rest
    if known is None or names:
        raw = {name: value for name, value in calling.items() if name in ("mode", "allowedFunctionNames")}
        return ToolChoice("raw", raw=raw), rest
    return ToolChoice(known), rest  # type: ignore[arg-type]


def write_tools(request: Request, context: WriteContext, body: dict[str, Any], config: dict[str, Any]) -> None:
    """Add the tools and the tool choice to ``body``. ``config``: the other members of its ``toolConfig``."""
    declarations: list[dict[str, Any]] = []
    tools: list[Any] = []
    for tool in request.tools:
        if tool.kind != "hosted":
            if not declarations:
                tools.append({"functionDeclarations": declarations})
            declarations.append(_write_declaration(tool, context))
        elif tool.wire == WIRE:
            tools.append(tool.raw)
        else:
            context.lose("hosted-tool", f"{tool.name} was not declared")
    if tools:
        body["tools"] = tools
    declared = declarations or (context.own and (tools or request.params.get("cachedContent")))
    calling = _write_choice(request, context, [declaration["name"] for declaration in declarations], declared)
    if request.parallel is False and declarations:
        context.lose("parallel")
    if calling is not None:
        more = config.get("functionCallingConfig")
        config = {**config, "functionCallingConfig": merged(calling, more if isinstance(more, dict) else {})}
    if config:
        body["toolConfig"] = config


def _write_declaration(tool: ToolDefinition, context: WriteContext) -> dict[str, Any]:
    written: dict[str, Any] = {"name": context.name(tool.name)}
    if tool.description is not None:
        written["description"] = tool.description
    if tool.kind == "custom":
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
    if tool.strict:
        context.lose("param", f"strict: {tool.name} was declared without it")
    if tool.wire == WIRE:
        original = tool.extra.get(AS_WRITTEN)
        if isinstance(original, dict) and tool.parameters == json_schema(original):
            written["parameters"] = original
        elif tool.parameters is not None:
            written["parametersJsonSchema"] = tool.parameters
        return merged(written, tool.extra, AS_WRITTEN)
    context.lose_extra(tool.extra, f"the tool {tool.name}", None, "type", "name", "parameters")
    schema = _FREE_TEXT if tool.kind == "custom" else tool.parameters
    if schema:
        written["parametersJsonSchema"] = schema if "type" in schema else {"type": "object", **schema}
    return written


def _write_choice(request: Request, context: WriteContext, names: list[str], declared: object) -> dict[str, Any] | None:
    """Return the ``functionCallingConfig`` for the tool choice.

    ``names``: the declared functions on the wire. ``declared``: whether there is any tool.
    """
    choice = request.tool_choice
    if choice is None or context.leaves_out(choice, declared):
        return None
    if request.wire == WIRE and choice.mode == "raw":
        raw: dict[str, Any] = choice.raw
        return raw
    if choice.mode == "named":
        name = None if choice.name is None else context.name(choice.name)
        if name is not None and (name in names or request.wire == WIRE):
            return {"mode": "ANY", "allowedFunctionNames": [name]}
        context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice was replaced by auto")
        return {"mode": "AUTO"}
    if choice.mode == "raw":
        context.lose("tool-choice", "a mode that only another wire has was replaced by auto")
        return {"mode": "AUTO"}
    return {"mode": _NAMES[choice.mode]}
