"""Coercion of parameter text into values of the types in the tool's JSON schema.

A parameter stays text if its schema allows a string or is unknown. Text that is not a value of the declared type is
kept unchanged and reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import json_codec
from ...arguments import overflows
from ...conversation import Request, Tool
from ...errors import MalformedBody
from ...repair import referenced

#: Spellings of JSON's literals by models; those of Python come from chat templates that print values with Python.
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
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
        given = schema.get("properties") if isinstance(schema, dict) else None
        return given if isinstance(given, dict) else None

    def takes(self, tool: str, parameter: str) -> bool:
        """Return whether a tool accepts a parameter of this name. A tool without declared parameters accepts any."""
        given = self.properties(tool)
        if not given or parameter in given or self.plural(tool, parameter) != parameter:
            return True
        return self._schemas[tool].get("additionalProperties") not in (None, False)

    def plural(self, tool: str, parameter: str) -> str:
        """Return the name of the list parameter whose items a model writes in the singular: ``paths`` for ``path``.

        Return the name itself if there is no such list.
        """
        given = self.properties(tool)
        if given is None or parameter in given or "array" not in self.kinds(tool, parameter + "s"):
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


def tool_schemas(given: Any) -> ToolSchemas:
    """Return the tools from a caller's argument: a request of any wire (parsed or canonical), definitions, or names.

    Raises MalformedBody for a value that is not a tool.
    """
    if given is None:
        return ToolSchemas(None)
    if isinstance(given, ToolSchemas):
        return given
    if isinstance(given, (bytes, str)):
        given = _decoded(given)
    if isinstance(given, Request):
        given = given.tools
    if isinstance(given, dict):
        members = (given.get("tools"), given.get("functions"))
        given = [tool for member in members if isinstance(member, list) for tool in member]
    elif hasattr(given, "ListFields"):
        given = [tool.function for tool in given.tools]
    return ToolSchemas(dict(_defined(given)))


def _decoded(text: bytes | str) -> Any:
    try:
        return json_codec.decode(text)
    except (ValueError, RecursionError) as error:
        hint = "pass a request's body, or a list of tool definitions or names"
        raise MalformedBody(f"the tools are not JSON: {error}", body=text, hint=hint) from None


def _defined(given: Any) -> Iterable[tuple[str, dict[str, Any]]]:
    for tool in given if isinstance(given, Iterable) else (given,):
        if isinstance(tool, str):
            yield tool, {}
        elif isinstance(tool, Tool):
            yield tool.name, tool.parameters or {}
        elif isinstance(tool, dict):
            function = tool.get("function")
            inner = function if isinstance(function, dict) else tool
            name, schema = inner.get("name"), inner.get("parameters", inner.get("input_schema"))
            if isinstance(name, str):
                yield name, schema if isinstance(schema, dict) else {}
        elif hasattr(tool, "parameters") and isinstance(getattr(tool, "name", None), str):  # xAI's protobuf function
            schema = _decoded(tool.parameters) if tool.parameters else {}
            yield tool.name, schema if isinstance(schema, dict) else {}
        else:
            raise MalformedBody(
                f"a {type(tool).__name__} declares no tool",
                body=tool,
                hint="pass a request, a list of tools, or the names of the tools",
            )


def parts_of(schema: Any, root: Any) -> list[dict[str, Any]]:
    """Return a schema and the schemas that it includes by ``$ref``, ``anyOf``, ``oneOf`` and ``allOf``, at most 100."""
    parts: list[dict[str, Any]] = []
    pending = [schema]
    while pending and len(parts) < 100:
        one = pending.pop()
        if not isinstance(one, dict):
            continue
        parts.append(one)
        pending.append(referenced(one.get("$ref"), root))
        for among in ("anyOf", "oneOf", "allOf"):
            if isinstance(one.get(among), list):
                pending.extend(one[among])
    return parts


def kinds_of(schema: Any, root: Any) -> set[str]:
    """Return the types that a schema states, or those of the values in ``const`` or ``enum``."""
    kinds: set[str] = set()
    for part in parts_of(schema, root):
        given = part.get("type")
        listed = [part["const"]] if "const" in part else part.get("enum")
        if isinstance(given, (str, list)):
            kinds.update([given] if isinstance(given, str) else (kind for kind in given if isinstance(kind, str)))
        elif isinstance(listed, list):
            kinds.update(_KINDS[type(one)] for one in listed if type(one) in _KINDS)
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
            return texts, [("markup-ambiguous", "it stands there more than once, and takes one value")]
        return texts, []
    (text,) = texts
    if not kinds:
        return (text, []) if plain is not False else _json(text, kinds)
    return (text, []) if "string" in kinds else _json(text, kinds)


def _list(tools: ToolSchemas, tool: str, parameter: str, texts: list[str], kinds: set[str]) -> tuple[Any, Problems]:
    if len(texts) == 1:
        found, trouble = _json(texts[0], kinds)
        if not trouble:
            return found, []
        if texts[0].lstrip().startswith("["):
            return found, trouble
    schema, root = tools.item(tool, parameter)
    inner = kinds_of(schema, root)
    made, troubles = [], []
    for text in texts:
        value, trouble = (text, []) if not inner or "string" in inner else _json(text, inner)
        made.append(value)
        troubles += trouble
    return made, troubles


def _json(text: str, kinds: set[str]) -> tuple[Any, Problems]:
    """Parse a text as a JSON value of one of the types (of any type, if none is given); keep the text on failure."""
    stripped = text.strip()
    if stripped in _WORDS:
        value: Any = _WORDS[stripped]
    else:
        try:
            value = json_codec.decode(stripped)
        except (ValueError, RecursionError):
            return text, [("parameter-mistyped", f"{text[:80]!r} is no {_named(kinds)}")]
    if overflows(value) or (kinds and not _fits(value, kinds)):
        return text, [("parameter-mistyped", f"{text[:80]!r} is no {_named(kinds)}")]
    return value, []


def _fits(value: Any, kinds: set[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return bool(kinds & {"integer", "number"})
    if isinstance(value, float):
        return "number" in kinds or ("integer" in kinds and value.is_integer())
    return _KINDS[type(value)] in kinds


def _named(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds)) or "JSON"
