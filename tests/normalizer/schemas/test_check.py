"""The check of tool definitions: every rule finds what breaks it, at its place, and no accepted request breaks one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from toolparity.normalizer.errors import UnknownWire
from toolparity.schemas import CAPS, SHAPES, TARGETS, ToolDefinition, adapt_tools, check_tools, rules_of

from .recorded import requests_with_tools

_TEXT = {"type": "string"}


def _object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _closed(**properties: Any) -> dict[str, Any]:
    return {**_object(*properties, **properties), "additionalProperties": False}


def _deep(levels: int) -> dict[str, Any]:
    schema = _closed(end=_TEXT)
    for _ in range(levels):
        schema = _closed(inner=schema)
    return schema


def _found(schema: Any, target: str, *, strict: bool = False, name: str = "tool") -> set[tuple[str, str, str]]:
    tool = ToolDefinition(name, parameters=schema, strict=strict)
    return {(v.pointer, v.rule, v.effect) for v in check_tools([tool], target)}


_A = "/parameters/properties/a"
_GEMINI = "google.gemini/parameters"
_CYCLE = {**_closed(a={"$ref": "#/$defs/n"}), "$defs": {"n": _closed(next={"$ref": "#/$defs/n"})}}
_REF_BESIDE = {**_closed(a={"$ref": "#/$defs/b", "minLength": 1}), "$defs": {"b": _TEXT}}
_DATE = _object(a={"type": "integer", "format": "date-time"})
#: A schema that breaks one rule of a target, the rule, and the pointer of the violation.
_BROKEN = [
    ("anthropic.messages", False, {"type": "string"}, "root-object", "/parameters"),
    ("anthropic.messages", False, {**_object(), "anyOf": [_object("a")]}, "keyword", "/parameters/anyOf"),
    ("anthropic.messages", False, _object(**{"a b": _TEXT}), "property-names", "/parameters"),
    ("anthropic.messages", False, _object(a={"$ref": "#/$defs/b"}), "resolvable", f"{_A}/$ref"),
    ("anthropic.messages", True, _closed(a={"type": "integer", "minimum": 1}), "keyword", f"{_A}/minimum"),
    ("anthropic.messages", True, _CYCLE, "acyclic", f"{_A}/$ref"),
    ("bedrock.converse", False, {"type": ["object"]}, "root-object", "/parameters"),
    ("ollama.chat", False, {"type": "object", "properties": []}, "root-members", "/parameters/properties"),
    ("openai.chat", False, _object(a={"type": "array"}), "items", _A),
    ("openai.chat", False, {"type": "object"}, "root-properties", "/parameters"),
    ("openai.responses", True, {"type": "object", "additionalProperties": False}, "root-properties", "/parameters"),
    ("openai.chat", False, {**_object(), "enum": [{}]}, "keyword", "/parameters/enum"),
    ("openai.chat", True, _object(), "closed", "/parameters"),
    ("openai.chat", True, {**_closed(a=_TEXT), "required": []}, "all-required", "/parameters"),
    ("openai.chat", True, {**_closed(a=_TEXT), "required": ["a", "b"]}, "required-defined", "/parameters/required/1"),
    ("openai.chat", True, _closed(a={"description": "anything"}), "typed", _A),
    ("openai.chat", True, _closed(a=True), "no-boolean", _A),
    ("openai.chat", True, _closed(a={"anyOf": []}), "variants", f"{_A}/anyOf"),
    ("openai.chat", True, _REF_BESIDE, "ref-alone", _A),
    ("openai.chat", True, _closed(a={"type": "string", "format": "uri"}), "keyword", f"{_A}/format"),
    ("openai.chat", True, _closed(a={"type": "array", "items": [_TEXT]}), "items-schema", f"{_A}/items"),
    ("openai.chat", True, _deep(10), "depth", "/parameters"),
    ("openai.chat", True, _closed(a={"enum": [f"v{n}" for n in range(1001)]}), "enum-values", "/parameters"),
    ("openai.chat", True, _closed(a={"enum": ["v" * 120_000]}), "text-length", "/parameters"),
    ("openai.chat", True, _closed(**{f"p{n}": _TEXT for n in range(5001)}), "properties", "/parameters"),
    ("google.gemini/parameters", False, _object(a={"type": ["string", "null"]}), "single-type", f"{_A}/type"),
    ("google.gemini/parameters", False, _object(a={"enum": [1], "type": "integer"}), "string-enum", f"{_A}/enum"),
    ("google.gemini/parameters", False, _object(a={"type": "string", "items": _TEXT}), "matching-type", f"{_A}/items"),
    ("google.gemini/parameters", False, _object(a={**_TEXT, "format": "int32"}), "matching-type", f"{_A}/format"),
    (_GEMINI, False, _DATE, "matching-type", f"{_A}/format"),
    ("google.gemini/parameters", False, _object(a={**_TEXT, "enum": ["x", ""]}), "enum-not-empty", f"{_A}/enum/1"),
    ("google.gemini/parameters", False, _object(a={"type": "object"}), "object-properties", _A),
    ("google.gemini/parameters", False, _object(a={"const": 1}), "keyword", f"{_A}/const"),
    ("cohere.chat", True, _object(a=_TEXT), "some-required", "/parameters"),
    ("xai.grpc", False, _object(a={"type": "array", "minContains": 1}), "keyword", f"{_A}/minContains"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "strict", "schema", "rule", "pointer"), _BROKEN)
def test_a_schema_that_breaks_a_rule_is_refused_at_its_place(
    target: str, strict: bool, schema: Any, rule: str, pointer: str
) -> None:
    assert (pointer, rule, "refused") in _found(schema, target, strict=strict)


def test_every_rule_of_every_target_has_a_case_and_a_source() -> None:
    sets = [rules for target in TARGETS.values() for rules in (target.plain, target.strict) if rules is not None]
    shapes = {shape for rules in sets for shape in rules.shapes}
    caps = {cap for rules in sets for cap in rules.caps}
    broken = {rule for *_, rule, _ in _BROKEN}
    assert shapes - broken == {"closed-by-default"}, "it refuses nothing"
    assert caps - broken == {"optional", "unions", "fields"}, "these are counted over all tools"
    assert shapes <= SHAPES.keys()
    assert caps <= CAPS.keys()
    rules = [rule for rules in sets for rule in (*rules.keywords.values(), *rules.root.values(), rules.others)]
    sources = [rule.source for rule in rules] + [s for rules in sets for s in rules.shapes.values()]
    assert all(source.startswith(("https://", "recorded ")) for source in sources)


def test_a_keyword_that_a_server_drops_is_ignored_and_the_formats_of_numbers_are_accepted_by_gemini() -> None:
    schema = _object(a={"type": "integer", "minimum": 1, "title": "A"})
    assert _found(schema, "ollama.chat") == {("/parameters/properties/a/minimum", "keyword", "ignored")}
    numbers = [("integer", "int32"), ("integer", "int64"), ("number", "float"), ("number", "double")]
    for type, format in numbers:
        tool = ToolDefinition("f", parameters=_object("a", a={"type": type, "format": format}))
        assert check_tools([tool], _GEMINI) == []
        assert adapt_tools([tool], _GEMINI).tools == [tool]


def test_a_schema_that_every_provider_accepts_has_no_violation() -> None:
    schema = _closed(city=_TEXT, days={"type": "integer", "description": "from 1"})
    found = {target: _found(schema, target) | _found(schema, target, strict=True) for target in TARGETS}
    refusing = [target for target in TARGETS if any(effect == "refused" for *_, effect in found[target])]
    assert refusing == [_GEMINI], "it has no member additionalProperties"


def test_a_name_or_an_empty_description_that_a_provider_refuses_is_reported() -> None:
    for target, name in (("openai.chat", "a.b"), ("cohere.chat", "a-b"), ("google.gemini", "1")):
        assert ("/name", "name", "refused") in _found(_object(), target, name=name)
    tools = [ToolDefinition("f", "", parameters=_closed())]
    for target in TARGETS:
        refused = "description" in {violation.rule for violation in check_tools(tools, target)}
        (adapted,) = adapt_tools(tools, target).tools
        assert (refused, adapted.description) == ((True, None) if target == "bedrock.converse" else (False, ""))


def test_a_list_over_a_maximum_is_reported_once_at_the_first_tool_too_many() -> None:
    optional = {**_closed(a=_TEXT, b=_TEXT), "required": []}
    wide = _closed(**{f"p{n}": _TEXT for n in range(20)})
    for target, schema, strict, count, rule in (
        ("openai.chat", _closed(), False, 129, "tools"),
        ("anthropic.messages", _closed(), True, 21, "strict-tools"),
        ("anthropic.messages", optional, True, 13, "optional"),
        ("anthropic.messages", _closed(a={"type": ["string", "null"]}), True, 17, "unions"),
        ("cohere.chat", wide, True, 11, "fields"),
    ):
        tools = [ToolDefinition(f"tool_{n}", parameters=schema, strict=strict) for n in range(count)]
        assert [(v.rule, v.tool) for v in check_tools(tools, target)] == [(rule, count - 1)]


def test_a_second_tool_of_one_name_is_refused_except_by_ollama() -> None:
    tools = [ToolDefinition(name, parameters=_object()) for name in ("a", "b", "a")]
    for target in ("anthropic.messages", "google.gemini", "ollama.chat"):
        found = [(v.tool, v.pointer, v.rule) for v in check_tools(tools, target)]
        assert found == ([] if target == "ollama.chat" else [(2, "/name", "unique")])


def test_a_reference_is_resolved_like_a_json_pointer() -> None:
    schema = {**_object(**{"a/b": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}})}
    resolved = ("#/properties/a~1b/anyOf/1", "#/properties/a%7E1b/anyOf/1", "#")
    for reference in (*resolved, "#/properties/a~1b/anyOf/2", "#/properties/a/anyOf/0", "#/type"):
        found = _found({**schema, "properties": {**schema["properties"], "c": {"$ref": reference}}}, "openai.chat")
        assert ("resolvable" in {rule for _, rule, _ in found}) == (reference not in resolved), reference
    # a reference beside an id is resolved against it
    schema = _object(a={"$id": "https://x/a", "$defs": {"t": _TEXT}, "$ref": "#/$defs/t"}, b={"$ref": "#/$defs/t"})
    assert _found(schema, "openai.chat") == {("/parameters/properties/b/$ref", "resolvable", "refused")}


def test_one_strict_tool_makes_all_tools_of_cohere_strict() -> None:
    plain = ToolDefinition("plain", parameters=_object("a", a={"type": "integer", "minimum": 1}))
    assert check_tools([plain], "cohere.chat") == []
    strict = ToolDefinition("strict", parameters=_closed(a=_TEXT), strict=True)
    assert [v.name for v in check_tools([plain, strict], "cohere.chat")] == ["plain"]


def test_a_provider_without_rules_has_those_of_the_owner_of_the_wire() -> None:
    assert rules_of("openai.chat", "groq") is rules_of("openai.chat")
    assert rules_of("openai.chat", "xai").strict_scope == "always"
    with pytest.raises(UnknownWire, match="no rules for the tools of 'openai'"):
        rules_of("openai")


def test_no_rule_refuses_the_tools_of_an_accepted_recorded_request(recordings: Path) -> None:
    checked = Counter[str]()
    for declared in requests_with_tools(recordings):
        if declared.target is None or declared.status >= 400:
            continue
        found = check_tools([tool.definition for tool in declared.tools], declared.target)
        assert [v for v in found if v.effect == "refused"] == [], declared.id
        checked[declared.target] += 1
    assert checked.keys() >= TARGETS.keys() - {"google.interactions"}
    assert sum(checked.values()) > 2500


def test_the_recorded_refusals_of_schemas_are_foreseen(recordings: Path) -> None:
    refusals = [
        declared
        for declared in requests_with_tools(recordings)
        if declared.status == 400 and declared.target is not None and "Invalid schema for function" in declared.body
    ]
    assert len(refusals) == 3
    for declared in refusals:
        found = check_tools([tool.definition for tool in declared.tools], declared.target or "")
        assert {v.rule for v in found} & {"closed", "all-required"}, declared.id
