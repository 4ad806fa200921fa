"""Schemas that strict mode accepts, and what the others lack, however deep."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.conversation import Request, TextPart, ToolDefinition, User
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.strict_schema import lacking_for_strict

OPEN: dict[str, Any] = {"type": "object", "properties": {}}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "lacks"),
    [
        (closed(a={"type": "string"}, b=closed(c={})), []),
        (OPEN, ["additionalProperties is not false"]),
        ({}, ["additionalProperties is not false"]),
        ({**closed(a={}, b={}), "required": ["b"]}, ["not required: a"]),
        ({**closed(a={}), "required": None}, ["not required: a"]),
        (closed(b=OPEN), ["properties.b: additionalProperties is not false"]),
        (closed(b={"type": ["object", "null"]}), ["properties.b: additionalProperties is not false"]),
        (closed(b={"type": "array", "items": OPEN}), ["properties.b.items: additionalProperties is not false"]),
        (
            closed(b={"anyOf": [{"type": "null"}, {**closed(c={}), "required": []}]}),
            ["properties.b.anyOf[1]: not required: c"],
        ),
        ({**closed(), "$defs": {"x": OPEN}}, ["$defs.x: additionalProperties is not false"]),
        ({**closed(a={}), "required": "a", "$defs": 1, "anyOf": {}}, ["not required: a"]),
        (None, []),
    ],
)
def test_each_lack_is_named_with_its_place(schema: Any, lacks: list[str]) -> None:
    assert list(lacking_for_strict(schema)) == lacks


def test_a_schema_that_holds_itself_or_is_very_deep_has_an_end() -> None:
    around = closed(a={})
    around["properties"]["a"] = around
    assert list(lacking_for_strict(around)) == []
    deep: dict[str, Any] = dict(OPEN)
    for _ in range(1500):  # beyond the limit of recursion
        deep = closed(a=deep)
    assert len(list(lacking_for_strict(deep))) == 1


@pytest.mark.parametrize("wire", ["anthropic.messages", "bedrock.converse"])
@pytest.mark.parametrize("minimum", [{}, {"minimum": 1}])
def test_a_tool_stays_strict_where_the_strict_mode_of_the_target_accepts_its_schema(
    wire: str, minimum: dict[str, Any]
) -> None:
    closed = {"type": "object", "additionalProperties": False, "required": ["n"]}
    tool = ToolDefinition("f", parameters={**closed, "properties": {"n": {"type": "integer", **minimum}}}, strict=True)
    request = Request("openai.chat", "m", [User([TextPart("hi")])], tools=[tool], params={"max_tokens": 9})
    encoded = write_request(request, wire)
    assert check_request(encoded.body, wire) == []
    assert [tool.strict for tool in read_request(encoded.body, wire).tools] == [not minimum]
    assert [loss.code for loss in encoded.losses if loss.message.startswith("strict:")] == ["param"] * bool(minimum)
