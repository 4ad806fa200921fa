"""Parameters get the types that the JSON schema of the tool declares; a repeated parameter is a list."""

from __future__ import annotations

import json
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from tests.normalizer.failures.test_textmode import read as read_text
from tests.support.decoding import codes, only
from toolparity import Response
from toolparity.normalizer.conversation import Request, ToolDefinition
from toolparity.normalizer.textmode.parsers.coercion import tool_schemas

TEXT, COUNT, REFERENCE = {"type": "string"}, {"type": "integer"}, {"$ref": "#/$defs/Count"}
BIG = -12345678901234567890
TEXTS = ["5", "true", '{"a": 1}', " spaced ", "&lt;b&gt; &amp;", ""]
#: Parameter -> its schema, and texts with their values.
VALUES: dict[str, tuple[dict[str, Any], list[tuple[str, Any]]]] = {
    "text": (TEXT, [(text, text) for text in TEXTS]),
    "count": (COUNT, [("5", 5), (" 5\n", 5), (str(BIG), BIG), ("5.0", 5.0)]),
    "ratio": ({"type": "number"}, [("0.5", 0.5), ("5", 5)]),
    "deep": ({"type": "boolean"}, [("true", True), ("False", False)]),
    "paths": ({"type": "array", "items": TEXT}, [("a.txt", ["a.txt"]), ('["a.txt", "b"]', ["a.txt", "b"])]),
    "lines": ({"type": "array", "items": COUNT}, [("3", [3])]),
    "options": ({"type": "object"}, [('{"a": [1]}', {"a": [1]})]),
    "maybe": ({"anyOf": [COUNT, {"type": "null"}]}, [("null", None), ("None", None), ("7", 7)]),
    "either": ({"type": ["string", "integer"]}, [("7", "7")]),
    "named": (REFERENCE, [("7", 7)]),
    "lost": ({"$ref": "https://elsewhere.example/schema"}, [("7", "7")]),
    "open": ({}, [("7", "7")]),
    "size": ({"enum": [1, 2, None]}, [("2", 2), ("null", None)]),
    "unit": ({"enum": ["1", "2"]}, [("2", "2")]),
    "fixed": ({"const": True}, [("true", True)]),
    "whole": ({"allOf": [REFERENCE], "default": 1}, [("7", 7)]),
}
PROPERTIES = {name: schema for name, (schema, _) in VALUES.items()}
SCHEMA: dict[str, Any] = {"type": "object", "properties": PROPERTIES, "$defs": {"Count": COUNT}}
TOOLS = [{"name": "f", "parameters": SCHEMA}]


def read(*parameters: tuple[str, str], tools: Any = TOOLS) -> Response:
    inside = "".join(f"<param:{key}>{value}</param:{key}>" for key, value in parameters)
    return read_text(f"<tool:f>{inside}</tool:f>", "tool-xml", tools=tools)


@pytest.mark.parametrize("key", VALUES)
def test_a_value_has_its_declared_type(key: str) -> None:
    for text, value in VALUES[key][1]:
        response = read((key, text))
        assert only(response).arguments == {key: value}
        assert type(only(response).arguments[key]) is type(value)  # type: ignore[index]
        assert json.loads(only(response).arguments_text) == {key: value}
        assert "parameter-mistyped" not in codes(response)


MISTYPED = {
    "count": ("five", "5.5", "true", "", "1e999", "NaN", "[5]", "0x5", "5 6"),
    "ratio": ("Infinity", "1,5", '"1"'),
    "deep": ("yes", "1", "TRUE", ""),
    "options": ("{'a': 1}", "[1]", "none"),
}


@pytest.mark.parametrize("key", MISTYPED)
def test_a_value_of_another_type_is_kept_as_text_and_reported(key: str) -> None:
    for text in MISTYPED[key]:
        response = read((key, text))
        assert (only(response).arguments, only(response).status) == ({key: text}, "complete")
        (message,) = [finding.message for finding in response.findings if finding.code == "parameter-mistyped"]
        assert key in message


def test_a_list_is_a_parameter_that_is_repeated_or_written_in_the_singular() -> None:
    for parameters, arguments in (
        ([("paths", "a"), ("text", "x"), ("paths", "b")], {"paths": ["a", "b"], "text": "x"}),
        ([("lines", "1"), ("lines", "2")], {"lines": [1, 2]}),
        ([("path", "a"), ("path", "b")], {"paths": ["a", "b"]}),
        ([("path", "a")], {"paths": ["a"]}),
        ([("paths", "a"), ("path", "b")], {"paths": ["a", "b"]}),
    ):
        assert only(read(*parameters)).arguments == arguments


def test_undeclared_values_are_text_and_repeated_ones_are_lists() -> None:
    nothing = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    itself = {"name": "f", "parameters": {"properties": {"count": {"$ref": "#/properties/count"}}}}
    other = [{"name": "g", "parameters": SCHEMA}]
    for tools in (None, ["f"], ["g"], other, [nothing], [itself]):
        response = read(("count", "5"), tools=tools)
        assert only(response).arguments == {"count": "5"}
        assert ("unknown-tool" in codes(response)) == (tools in (["g"], other))
    for tools in (None, ["f"], other, [nothing]):
        assert only(read(("p", "a"), ("p", "b"), tools=tools)).arguments == {"p": ["a", "b"]}


def test_a_repeated_parameter_that_is_not_a_list_and_an_undeclared_one_are_ambiguous() -> None:
    for key in ("text", "count", "options"):
        response = read((key, "1"), (key, "2"))
        assert (only(response).status, only(response).arguments) == ("invalid", None)
        assert "markup-ambiguous" in codes(response)
    parameters = [("text", "a"), ("other", "b")]
    response = read(*parameters)
    assert only(response).status == "invalid"
    (message,) = [finding.message for finding in response.findings if finding.code == "markup-ambiguous"]
    assert "'other'" in message
    assert "'text'" in message
    tools = [{"name": "f", "parameters": {**SCHEMA, "additionalProperties": True}}]
    assert only(read(*parameters, tools=tools)).arguments == {"text": "a", "other": "b"}


def test_one_line_break_at_each_end_is_layout() -> None:
    for value in ("one\ntwo", "\nbegins", "ends\n", "\n", "\n\n\n", "  indented\n  more", "a\n\n"):
        assert only(read(("text", f"\n{value}\n"))).arguments == {"text": value}


def test_tools_are_accepted_in_any_form() -> None:
    tool = chat_pb2.Tool(function=chat_pb2.Function(name="f", parameters=json.dumps(SCHEMA)))
    message = chat_pb2.GetCompletionsRequest(tools=[tool])
    chat = {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]}
    forms = [
        *(TOOLS, chat, json.dumps(chat), json.dumps(chat).encode()),
        {"tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]},
        {"tools": [{"name": "f", "input_schema": SCHEMA}]},
        {"functions": [{"name": "f", "parameters": SCHEMA}]},
        [ToolDefinition("f", None, SCHEMA)],
        Request("openai.chat", None, [], [ToolDefinition("f", None, SCHEMA)]),
        message,
    ]
    for given in forms:
        assert tool_schemas(given).kinds("f", "count") == {"integer"}
        assert only(read(("count", "5"), tools=given)).arguments == {"count": 5}
