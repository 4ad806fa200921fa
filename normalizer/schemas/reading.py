"""Reading of tool lists: those of OpenAI, Anthropic, Gemini, Bedrock and MCP, alone or inside a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ..conversation import ToolDefinition
from ..errors import MalformedBody

#: Members of a document that hold its tools: requests, MCP's ``tools/list`` result, and JSON-RPC's ``result``.
_HOLDERS = ("tools", "functions", "functionDeclarations", "function_declarations", "toolConfig", "result", "params")
#: Those whose items are all definitions, even one with nothing but a name.
_DECLARATIONS = ("functions", "functionDeclarations", "function_declarations")
#: Members of a definition that hold the schema.
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")

#: Gemini's number of each type, which some SDKs write -> the type.
_NUMBERED = {1: "string", 2: "number", 3: "integer", 4: "boolean", 5: "array", 6: "object", 7: "null"}


class SourceTool(Struct, frozen=True):
    """A tool definition with its place. ``pointer``: JSON pointer of the definition in the document. ``schema``: the
    pointer of its parameters, or None if it has none.
    """

    definition: ToolDefinition
    pointer: str
    schema: str | None = None

    def located(self, pointer: str) -> str:
        """Return the pointer in the document for a pointer in the definition."""
        if pointer.startswith("/parameters") and self.schema is not None:
            return self.schema + pointer.removeprefix("/parameters")
        return self.pointer + pointer


def read_tools(document: Any) -> list[SourceTool]:
    """Return the function tools of a document, in its order.

    ``document``: parsed JSON: a list of definitions, a request of any wire, an MCP listing, or one definition. Tools
    that the provider runs are left out. An empty list of tools is returned as such. Raises MalformedBody if the
    document contains neither that nor a tool definition of a known form.
    """
    found = list(_read(document, ""))
    if not found and not _declares_none(document):
        raise MalformedBody(
            "the document contains no tool definition",
            body=document,
            hint="pass a list of tools of OpenAI, Anthropic, Gemini or MCP, or a request that declares tools",
        )
    return found


def _read(value: Any, pointer: str, *, declared: bool = False) -> Iterator[SourceTool]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _read(item, f"{pointer}/{number}", declared=declared)
    elif isinstance(value, dict):
        nested = next((name for name in ("function", "toolSpec") if isinstance(value.get(name), dict)), None)
        if nested is not None:
            yield from _definition(value[nested], f"{pointer}/{nested}")
        elif isinstance(value.get("name"), str) and (declared or _schema(value) or _is_plain(value)):
            yield from _definition(value, pointer)
        else:
            for holder in _HOLDERS:
                if isinstance(value.get(holder), (list, dict)):
                    yield from _read(value[holder], f"{pointer}/{holder}", declared=holder in _DECLARATIONS)


def _declares_none(value: Any) -> bool:
    """Return whether a document has a list of tools, and this list is empty."""
    if isinstance(value, list):
        return all(isinstance(item, dict) and _declares_none(item) for item in value)
    return isinstance(value, dict) and any(holder in value and _declares_none(value[holder]) for holder in _HOLDERS)


def _is_plain(value: dict[str, Any]) -> bool:
    """Return whether an object without a schema is a definition, and not a hosted tool or something else."""
    kind = value.get("type")
    return kind == "function" or ("description" in value and kind in (None, "custom"))


def _schema(value: dict[str, Any]) -> tuple[str, Any] | None:
    """Return the member that holds the schema, and the schema."""
    for member in _SCHEMAS:
        schema = value.get(member)
        if member == "inputSchema" and isinstance(schema, dict) and isinstance(schema.get("json"), dict):
            return "inputSchema/json", schema["json"]
        if isinstance(schema, dict):
            return member, schema
    return None


def _definition(value: dict[str, Any], pointer: str) -> Iterator[SourceTool]:
    name, description, strict = value.get("name"), value.get("description"), value.get("strict")
    found = _schema(value)
    member, schema = found if found is not None else (None, None)
    yield SourceTool(
        ToolDefinition(
            name if isinstance(name, str) else "",
            description if isinstance(description, str) else None,
            with_json_types(schema) if _is_openapi(schema) else schema,
            strict if isinstance(strict, bool) else None,
        ),
        pointer,
        None if member is None else f"{pointer}/{member}",
    )


def _is_openapi(schema: Any) -> bool:
    """Return whether a schema is written in Gemini's subset of OpenAPI: types in capitals, or their numbers."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind.isupper() if isinstance(kind, str) else isinstance(kind, int) and kind in _NUMBERED


def with_json_types(schema: Any) -> Any:
    """Return a schema of Gemini's OpenAPI subset with the types of JSON Schema, and the same pointers."""
    if isinstance(schema, list):
        return [with_json_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    written: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "type":
            written["type"] = _NUMBERED.get(value, value) if isinstance(value, int) else _lower(value)
        elif keyword == "properties" and isinstance(value, dict):
            written["properties"] = {name: with_json_types(inner) for name, inner in value.items()}
        elif keyword in ("items", "anyOf"):
            written[keyword] = with_json_types(value)
        else:
            written[keyword] = value
    return written


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value
