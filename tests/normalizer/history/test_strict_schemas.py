"""Which schemas strict mode accepts, and what the others lack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.history.conversations import user
from toolparity.normalizer.conversation import Request, ToolDefinition
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.strict_schema import lacking_for_strict

OPEN: dict[str, Any] = {"type": "object", "properties": {}}
IS_OPEN = "additionalProperties is not false"


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


SCHEMAS: list[tuple[Any, list[str]]] = [
    (closed(a={"type": "string"}, b=closed(c={})), []),
    (OPEN, [IS_OPEN]),
    ({}, [IS_OPEN]),
    (None, []),
    ({**closed(a={}, b={}), "required": ["b"]}, ["not required: a"]),
    ({**closed(a={}), "required": None}, ["not required: a"]),
    ({**closed(a={}), "required": "a", "$defs": 1, "anyOf": {}}, ["not required: a"]),
    (closed(b=OPEN), [f"properties.b: {IS_OPEN}"]),
    (closed(b={"type": ["object", "null"]}), [f"properties.b: {IS_OPEN}"]),
    (closed(b={"type": "array", "items": OPEN}), [f"properties.b.items: {IS_OPEN}"]),
    (closed(b={"anyOf": [{}, {**closed(c={}), "required": []}]}), ["properties.b.anyOf[1]: not required: c"]),
    ({**closed(), "$defs": {"x": OPEN}}, [f"$defs.x: {IS_OPEN}"]),
]


def test_the_report_of_what_a_schema_lacks_has_its_place() -> None:
    for schema, lacks in SCHEMAS:
        assert list(lacking_for_strict(schema)) == lacks


def test_a_schema_that_contains_itself_or_is_very_deep_can_be_checked() -> None:
    around = closed(a={})
    around["properties"]["a"] = around
    assert list(lacking_for_strict(around)) == []
    deep: dict[str, Any] = dict(OPEN)
    for _ in range(1500):  # beyond the limit of recursion
        deep = closed(a=deep)
    assert len(list(lacking_for_strict(deep))) == 1


#: A schema -> whether the strict modes of OpenAI and of Claude accept it.
STRICT: list[tuple[Any, bool, bool]] = [
    (closed(a={"type": "string"}), True, True),
    ({**closed(a={"type": "string"}), "required": []}, False, True),
    (closed(a=OPEN), False, False),
    (OPEN, False, False),
    (None, True, False),
    (closed(n={"type": "integer", "minimum": 1}), True, False),
]


@pytest.mark.parametrize("wire", ["openai.chat", "openai.responses", "anthropic.messages", "bedrock.converse"])
def test_a_tool_remains_strict_if_the_strict_mode_of_the_target_accepts_its_schema(wire: Wire) -> None:
    for schema, *accepted in STRICT:
        tool = ToolDefinition("f", parameters=schema, strict=True)
        strict = accepted[not wire.startswith("openai")]
        encoded = write_request(Request("xai.grpc", "m", [user()], tools=[tool], params={"max_tokens": 99}), wire)
        assert check_request(encoded.body, wire) == []
        assert [tool.strict for tool in read_request(encoded.body, wire).tools] == [strict]
        lost = [(loss.code, loss.message.split(" ")[0]) for loss in encoded.losses]
        assert lost == ([] if strict else [("param", "strict:")])
        if wire.startswith("openai"):
            (declared,) = encoded.body["tools"]
            declared.get("function", declared)["strict"] = True
            assert write_request(read_request(encoded.body, wire, provider="openai")).body == encoded.body
            refused = [found.rule for found in check_request(encoded.body, wire, provider="openai")]
            assert refused == ([] if strict else ["strict-schema"])
