"""Failures of class repair: what cannot run is never guessed at, what is sound is never touched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import TEXT_FORMS, only, respond
from toolparity import ToolCall, select
from toolparity.normalizer.repair import (
    Repaired,
    strip_name,
    suggest_name,
    unwrap_arguments,
    unwrap_fields,
    unwrap_parallel,
)

WITH_TEXT = pytest.mark.parametrize(("wire", "streamed"), TEXT_FORMS)
ARRAY = {"type": "object", "properties": {"a": {"type": "array"}}}


def call(
    text: str, arguments: Any = None, status: Any = "complete", name: str = "f", kind: str = "function"
) -> ToolCall:
    return ToolCall("a", name, arguments, text, status, kind)


def repairs(given: ToolCall) -> list[Repaired]:
    """Every repair there is, asked for at once."""
    return [
        unwrap_arguments(given),
        unwrap_fields(given, ARRAY),
        unwrap_parallel(given, ["f"]),
        strip_name(given, ["f"]),
    ]


CUT = '{"path":"a","content":"hel'


@WITH_TEXT
def test_REP_01_truncated_arguments_are_never_completed(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "write", CUT)])
    cut = only(response)
    assert (cut.arguments, cut.arguments_text, cut.status) == (None, CUT, "truncated")
    assert [finding.code for finding in response.findings] == ["arguments-truncated"]
    assert select(response).kept == []
    assert all(repaired == Repaired((cut,)) for repaired in repairs(cut))


@pytest.mark.parametrize(
    "cut",
    [
        call('"{\\"a\\":1}', status="truncated"),
        call('"{\\"a\\":1}"', status="truncated"),
        call('{"a":"[1]"}', {"a": "[1]"}, "truncated"),
        call("{}", {"tool_uses": [{"recipient_name": "f", "parameters": {}}]}, "truncated", "multi_tool_use.parallel"),
        call("{}", {}, "truncated", "f<|channel|>commentary"),
    ],
)
def test_REP_01_no_repair_changes_a_truncated_call(cut: ToolCall) -> None:
    assert repairs(cut) == [Repaired((cut,))] * 4


SOUND = [
    '{"code":"a}{b"}',
    '{"code":"[1,]","more":"{,}"}',
    '{"code":"{"}',
    '{"code":"// no comment"}',
    '{"code":"it\'s \\"quoted\\""}',
    '{"code":"```json"}',
]


@pytest.mark.thorough(keep=2, per="{wire}")
@WITH_TEXT
@pytest.mark.parametrize("text", SOUND)
def test_REP_02_valid_arguments_are_never_changed(wire: str, streamed: bool, text: str) -> None:
    sound = only(respond(wire, streamed, [("a", "f", text)]))
    assert (sound.arguments, sound.arguments_text, sound.status) == (json.loads(text), text, "complete")
    assert repairs(sound) == [Repaired((sound,))] * 4


BROKEN = ['{"a": 1, " b: 2}"x', '{"a": "it"s"}', "{'a': 1}", '{"a": 1} trailing', '{"a" 1}']


@pytest.mark.thorough(keep=1, per="{wire}")
@WITH_TEXT
@pytest.mark.parametrize("text", BROKEN)
def test_REP_03_unrepairable_arguments_are_invalid_and_kept_as_text(wire: str, streamed: bool, text: str) -> None:
    response = respond(wire, streamed, [("a", "f", text), ("b", "f", "{}")])
    broken = response.calls[0]
    assert (broken.arguments, broken.arguments_text, broken.status) == (None, text, "invalid")
    chosen = select(response)
    assert ([ref.id for ref in chosen.rejected], [ref.id for ref in chosen.kept]) == (["a"], ["b"])
    assert repairs(broken) == [Repaired((broken,))] * 4


# What the repairs do, and where they stop (asked for by ARG-04, ARG-05, NAME-04, NAME-05)


def test_unwrapping_arguments_changes_nothing_else() -> None:
    given = ToolCall("a", "f", None, '"{\\"x\\":1}"', "invalid", "function", "fc_1", "ns", {"type": "direct"}, {"k": 1})
    expected = ToolCall(
        "a", "f", {"x": 1}, '{"x":1}', "complete", "function", "fc_1", "ns", {"type": "direct"}, {"k": 1}
    )
    assert unwrap_arguments(given) == Repaired((expected,), "unwrapped the arguments of f from a JSON string")


@pytest.mark.parametrize(
    "given",
    [
        call('"{\\"x\\":1"', status="invalid"),  # what is inside was cut
        call('"\\"{}\\""', status="invalid"),  # encoded three times: once is enough
        call('"[1]"', status="invalid"),
        call('""', status="invalid"),
        call('"null"', status="invalid"),
        call('"{\\"x\\": NaN}"', status="invalid"),
        call('"{}"', status="invalid", name=""),
        call('"{}"', status="invalid", kind="unresolved"),
        call('"{}"', status="complete", kind="custom"),
    ],
)
def test_unwrapping_arguments_accepts_only_one_object_in_one_string(given: ToolCall) -> None:
    assert unwrap_arguments(given) == Repaired((given,))


DEEP = {
    "type": "object",
    "properties": {
        "list": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
        "maybe": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "either": {"type": ["array", "string"]},
        "point": {"$ref": "#/$defs/Point"},
        "any": {},
        "text": {"type": "string"},
    },
    "additionalProperties": {"type": "object"},
    "$defs": {"Point": {"type": "object", "properties": {"at": {"type": "array"}}}},
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"list": '[{"at":[1]}]'}, {"list": [{"at": [1]}]}),
        ({"list": [{"at": "[1]"}, '{"at":"[2]"}']}, {"list": [{"at": [1]}, {"at": [2]}]}),
        ({"maybe": "[1]"}, {"maybe": [1]}),
        ({"point": '{"at":"[1]"}'}, {"point": {"at": [1]}}),
        ({"other": '{"x":1}'}, {"other": {"x": 1}}),
        ({"list": "[]", "text": "[]"}, {"list": [], "text": "[]"}),
    ],
)
def test_unwrapping_fields_follows_the_schema(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    before = json.dumps(arguments)
    repaired = unwrap_fields(call(before, arguments), DEEP)
    assert (repaired.call.arguments, json.loads(repaired.call.arguments_text)) == (expected, expected)
    assert repaired.did
    assert json.dumps(arguments) == before


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "[1]"},
        {"either": "[1]"},
        {"any": "[1]"},
        {"list": '{"a":1}'},  # an object is not an array
        {"list": "[1"},
        {"list": "one, two"},
        {"maybe": None},
        {"list": [{"at": [1]}]},
        {"point": "null"},
    ],
)
def test_unwrapping_fields_changes_only_fields_that_the_schema_requires(arguments: dict[str, Any]) -> None:
    given = call(json.dumps(arguments), arguments)
    assert unwrap_fields(given, DEEP) == Repaired((given,))


def test_unwrapping_fields_handles_a_circular_schema() -> None:
    given = call('{"a":"[1]"}', {"a": "[1]"})
    assert unwrap_fields(given, {"properties": {"a": {"$ref": "#/properties/a"}}}) == Repaired((given,))
    assert unwrap_fields(given, {"properties": {"a": {"$ref": "https://elsewhere.example/a"}}}) == Repaired((given,))


def parallel(*uses: Any, name: str = "multi_tool_use.parallel") -> ToolCall:
    arguments = {"tool_uses": list(uses)}
    return call(json.dumps(arguments), arguments, name=name)


def test_unwrapped_calls_keep_the_id_of_the_original_call() -> None:
    uses = [{"recipient_name": name, "parameters": {"x": 1}} for name in ("functions.f", "g")]
    assert unwrap_parallel(parallel(*uses)) == Repaired(
        (
            ToolCall("a_0", "f", {"x": 1}, '{"x":1}', extra={"unwrapped_from": "a"}),
            ToolCall("a_1", "g", {"x": 1}, '{"x":1}', extra={"unwrapped_from": "a"}),
        ),
        "unwrapped 2 calls from multi_tool_use.parallel",
    )


@pytest.mark.parametrize(
    "given",
    [
        parallel(),
        parallel({"recipient_name": "f", "parameters": {}}, {"parameters": {}}),
        parallel({"recipient_name": "f", "parameters": "{}"}),
        parallel({"recipient_name": "functions.", "parameters": {}}),
        parallel("f"),
        parallel({"recipient_name": "f", "parameters": {}}, name="other"),
        call("{}", {}, name="multi_tool_use.parallel"),
        call("{", None, "invalid", "multi_tool_use.parallel"),
    ],
)
def test_unwrapping_calls_accepts_all_or_none(given: ToolCall) -> None:
    assert unwrap_parallel(given) == Repaired((given,))


def test_a_declared_tool_named_like_the_pseudo_tool_is_not_unwrapped() -> None:
    given = parallel({"recipient_name": "f", "parameters": {}})
    assert unwrap_parallel(given, ["multi_tool_use.parallel"]) == Repaired((given,))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ls<|channel|>commentary", "ls"),
        ("ls<|constrain|>json", "ls"),
        ("functions.ls<|channel|>", "ls"),
        ("<|start|>ls", "ls"),
        ("functions.ls", "ls"),
        ("ls", None),
        ("rm<|channel|>commentary", None),
        ("lsx", None),
        ("", None),
        ("<|channel|>", None),
    ],
)
def test_only_declared_names_are_suggested(name: str, found: str | None) -> None:
    assert suggest_name(name, ["ls", "cat"]) == found


def test_strip_name_changes_only_the_name() -> None:
    given = call("[", None, "invalid", "f<|channel|>commentary")
    assert strip_name(given, ["f"]) == Repaired(
        (call("[", None, "invalid", "f"),), "took 'f<|channel|>commentary' for f"
    )
