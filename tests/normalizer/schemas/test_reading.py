"""Reading of tool lists in the forms of the providers."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.errors import MalformedBody
from toolparity.schemas import read_tools

_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
_FLAT = {"name": "weather", "description": "of a city"}
_GEMINI, _SPEC = _FLAT | {"parametersJsonSchema": _SCHEMA}, _FLAT | {"inputSchema": {"json": _SCHEMA}}


@pytest.mark.parametrize(
    ("document", "pointer", "schema"),
    [
        ([{"type": "function", "function": {**_FLAT, "parameters": _SCHEMA}}], "/0/function", "/parameters"),
        ({"tools": [{"type": "function", **_FLAT, "parameters": _SCHEMA}]}, "/tools/0", "/parameters"),
        ({"functions": [{**_FLAT, "parameters": _SCHEMA}]}, "/functions/0", "/parameters"),
        ([{**_FLAT, "input_schema": _SCHEMA}], "/0", "/input_schema"),
        ({"result": {"tools": [{**_FLAT, "inputSchema": _SCHEMA}]}}, "/result/tools/0", "/inputSchema"),
        ({"tools": [{"functionDeclarations": [_GEMINI]}]}, "/tools/0/functionDeclarations/0", "/parametersJsonSchema"),
        ({"toolConfig": {"tools": [{"toolSpec": _SPEC}]}}, "/toolConfig/tools/0/toolSpec", "/inputSchema/json"),
        ({**_FLAT, "parameters": _SCHEMA}, "", "/parameters"),
    ],
)  # fmt: skip
def test_every_form_is_read_with_its_place(document: Any, pointer: str, schema: str) -> None:
    (tool,) = read_tools(document)
    assert (tool.definition.name, tool.definition.description) == ("weather", "of a city")
    assert tool.definition.parameters == _SCHEMA
    assert (tool.pointer, tool.schema) == (pointer, pointer + schema)
    assert tool.located("/parameters/properties/city") == f"{pointer}{schema}/properties/city"
    assert tool.located("/name") == f"{pointer}/name"


def test_the_types_of_gemini_become_those_of_json_schema_and_others_stay() -> None:
    for object_type, integer_type in (("OBJECT", "INTEGER"), (6, 3)):
        schema = {"type": object_type, "properties": {"days": {"type": integer_type, "nullable": True}}}
        (tool,) = read_tools([{"name": "weather", "parameters": schema}])
        days = {"type": "integer", "nullable": True}
        assert tool.definition.parameters == {"type": "object", "properties": {"days": days}}
    kinds: tuple[Any, ...] = (["object", "null"], {}, None)
    for kind in kinds:
        (tool,) = read_tools([{"name": "weather", "input_schema": {"type": kind}}])
        assert tool.definition.parameters == {"type": kind}


def test_hosted_tools_are_left_out_and_a_tool_without_parameters_is_kept() -> None:
    now = {"type": "function", "name": "now", "description": "the time", "strict": True}
    hosted = [{"type": "web_search_20250305", "name": "web_search"}, {"googleSearch": {}}]
    (tool,) = read_tools({"tools": [hosted[0], now, hosted[1]]})
    assert (tool.definition.name, tool.definition.parameters, tool.definition.strict) == ("now", None, True)


def test_a_document_without_a_definition_is_an_error_and_an_empty_list_of_tools_has_none() -> None:
    without: list[Any] = [None, {}, "tools", [{"type": "web_search"}], {"messages": [{"name": "a"}]}]
    for document in without:
        with pytest.raises(MalformedBody, match="no tool definition"):
            read_tools(document)
    nothing: dict[str, Any] = {"tools": []}
    gemini: dict[str, Any] = {"tools": [{"functionDeclarations": []}]}
    documents: list[Any] = [[], nothing, {"result": nothing}, gemini, {"messages": [], **nothing}]
    for document in documents:
        assert read_tools(document) == []


def test_a_function_with_only_a_name_is_read() -> None:
    for document in (
        {"tools": [{"functionDeclarations": [{"name": "now"}, _FLAT]}]},
        [{"type": "function", "name": "now"}, {"type": "function", **_FLAT}],
        {"functions": [{"name": "now"}, _FLAT]},
    ):
        assert [tool.definition.name for tool in read_tools(document)] == ["now", "weather"]
