"""Parameters get the types that the tool's JSON schema declares, lists come from repetition, and nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from tests.support.decoding import codes, only
from tests.support.events import chat_body
from toolparity import Response, normalize
from toolparity.normalizer.conversation import Request, ToolDefinition
from toolparity.normalizer.textmode import read_response
from toolparity.normalizer.textmode.parsers.coercion import tool_schemas

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "deep": {"type": "boolean"},
        "paths": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["string", "integer"]},
        "named": {"$ref": "#/$defs/Count"},
        "lost": {"$ref": "https://elsewhere.example/schema"},
        "open": {},
        "size": {"enum": [1, 2, None]},
        "unit": {"enum": ["1", "2"]},
        "fixed": {"const": True},
        "whole": {"allOf": [{"$ref": "#/$defs/Count"}], "default": 1},
    },
    "$defs": {"Count": {"type": "integer"}},
}
TOOLS = [{"name": "f", "parameters": SCHEMA}]


def read(*parameters: tuple[str, str], tools: Any = TOOLS) -> Response:
    inside = "".join(f"<param:{key}>{value}</param:{key}>" for key, value in parameters)
    body = json.dumps(chat_body(content=f"<tool:f>{inside}</tool:f>", finish="stop")).encode()
    return read_response(normalize(body, "openai.chat"), "tool-xml", tools=tools)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("text", "5", "5"),
        ("text", "true", "true"),
        ("text", '{"a": 1}', '{"a": 1}'),
        ("text", " spaced ", " spaced "),
        ("text", "&lt;b&gt; &amp;", "&lt;b&gt; &amp;"),
        ("text", "", ""),
        ("count", "5", 5),
        ("count", " 5\n", 5),
        ("count", "-12345678901234567890", -12345678901234567890),
        ("count", "5.0", 5.0),
        ("ratio", "0.5", 0.5),
        ("ratio", "5", 5),
        ("deep", "true", True),
        ("deep", "False", False),
        ("paths", "a.txt", ["a.txt"]),
        ("paths", '["a.txt", "b.txt"]', ["a.txt", "b.txt"]),
        ("lines", "3", [3]),
        ("options", '{"a": [1]}', {"a": [1]}),
        ("maybe", "null", None),
        ("maybe", "None", None),
        ("maybe", "7", 7),
        ("either", "7", "7"),
        ("named", "7", 7),
        ("lost", "7", "7"),
        ("open", "7", "7"),
        ("size", "2", 2),
        ("size", "null", None),
        ("unit", "2", "2"),
        ("fixed", "true", True),
        ("whole", "7", 7),
    ],
)
def test_a_value_has_its_declared_type(key: str, text: str, value: Any) -> None:
    response = read((key, text))
    assert only(response).arguments == {key: value}
    assert type(only(response).arguments[key]) is type(value)  # type: ignore[index]
    assert json.loads(only(response).arguments_text) == {key: value}
    assert "parameter-mistyped" not in codes(response)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        *(("count", text) for text in ("five", "5.5", "true", "", "1e999", "NaN", "[5]", "0x5", "5 6")),
        *(("ratio", text) for text in ("Infinity", "1,5", '"1"')),
        *(("deep", text) for text in ("yes", "1", "TRUE", "")),
        *(("options", text) for text in ("{'a': 1}", "[1]", "none")),
    ],
)
def test_what_is_no_value_of_the_type_is_kept_as_text_and_told(key: str, text: str) -> None:
    response = read((key, text))
    assert only(response).arguments == {key: text}
    assert only(response).status == "complete"
    (told,) = [f.message for f in response.findings if f.code == "parameter-mistyped"]
    assert key in told


def test_a_list_is_a_parameter_that_is_repeated() -> None:
    assert only(read(("paths", "a"), ("text", "x"), ("paths", "b"))).arguments == {"paths": ["a", "b"], "text": "x"}
    assert only(read(("lines", "1"), ("lines", "2"))).arguments == {"lines": [1, 2]}


def test_or_one_that_is_written_under_its_singular() -> None:
    assert only(read(("path", "a"), ("path", "b"))).arguments == {"paths": ["a", "b"]}
    assert only(read(("path", "a"))).arguments == {"paths": ["a"]}
    assert only(read(("paths", "a"), ("path", "b"))).arguments == {"paths": ["a", "b"]}


def test_where_nothing_is_declared_values_are_text_and_repeated_ones_are_lists() -> None:
    for tools in (None, ["f"], [{"name": "g", "parameters": SCHEMA}]):
        assert only(read(("count", "5"), tools=tools)).arguments == {"count": "5"}
        assert only(read(("p", "a"), ("p", "b"), tools=tools)).arguments == {"p": ["a", "b"]}


@pytest.mark.parametrize("key", ["text", "count", "options"])
def test_one_value_that_stands_there_twice_is_ambiguous(key: str) -> None:
    response = read((key, "1"), (key, "2"))
    assert only(response).status == "invalid"
    assert "markup-ambiguous" in codes(response)
    assert only(response).arguments is None


def test_a_parameter_that_is_not_declared_may_be_text_of_the_one_before() -> None:
    response = read(("text", "a"), ("unheard", "b"))
    assert only(response).status == "invalid"
    (told,) = [f.message for f in response.findings if f.code == "markup-ambiguous"]
    assert "'unheard'" in told
    assert "'text'" in told


def test_unless_the_tool_takes_any() -> None:
    tools = [{"name": "f", "parameters": {**SCHEMA, "additionalProperties": True}}]
    assert only(read(("text", "a"), ("unheard", "b"), tools=tools)).arguments == {"text": "a", "unheard": "b"}


@pytest.mark.parametrize("value", ["one\ntwo", "\nbegins", "ends\n", "\n", "\n\n\n", "  indented\n  more", "a\n\n"])
def test_several_lines_are_kept_and_their_layout_is_not(value: str) -> None:
    laid = f"\n{value}\n"
    assert only(read(("text", laid))).arguments == {"text": value}


def test_a_tool_that_declares_no_parameters_takes_any() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {}}}]
    assert only(read(("a", "1"), ("b", "2"), tools=tools)).arguments == {"a": "1", "b": "2"}


def test_tools_are_told_in_any_form() -> None:
    message = chat_pb2.GetCompletionsRequest(
        tools=[chat_pb2.Tool(function=chat_pb2.Function(name="f", parameters=json.dumps(SCHEMA)))]
    )
    chat = {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]}
    forms = [
        TOOLS,
        chat,
        json.dumps(chat),
        json.dumps(chat).encode(),
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


def test_a_tool_that_nobody_declared_is_told() -> None:
    response = read(("a", "1"), tools=["g"])
    assert "unknown-tool" in codes(response)
    assert only(response).name == "f"


def test_a_schema_that_refers_to_itself_is_no_loop() -> None:
    tools = [{"name": "f", "parameters": {"properties": {"a": {"$ref": "#/properties/a"}}}}]
    assert only(read(("a", "5"), tools=tools)).arguments == {"a": "5"}
