"""Coercion of parameter text into values of the types in the tool's JSON schema.

A parameter stays text if its schema allows a string or is unknown. Text that is not a value of the declared type is
kept unchanged and reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import json_codec
from ...arguments import overflows
from ...conversation import Request, ToolDefinition
from ...errors import MalformedBody
from ...repair import referenced

#: Spellings of JSON's literals by models; those of Python come from chat templates that print values with Python.
_LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
#: Python type -> type name in JSON Schema.
_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
Problems = list[tuple[str, str]]


class ToolSchemas:
    """The declared tools with the JSON schemas of their parameters. ``names`` is None if the tools are unknown."""

    def __init__(self, schemas: dict[str, dict[str, Any]] | None) -> None:
        self.names = None if schemas is None else frozenset(schemas)
        self._schemas = schemas or {}

    def properties(self, tool: str) -> dict[str, Any] | None:
        """Return the schemas of a tool's parameters by name; None if they are unknown."""
        schema = self._schemas.get(tool)
        properties = schema.get("properties") if isinstance(schema, dict) else None
        return properties if isinstance(properties, dict) else None

    def takes(self, tool: str, parameter: str) -> bool:
        """Return whether a tool accepts a parameter of this name. A tool without declared parameters accepts any."""
        properties = self.properties(tool)
        if not properties or parameter in properties or self.plural(tool, parameter) != parameter:
            return True
        return self._schemas[tool].get("additionalProperties") not in (None, False)

    def plural(self, tool: str, parameter: str) -> str:
        """Return the name of the list parameter whose items a model writes in the singular: ``paths`` for ``path``.

        Return the name itself if there is no such list.
        """
        properties = self.properties(tool)
        if properties is None or parameter in properties or "array" not in self.kinds(tool, parameter + "s"):
            return parameter
        return parameter + "s"

    def kinds(self, tool: str, parameter: str) -> set[str]:
        """Return the types that a parameter may have; none if they are unknown."""
        schema = (self.properties(tool) or {}).get(parameter)
        return kinds_of(schema, self._schemas.get(tool, {}))

    def is_text(self, tool: str, parameter: str) -> bool:
        """Return whether a parameter is kept as text, because its schema allows a string or is unknown."""
        kinds = self.kinds(tool, self.plural(tool, parameter))
        return not kinds or "string" in kinds

    def item(self, tool: str, parameter: str) -> tuple[Any, Any]:
        """Return the schema of a list's items, and the root schema for its references."""
        root = self._schemas.get(tool, {})
        schema = (self.properties(tool) or {}).get(parameter)
        return next((part["items"] for part in parts_of(schema, root) if "items" in part), None), root


def tool_schemas(source: Any) -> ToolSchemas:
    """Return the tools from a caller's argument: a request of any wire (parsed or canonical), definitions, or names.

    Raises MalformedBody for a value that is not a tool.
    """
    if source is None:
        return ToolSchemas(None)
    if isinstance(source, ToolSchemas):
        return source
    if isinstance(source, (bytes, str)):
        source = _decoded(source)
    if isinstance(source, Request):
        source = source.tools
    if isinstance(source, dict):
        members = (source.get("tools"), source.get("functions"))
        source = [tool for member in members if isinstance(member, list) for tool in member]
    elif hasattr(source, "ListFields"):
        source = [tool.function for tool in source.tools]
    return ToolSchemas(dict(_defined(source)))


def _decoded(text: bytes | str) -> Any:
    try:
        return json_codec.decode(text)
    except (ValueError, RecursionError) as error:
        hint = "pass a request's body, or a list of tool definitions or names"
        raise MalformedBody(f"the tools are not JSON: {error}", body=text, hint=hint) from None


def _defined(source: Any) -> Iterable[tuple[str, dict[str, Any]]]:
    for tool in source if isinstance(source, Iterable) else (source,):
        if isinstance(tool, str):
            yield tool, {}
        elif isinstance(tool, ToolDefinition):
            yield tool.name, tool.parameters or {}
        elif isinstance(tool, dict):
            function = tool.get("function")
            definition = function if isinstance(function, dict) else tool
            name, schema = definition.get("name"), definition.get("parameters", definition.get("input_schema"))
            if isinstance(name, str):
                yield name, schema if isinstance(schema, dict) else {}
        elif hasattr(tool, "parameters") and isinstance(getattr(tool, "name", None), str):  # xAI's protobuf function
            schema = _decoded(tool.parameters) if tool.parameters else {}
            yield tool.name, schema if isinstance(schema, dict) else {}
        else:
            raise MalformedBody(
                f"not a tool definition: {type(tool).__name__}",
                body=tool,
                hint="pass a request, a list of tools, or the names of the tools",
            )


def parts_of(schema: Any, root: Any) -> list[dict[str, Any]]:
    """Return a schema and the schemas that it includes by ``$ref``, ``anyOf``, ``oneOf`` and ``allOf``, at most 100."""
    parts: list[dict[str, Any]] = []
    pending = [schema]
    while pending and len(parts) < 100:
        part = pending.pop()
        if not isinstance(part, dict):
            continue
        parts.append(part)
        pending.append(referenced(part.get("$ref"), root))
        for keyword in ("anyOf", "oneOf", "allOf"):
            if isinstance(part.get(keyword), list):
                pending.extend(part[keyword])
    return parts


def kinds_of(schema: Any, root: Any) -> set[str]:
    """Return the types that a schema states, or those of the values in ``const`` or ``enum``."""
    kinds: set[str] = set()
    for part in parts_of(schema, root):
        declared = part.get("type")
        values = [part["const"]] if "const" in part else part.get("enum")
        if isinstance(declared, (str, list)):
            kinds.update([declared] if isinstance(declared, str) else (kind for kind in declared if type(kind) is str))
        elif isinstance(values, list):
            kinds.update(_KINDS[type(value)] for value in values if type(value) in _KINDS)
    return kinds


def value_of(
    tools: ToolSchemas, tool: str, parameter: str, texts: list[str], plain: bool | None
) -> tuple[Any, Problems]:
    """Return the value of a parameter from the texts of its occurrences, and findings as (code, message) pairs.

    ``plain``: whether the markup marks the value as text (True) or JSON (False); None if it does neither.
    """
    parameter = tools.plural(tool, parameter)
    kinds = tools.kinds(tool, parameter)
    if "array" in kinds and "string" not in kinds:
        return _list(tools, tool, parameter, texts, kinds)
    if len(texts) > 1:
        if kinds:
            return texts, [("markup-ambiguous", "it occurs more than once, but takes one value")]
        return texts, []
    (text,) = texts
    if not kinds:
        return (text, []) if plain is not False else _json(text, kinds)
    return (text, []) if "string" in kinds else _json(text, kinds)


def _list(tools: ToolSchemas, tool: str, parameter: str, texts: list[str], kinds: set[str]) -> tuple[Any, Problems]:
    if len(texts) == 1:
        value, problems = _json(texts[0], kinds)
        if not problems or texts[0].lstrip().startswith("["):
            return value, problems
    item_kinds = kinds_of(*tools.item(tool, parameter))
    if not item_kinds or "string" in item_kinds:
        return texts, []
    items = [_json(text, item_kinds) for text in texts]
    return [value for value, _ in items], [problem for _, problems in items for problem in problems]


def _json(text: str, kinds: set[str]) -> tuple[Any, Problems]:
    """Parse a text as a JSON value of one of the types (of any type, if there are none); keep the text on failure."""
    stripped = text.strip()
    try:
        value = _LITERALS[stripped] if stripped in _LITERALS else json_codec.decode(stripped)
        valid = not overflows(value) and (not kinds or _fits(value, kinds))
    except (ValueError, RecursionError):
        valid = False
    if valid:
        return value, []
    expected = " or ".join(sorted(kinds)) or "JSON"
    return text, [("parameter-mistyped", f"expected {expected}, got {text[:80]!r}")]


def _fits(value: Any, kinds: set[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return bool(kinds & {"integer", "number"})
    if isinstance(value, float):
        return "number" in kinds or ("integer" in kinds and value.is_integer())
    return _KINDS[type(value)] in kinds
