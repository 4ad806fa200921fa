"""Reading of the tools that a request declares, which decides which calls a decoder accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import compress, repeat
from operator import contains
from typing import Any

from .. import json_codec
from ..errors import MalformedBody
from .decode_context import Declared
from .registry import WireSpec, spec_of_object

#: Types of the tools that Anthropic runs itself. Tools of its other versioned types are executed by the caller.
_HOSTED = r"(web_search|web_fetch|code_execution|tool_search_tool_\w+|advisor)_\d{8}|mcp_toolset"

#: The members that hold the name and schema of a tool, where they are not members of the definition itself.
_HOLDERS = ("function", "custom", "toolSpec")


def declared_by(request: Any, wire: WireSpec | None = None) -> Declared:
    """Return the tools that a request declares, the number of its choices, and whether its tool choice names a tool.

    ``request``: the body on any wire (parsed, bytes or the SDK's message), or an iterable of tool definitions or names.
    ``wire``: the wire of the response, if it is known. Raises MalformedBody for anything else.
    """
    if isinstance(request, Declared):
        return request
    if isinstance(request, (bytes, str)):
        try:
            request = json_codec.decode(request)
        except (ValueError, RecursionError) as error:
            raise MalformedBody(f"the request is not JSON: {error}", body=request) from None
    if not isinstance(request, dict):
        wire = spec_of_object(request)
        if wire is None:
            return _declared_by_tools(request)
    return declared_by_json(request) if wire is None or wire.declared is None else wire.declared(request)


def _with_tools(items: list[Any]) -> list[dict[str, Any]]:
    """Return the items with tools that a tool search or the caller added during the conversation, which can be long."""
    with suppress(TypeError):  # an item is a number or JSON null
        items = [*compress(items, map(contains, items, repeat("tools")))]  # four times as fast as a loop
    return [item for item in items if isinstance(item, dict) and "tools" in item]


def declared_by_json(body: dict[str, Any]) -> Declared:
    """Return the tools in the JSON of a request: those of ``tools``, ``functions`` and of the items of ``input``.

    Converse has them in ``toolConfig``.
    """
    collected = _Collected()
    collected.add_all(body.get("tools"))
    config = body.get("toolConfig")
    collected.add_all(config.get("tools") if isinstance(config, dict) else None)
    collected.add_all(body.get("functions"))
    items = body.get("input")
    for item in _with_tools(items) if isinstance(items, list) else ():
        collected.add_all(item["tools"])
    n = body.get("n")
    choice = body.get("tool_choice")
    named = isinstance(body.get("function_call"), dict) or (
        isinstance(choice, dict) and choice.get("type") in ("function", "custom")
    )
    return collected.declared(n if isinstance(n, int) and n > 0 else 1, named)


def _declared_by_tools(tools: Any) -> Declared:
    """Return the tools of an iterable of names or definitions. Raises MalformedBody for anything else."""
    collected = _Collected()
    for tool in tools if isinstance(tools, Iterable) else [None]:
        if isinstance(tool, str):
            collected.names.add(tool)
        elif isinstance(tool, dict):
            collected.add(tool)
        else:
            raise MalformedBody(
                f"request has an unsupported type: {type(tools).__name__}",
                body=tools,
                hint="pass the request's body, its list of tools, or the names of the tools",
            )
    return collected.declared()


def _converse_schema(holder: dict[str, Any]) -> Any:
    schema = holder.get("inputSchema")
    return schema.get("json") if isinstance(schema, dict) else None


class _Collected:
    """The client tools found so far, by name, and the hosted tools without a name.

    Other hosted tools, recognized by their type, are left out.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.custom: set[str] = set()
        self.schemas: dict[str, Any] = {}
        self.hosted: set[str] = set()

    def add_all(self, tools: Any) -> None:
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict):
                self.add(tool)

    def add(self, tool: dict[str, Any]) -> None:
        kind = tool.get("type")
        holder = next((tool[key] for key in _HOLDERS if isinstance(tool.get(key), dict)), tool)
        name = holder.get("name")
        self.add_all(tool.get("tools"))  # a namespace
        if isinstance(name, str) and not (isinstance(kind, str) and re.fullmatch(_HOSTED, kind)):
            self.names.add(name)
            self.schemas[name] = holder.get("parameters", holder.get("input_schema", _converse_schema(holder)))
            if kind == "custom":
                self.custom.add(name)
        elif not isinstance(name, str):
            labels = [label for label in (*tool, kind) if isinstance(label, str)]
            self.hosted.update(re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", label) for label in labels)

    def declared(self, n: int = 1, named: bool = False) -> Declared:
        hosted = frozenset(self.hosted)
        return Declared(frozenset(self.names), frozenset(self.custom), n, self.schemas, hosted, named)
