"""Failures of class repair: a call that cannot run is never completed by a guess, and a sound one is never changed."""

from __future__ import annotations

import json
from typing import Any

from toolparity import ToolCall
from toolparity.normalizer.repair import (
    Repaired,
    strip_name,
    suggest_name,
    unwrap_arguments,
    unwrap_fields,
    unwrap_parallel,
)

ARRAY = {"type": "object", "properties": {"a": {"type": "array"}}}
PARALLEL = "multi_tool_use.parallel"


def call(text: str, arguments: Any = None, status: Any = "complete", name: str = "f", **more: Any) -> ToolCall:
    return ToolCall("a", name, arguments, text, status, **more)


SOUND = [
    *('{"code":"a}{b"}', '{"code":"[1,]","more":"{,}"}', '{"code":"{"}'),
    *('{"code":"// no comment"}', '{"code":"it\'s \\"quoted\\""}', '{"code":"```json"}'),
]
BROKEN = ['{"a": 1, " b: 2}"x', '{"a": "it"s"}', "{'a': 1}", '{"a": 1} trailing', '{"a" 1}']
USES = {"tool_uses": [{"recipient_name": "f", "parameters": {}}]}
CUT = [
    *(call(text, status="truncated") for text in ('{"path":"a","content":"hel', '"{\\"a\\":1}', '"{\\"a\\":1}"')),
    call('{"a":"[1]"}', {"a": "[1]"}, "truncated"),
    call("{}", USES, "truncated", PARALLEL),
    call("{}", {}, "truncated", "f<|channel|>commentary"),
]


def test_sound_broken_and_truncated_arguments_are_never_changed() -> None:
    sound = [call(text, json.loads(text)) for text in SOUND]
    for given in (*sound, *(call(text, status="invalid") for text in BROKEN), *CUT):
        assert unwrap_arguments(given) == unwrap_fields(given, ARRAY) == Repaired((given,))
        assert unwrap_parallel(given, ["f"]) == strip_name(given, ["f"]) == Repaired((given,))


def test_unwrapping_arguments_changes_nothing_else() -> None:
    more: Any = ("function", "fc_1", "ns", {"type": "direct"}, {"k": 1})
    assert unwrap_arguments(ToolCall("a", "f", None, '"{\\"x\\":1}"', "invalid", *more)) == Repaired(
        (ToolCall("a", "f", {"x": 1}, '{"x":1}', "complete", *more),), "unwrapped the arguments of f from a JSON string"
    )


def test_unwrapping_arguments_accepts_only_one_object_in_one_string() -> None:
    """Not a string that holds no object, or was cut; nor an object encoded three times, or a call of another kind."""
    texts = ('"{\\"x\\":1"', '"\\"{}\\""', '"[1]"', '""', '"null"', '"{\\"x\\": NaN}"')
    others = (call('"{}"', status="invalid", name=""), call('"{}"', status="invalid", kind="unresolved"))
    for given in (*(call(text, status="invalid") for text in texts), *others, call('"{}"', kind="custom")):
        assert unwrap_arguments(given) == Repaired((given,)), given


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


#: Arguments -> what they become by the schema; None where they stay.
FIELDS: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
    ({"list": '[{"at":[1]}]'}, {"list": [{"at": [1]}]}),
    ({"list": [{"at": "[1]"}, '{"at":"[2]"}']}, {"list": [{"at": [1]}, {"at": [2]}]}),
    ({"maybe": "[1]"}, {"maybe": [1]}),
    ({"point": '{"at":"[1]"}'}, {"point": {"at": [1]}}),
    ({"other": '{"x":1}'}, {"other": {"x": 1}}),
    ({"list": "[]", "text": "[]"}, {"list": [], "text": "[]"}),
    *(({name: "[1]"}, None) for name in ("text", "either", "any")),
    *(({"list": text}, None) for text in ('{"a":1}', "[1", "one, two")),
    *((arguments, None) for arguments in ({"maybe": None}, {"list": [{"at": [1]}]}, {"point": "null"})),
]


def test_unwrapping_fields_follows_the_schema_also_if_it_is_circular_or_foreign() -> None:
    for arguments, expected in FIELDS:
        before = json.dumps(arguments)
        repaired = unwrap_fields(call(before, arguments), DEEP)
        if expected is None:
            assert repaired == Repaired((call(before, arguments),))
        else:
            assert (repaired.call.arguments, json.loads(repaired.call.arguments_text)) == (expected, expected)
            assert repaired.did
        assert json.dumps(arguments) == before
    for ref in ("#/properties/a", "https://elsewhere.example/a"):
        given = call('{"a":"[1]"}', {"a": "[1]"})
        assert unwrap_fields(given, {"properties": {"a": {"$ref": ref}}}) == Repaired((given,))


def parallel(*uses: Any, name: str = PARALLEL) -> ToolCall:
    """A call of the pseudo tool."""
    arguments = {"tool_uses": list(uses)}
    return call(json.dumps(arguments), arguments, name=name)


USE = {"recipient_name": "f", "parameters": {"x": 1}}


def test_unwrapped_calls_keep_the_id_of_the_original_call() -> None:
    more: dict[str, Any] = {"extra": {"unwrapped_from": "a"}}
    inner = tuple(ToolCall(f"a_{n}", name, {"x": 1}, '{"x":1}', **more) for n, name in enumerate("fg"))
    given = parallel({**USE, "recipient_name": "functions.f"}, {**USE, "recipient_name": "g"})
    assert unwrap_parallel(given) == Repaired(inner, "unwrapped 2 calls from multi_tool_use.parallel")
    assert unwrap_parallel(given, [PARALLEL]) == Repaired((given,))  # a declared tool of this name


def test_unwrapping_calls_accepts_all_or_none() -> None:
    for given in (
        *(parallel(), parallel(USE, {"parameters": {}}), parallel({**USE, "parameters": "{}"})),
        *(parallel({**USE, "recipient_name": "functions."}), parallel("f"), parallel(USE, name="other")),
        *(call("{}", {}, name=PARALLEL), call("{", None, "invalid", PARALLEL)),
    ):
        assert unwrap_parallel(given) == Repaired((given,)), given


def test_only_declared_names_are_suggested() -> None:
    leaked = ("ls<|channel|>commentary", "ls<|constrain|>json", "functions.ls<|channel|>", "<|start|>ls")
    for name in (*leaked, "functions.ls"):
        assert suggest_name(name, ["ls", "cat"]) == "ls"
    for name in ("ls", "rm<|channel|>commentary", "lsx", "", "<|channel|>"):
        assert suggest_name(name, ["ls", "cat"]) is None
    stripped = Repaired((call("[", None, "invalid", "f"),), "took 'f<|channel|>commentary' for f")
    assert strip_name(call("[", None, "invalid", "f<|channel|>commentary"), ["f"]) == stripped
