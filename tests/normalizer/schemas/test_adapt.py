"""Adaptation of tools: each kind of change, its code, and the way back."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from toolparity.normalizer.schemas import check
from toolparity.normalizer.schemas.adapt.validation import fits
from toolparity.schemas import TARGETS, TOOL_LOSSES, Adapted, ToolDefinition, adapt_tools, check_tools

_TEXT = {"type": "string"}
_NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}


def _object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _closed(**properties: Any) -> dict[str, Any]:
    return {**_object(*properties, **properties), "additionalProperties": False}


def _adapt(schema: Any, target: str, *, strict: bool = False, name: str = "tool") -> Adapted:
    adapted = adapt_tools([ToolDefinition(name, parameters=schema, strict=strict)], target)
    assert check_tools(adapted.tools, target) == []
    return adapted


_A_OR_B = {"anyOf": [_object("a", a=_TEXT), _object("b", b=_TEXT)]}
_GEMINI = "google.gemini/parameters"
_NO_NULL = {**_closed(a=_TEXT), "required": []}
_ALLOWS_NULL = {**_closed(a={"type": ["string", "null"]}), "required": []}
_REFERENCE = {**_closed(a={"$ref": "#/$defs/n", "title": "A"}), "$defs": {"n": {**_TEXT, "minLength": 1}}}
_TUPLE = {"type": "array", "prefixItems": [_TEXT, {"type": "integer"}], "items": False}
_PATTERNS = {"allOf": [{**_TEXT, "pattern": "a"}, {"pattern": "b"}]}
_MAP = {"type": "object", "additionalProperties": _TEXT}
_UNION = {**_object(), "anyOf": [_object("b", b=_TEXT)]}
#: A code, a target whose rules lead to it, whether the tool is strict, a schema, a value and its form on the wire.
_CHANGES: list[tuple[str, str, bool, Any, Any, Any]] = [
    ("property-name", "anthropic.messages", False, _object(**{"a b": _TEXT}), {"a b": "x"}, {"a_b_lNJTE7Pu": "x"}),
    ("reference", "anthropic.messages", True, _REFERENCE, {"a": "x"}, {"a": "x"}),
    ("merged", "openai.chat", True, _closed(a={"allOf": [_TEXT, {"minLength": 1}]}), {"a": "x"}, {"a": "x"}),
    ("distributed", "openai.chat", True, _closed(a=_UNION), {"a": {"b": "x"}}, {"a": {"b": "x"}}),
    ("one-of", "openai.chat", True, _closed(a={"oneOf": [_TEXT, {"type": "integer"}]}), {"a": 1}, {"a": 1}),
    ("overlapping-one-of", "openai.chat", True, _closed(a={"oneOf": [_TEXT, {"enum": ["x"]}]}), {"a": "y"}, {"a": "y"}),
    ("root-type", "openai.chat", False, {"properties": {"a": _TEXT}}, {"a": "x"}, {"a": "x"}),
    ("wrapped", "anthropic.messages", False, _A_OR_B, {"a": "x"}, {"arguments": {"a": "x"}}),
    ("nullable", "openai.chat", True, _NO_NULL, {}, {"a": None}),
    ("null-spelling", _GEMINI, False, _object("a", a={"type": ["string", "null"]}), {"a": None}, {"a": None}),
    ("pairs", "openai.chat", True, _closed(a=_MAP), {"a": {"k": "v"}}, {"a": [{"name": "k", "value": "v"}]}),
    ("enum-text", _GEMINI, False, _object("a", a={"enum": [2, 4]}), {"a": 4}, {"a": "4"}),
    ("enum-text", _GEMINI, False, _object("a", a={**_TEXT, "enum": ["", "empty"]}), {"a": ""}, {"a": "empty_"}),
    ("const", _GEMINI, False, _object("a", a={"const": "x"}), {"a": "x"}, {"a": "x"}),
    ("added-member", "cohere.chat", True, _object(a=_TEXT), {"a": "x"}, {"present": "yes", "a": "x"}),
    ("items", "openai.chat", False, _object("a", a={"type": "array"}), {"a": [1]}, {"a": [1]}),
    ("empty-properties", "openai.chat", False, {"type": "object"}, {"a": 1}, {"a": 1}),
    ("declared", _GEMINI, False, _object("a"), {"a": 1}, {"a": "1"}),
    ("json-text", "openai.chat", True, _closed(a={}), {"a": [None]}, {"a": "[null]"}),
    ("constraint", "anthropic.messages", True, _closed(a={"type": "integer", "minimum": 1}), {"a": 1}, {"a": 1}),
    ("unmerged", "openai.chat", True, _closed(a=_PATTERNS), {"a": "ab"}, {"a": "ab"}),
    ("opened", _GEMINI, False, _closed(a=_TEXT), {"a": "x"}, {"a": "x"}),
    ("tuple", "openai.chat", True, _closed(a=_TUPLE), {"a": ["x", 1]}, {"a": ["x", 1]}),
    ("unresolved", "anthropic.messages", False, _object(a={"$ref": "#/$defs/b"}), {"a": 1}, {"a": 1}),
    ("closed", "openai.chat", True, _object("a", a=_TEXT), {"a": "x"}, {"a": "x"}),
    ("absent-or-null", "openai.chat", True, _ALLOWS_NULL, {}, {"a": None}),
    ("typed", "openai.chat", True, _closed(a={"minLength": 1}), {"a": "x"}, {"a": "x"}),
    ("annotation", _GEMINI, False, _object("a", a={**_TEXT, "examples": ["x"]}), {"a": "x"}, {"a": "x"}),
    ("ambiguous", "openai.chat", True, _closed(a={"anyOf": [{}, _TEXT]}), {"a": 1}, {"a": "1"}),
]


@pytest.mark.parametrize(("code", "target", "strict", "schema", "value", "on_wire"), _CHANGES)
def test_each_change_has_its_code_and_its_way_back(
    code: str, target: str, strict: bool, schema: Any, value: Any, on_wire: Any
) -> None:
    adapted = _adapt(schema, target, strict=strict)
    assert code in {loss.code for loss in adapted.losses}
    assert adapted.express("tool", value) == ("tool", on_wire)
    assert adapted.restore("tool", on_wire) == ("tool", value)


def test_SCH_32_an_empty_enum_value_is_refused_by_gemini_and_adapted() -> None:
    schema = _object("a", a={**_TEXT, "enum": ["", "a"]})
    assert check_tools([ToolDefinition("tool", parameters=schema)], _GEMINI)
    adapted = _adapt(schema, _GEMINI)
    assert adapted.restore("tool", adapted.express("tool", {"a": ""})[1]) == ("tool", {"a": ""})


def test_every_code_has_a_case() -> None:
    of_tools = {"tool-name", "strict-off", "tool-dropped", "duplicate"}
    assert TOOL_LOSSES.keys() - {code for code, *_ in _CHANGES} == of_tools


def test_a_schema_that_the_provider_accepts_stays_the_same_object_without_empty_lists_that_it_drops() -> None:
    schema = {**_object("a", a={**_TEXT, "minLength": 1, "title": "A"}), "$defs": {"unused": _TEXT}}
    adapted = _adapt(schema, "anthropic.messages")
    assert adapted.tools[0].parameters is schema
    assert adapted.losses == []
    dropped = _adapt(_object(a={"type": "object", "required": []}), "ollama.chat")
    assert (dropped.tools[0].parameters or {})["properties"] == {"a": {"type": "object"}}
    assert dropped.losses == []


def test_removed_keywords_are_in_the_description_and_their_losses_have_pointers() -> None:
    schema = _closed(**{"a/b": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."}})
    adapted = _adapt(schema, "anthropic.messages", strict=True)
    ((described,),) = [(adapted.tools[0].parameters or {})["properties"].values()]
    assert described == {"type": "integer", "description": "How many. (minimum: 1; maximum: 9)"}
    losses = [(loss.effect, loss.pointer) for loss in adapted.losses if loss.code == "constraint"]
    assert losses == [("widens", f"/parameters/properties/a~1b/{name}") for name in ("minimum", "maximum")]
    union = {**_object(a=_TEXT, b=_TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    parameters = _adapt(union, "anthropic.messages").tools[0].parameters or {}
    assert parameters["properties"] == {"a": _TEXT, "b": _TEXT}
    assert parameters["description"] == '(anyOf: [{"required":["a"]},{"required":["b"]}])'


def test_a_recursive_schema_stays_where_it_is_accepted_and_becomes_text_elsewhere() -> None:
    schema = {**_closed(tree={"$ref": "#/$defs/node"}), "$defs": {"node": _NODE}}
    tree: dict[str, Any] = {"tree": {"next": {"next": {}}}}
    kept = _adapt(schema, "openai.chat", strict=True)
    assert (kept.tools[0].parameters or {})["properties"]["tree"] == {"$ref": "#/$defs/node"}
    assert kept.restore(*kept.express("tool", tree)) == ("tool", tree)
    cut = _adapt(schema, "xai.grpc")
    assert cut.express("tool", tree) == ("tool", {"tree": {"next": '{"next":{}}'}})
    assert cut.restore(*cut.express("tool", tree)) == ("tool", tree)


def test_names_are_shortened_reversibly_and_stay_unique() -> None:
    long = "server.with.dots/" + "x" * 80
    tools = [ToolDefinition(name, parameters=_object()) for name in (long, long + "y", "fine")]
    for target in ("openai.chat", "cohere.chat", "google.gemini"):
        adapted = adapt_tools(tools, target)
        assert check_tools(adapted.tools, target) == []
        assert len({tool.name for tool in adapted.tools}) == 3
        assert [adapted.restore(tool.name, {}) for tool in adapted.tools] == [(tool.name, {}) for tool in tools]
        assert adapted.tools[2].name == "fine"
        assert {loss.code for loss in adapted.losses} == {"tool-name"}


def test_tools_beyond_the_strict_maximum_are_not_strict() -> None:
    tools = [ToolDefinition(f"tool_{n}", parameters=_closed(), strict=True) for n in range(30)]
    adapted = adapt_tools(tools, "anthropic.messages")
    assert [tool.strict for tool in adapted.tools] == [True] * 20 + [False] * 10
    assert [(loss.tool, loss.code) for loss in adapted.losses] == [(n, "strict-off") for n in range(20, 30)]
    large = _closed(a={"enum": [f"v{n}" for n in range(1001)]})
    adapted = _adapt(large, "openai.chat", strict=True)
    assert (adapted.tools[0].strict, adapted.tools[0].parameters) == (False, large)
    assert [loss.code for loss in adapted.losses] == ["strict-off"]


def test_one_tool_that_cannot_be_strict_turns_strict_off_for_all_of_cohere() -> None:
    wide = _closed(**{f"p{n}": _TEXT for n in range(201)})
    tools = [ToolDefinition("wide", parameters=wide, strict=True), ToolDefinition("now", parameters=_object())]
    adapted = adapt_tools(tools, "cohere.chat")
    assert check_tools(adapted.tools, "cohere.chat") == []
    assert [tool.strict for tool in adapted.tools] == [False, None]


def test_tools_beyond_the_maximum_and_a_second_tool_of_one_name_are_left_out_and_hosted_tools_stay() -> None:
    hosted = ToolDefinition("search", kind="hosted", wire="openai.chat", raw={"type": "web_search"})
    tools = [hosted, *(ToolDefinition(f"tool_{n}", parameters=_object()) for n in range(130))]
    adapted = adapt_tools(tools, "openai.chat")
    assert adapted.tools == tools[:129]
    assert [(loss.tool, loss.code) for loss in adapted.losses] == [(129, "tool-dropped"), (130, "tool-dropped")]
    texts = _object("x", x={"type": "array", "items": _TEXT})
    schemas = {"a": texts, "a ": _object("y", y={}), "b": _object("z", z=_TEXT)}
    tools = [ToolDefinition(name.strip(), parameters=schema) for name, schema in schemas.items()]
    for target in TARGETS:
        adapted = adapt_tools(tools, target)
        assert [tool.name for tool in adapted.tools] == ["a", "b"]
        assert [loss.code for loss in adapted.losses if loss.tool == 1] == ["duplicate"]
        assert adapted.restore(*adapted.express("a", {"x": ["1"]})) == ("a", {"x": ["1"]})


@pytest.fixture
def usual_stack() -> Iterator[None]:
    """Python's usual limit of nested calls; mypy, which other tests call in this process, raises it."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("usual_stack")
def test_a_schema_that_is_nested_too_deep_becomes_one_text() -> None:
    schema = _object(a={"type": "array"})
    for _ in range(3000):
        schema = _object("a", a=schema)
    adapted = adapt_tools([ToolDefinition("tool", parameters=schema)], "openai.chat")
    assert adapted.express("tool", {"a": {}}) == ("tool", {"arguments": '{"a":{}}'})
    assert adapted.restore("tool", {"arguments": '{"a":{}}'}) == ("tool", {"a": {}})


@pytest.mark.parametrize("arguments", [None, "text", [], {"a": "not JSON", "other": 1}, {"a": 5}])
def test_arguments_of_another_form_are_returned_for_validation(arguments: Any) -> None:
    adapted = _adapt(_closed(a={}), "openai.chat", strict=True)
    assert adapted.restore("tool", arguments) == ("tool", arguments)
    assert adapted.restore("unknown", arguments) == ("unknown", arguments)


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize(
    "member",
    [
        {"enum": ["ä"], "pattern": r"\p{L}+"},
        {"enum": [1], "multipleOf": 0},
        {"not": {"type": "array"}},
        {"enum": ["x"], "minLength": "5", "maxLength": None},
        {"anyOf": [{**_TEXT, "pattern": "["}, _object(b=_TEXT)]},
        {"allOf": 5, "anyOf": {}, "items": 5, "properties": [], "required": "a", "enum": 5},
        {"$ref": 5},
    ],
)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_a_schema_with_keywords_that_cannot_be_evaluated_is_adapted(target: str, strict: bool, member: Any) -> None:
    adapted = _adapt(_object(a=member), target, strict=strict)
    for value in ("x", 1, {"b": "x"}, None):
        name, arguments = adapted.express("tool", {"a": value})
        assert adapted.restore(name, arguments)[0] == "tool"


@pytest.mark.thorough(keep=1, per="{target}")
@pytest.mark.parametrize("closed", ["outside", "inside", "both"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_part_of_a_union_takes_no_property_that_the_other_excludes(target: str, closed: str) -> None:
    outside: dict[str, Any] = {"type": "object", "properties": {} if closed != "inside" else {"b": _TEXT}}
    inside: dict[str, Any] = {"type": "object", "properties": {"a": _TEXT}}
    for schema in (outside, inside)[closed == "inside" : 1 + (closed != "outside")]:
        schema["additionalProperties"] = False
    schema = {**outside, "anyOf": [inside]}
    adapted = adapt_tools([ToolDefinition("f", "", schema)], target)
    (tool,) = adapted.tools
    excluded = {"b": "x"} if closed == "inside" else {"a": "x"}
    assert not fits(schema, excluded)
    widens = any(loss.effect == "widens" for loss in adapted.losses)
    assert widens or not fits(tool.parameters, excluded)


def test_a_constant_that_resembles_a_reference_stays() -> None:
    value = {"$ref": "#/nowhere", "items": 1}
    adapted = _adapt(_object("a", a={"const": value}), "openai.chat", strict=True)
    assert adapted.restore(*adapted.express("tool", {"a": value})) == ("tool", {"a": value})
    assert "unresolved" not in {loss.code for loss in adapted.losses}


def test_parts_whose_keywords_would_change_each_other_are_not_merged() -> None:
    for parts in (
        [{"prefixItems": [_TEXT]}, {"items": {"type": "integer"}}],
        [{"contains": _TEXT}, {"minContains": 2}],
        [{"if": _TEXT}, {"then": {"minLength": 2}}],
    ):
        adapted = _adapt(_closed(a={"allOf": parts}), "openai.chat", strict=True)
        assert "unmerged" in {loss.code for loss in adapted.losses}


_LOOPS: list[dict[str, Any]] = [
    {"$ref": "#"},
    {"allOf": [{"$ref": "#"}]},
    _object(x={"$ref": "#/properties/x"}),
    _object(x={"anyOf": [{"$ref": "#/properties/x"}, _TEXT]}),
    {**_object(x={"$ref": "#/$defs/a"}), "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
    {**_object(x={"$ref": "#/$defs/a"}), "$defs": {"a": {"dependentSchemas": {"x": {"$ref": "#/$defs/a"}}}}},
]


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("schema", _LOOPS)
def test_a_schema_that_consists_of_itself_is_adapted_without_the_loop(schema: Any, target: str, strict: bool) -> None:
    adapted = _adapt(schema, target, strict=strict)
    assert adapted.tools[0].parameters == schema or "unresolved" in {loss.code for loss in adapted.losses}
    for value in ({}, {"x": "text"}, {"x": {"x": "text"}}):
        assert adapted.restore(*adapted.express("tool", value)) == ("tool", value)


@pytest.mark.usefixtures("usual_stack")
@pytest.mark.parametrize("depth", [1, 30, 5000])
def test_arguments_of_a_recursive_schema_are_mapped_as_deep_as_the_stack_allows(depth: int) -> None:
    adapted = _adapt({"properties": {"x": {"$ref": "#"}, "y": _TEXT}}, "openai.chat", strict=True)
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    name, arguments = adapted.express("tool", value)
    assert (arguments is value) == (depth == 5000)
    restored = adapted.restore(name, arguments)[1]
    while value:
        assert restored.keys() == {"x"}
        value, restored = value["x"], restored["x"]


def test_an_added_property_does_not_hide_one_of_that_name() -> None:
    names = ["present", "present_", "present__", "presents"]
    for declared, other in itertools.product(names[:3], names):
        adapted = _adapt(_object(**{declared: _TEXT}), "cohere.chat", strict=True)
        assert "added-member" in {loss.code for loss in adapted.losses}
        for value in (
            {},
            {declared: "x"},
            {other: "y"},
            {declared: "x", other: "y"},
            {declared: "x", "present____": 1},
        ):
            name, arguments = adapted.express("tool", value)
            assert fits(adapted.tools[0].parameters, arguments)
            assert adapted.restore(name, arguments) == ("tool", value)


def test_a_property_without_a_name_is_mapped_like_others() -> None:
    schema = _object(**{"a b": _TEXT}, words={"type": "object", "additionalProperties": _object("ä", ä=_TEXT)})
    arguments = {"words": {"": {"ä": "x"}}}
    adapted = _adapt(schema, "anthropic.messages")
    assert adapted.restore(*adapted.express("tool", arguments)) == ("tool", arguments)


def test_the_time_of_a_check_grows_with_the_number_of_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = 0
    original = check._check_tool

    def counted(*arguments: Any, **more: Any) -> Any:
        nonlocal checked
        checked += 1
        return original(*arguments, **more)

    monkeypatch.setattr(check, "_check_tool", counted)
    tools = [ToolDefinition(f"tool_{n}", parameters=_object(a=_TEXT), strict=True) for n in range(100)]
    adapt_tools(tools, "cohere.chat")
    assert checked <= 3 * len(tools)


def test_references_that_multiply_a_schema_become_json_text() -> None:
    definitions: dict[str, Any] = {
        f"d{n}": _object(l={"$ref": f"#/$defs/d{n + 1}"}, r={"$ref": f"#/$defs/d{n + 1}"}) for n in range(40)
    }
    schema = {**_object(a={"$ref": "#/$defs/d0"}), "$defs": {**definitions, "d40": _TEXT}}
    adapted = _adapt(schema, _GEMINI)
    assert [loss.code for loss in adapted.losses] == ["json-text"]
