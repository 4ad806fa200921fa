"""Adapted tools are valid for the provider, with a loss for every value that is excluded, changed or added.

The schemas are generated, or those of real tools: of the recorded requests, and a small committed set of other forms.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.requests import check_request, write_request
from toolparity.normalizer.schemas.adapt.canonical import canonical
from toolparity.normalizer.schemas.adapt.references import with_definitions
from toolparity.normalizer.schemas.adapt.validation import fits, same
from toolparity.normalizer.wires.registry import is_wire
from toolparity.schemas import TARGETS, Adapted, ToolDefinition, adapt_tools, check_tools, read_tools

from .recorded import requests_with_tools
from .strategies import PARAMETERS, fitting


def complete(schema: Any) -> dict[str, Any]:
    """A schema as JSON Schema 2020-12, in which every reference names a definition."""
    return with_definitions(canonical(schema), lambda pointer, reference: None)


def assert_returns(adapted: Adapted, value: Any, narrowed: set[str]) -> None:
    """Assert that the only adapted tool takes a value and returns it, as far as the losses that narrow allow."""
    ((wire_name, name),) = adapted.names.items()
    on_wire, arguments = adapted.express(name, value)
    written = canonical(adapted.tools[0].parameters) if adapted.tools[0].parameters is not None else {}
    if not fits(written, arguments):
        assert "closed" in narrowed
        assert _excludes_undeclared(written, arguments)
        return
    restored_name, restored = adapted.restore(on_wire, arguments)
    assert (on_wire, restored_name) == (wire_name, name)
    if "absent-or-null" in narrowed:
        restored, value = _without_nulls(restored), _without_nulls(value)
    assert same(restored, value)


def _excludes_undeclared(schema: Any, value: Any) -> bool:
    """Whether a schema rejects a value because of a property that it does not declare."""
    waiting = list(Draft202012Validator(schema).iter_errors(value))
    while waiting:
        error = waiting.pop()
        if error.validator == "additionalProperties":
            return True
        waiting += error.context or ()
    return False


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


_MODES = [(name, strict) for name, rules in TARGETS.items() for strict in ([False, True] if rules.strict else [False])]
_SETTINGS = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def _adapted(schema: dict[str, Any], target: str, *, strict: bool) -> Adapted:
    return adapt_tools([ToolDefinition("tool", parameters=schema, strict=strict)], target)


@given(schema=PARAMETERS)
@_SETTINGS
def test_an_adapted_tool_breaks_no_rule(schema: dict[str, Any]) -> None:
    for target, strict in _MODES:  # to draw a schema takes longer than to adapt it for all of them
        note(f"{target}, {strict=}")
        adapted = _adapted(schema, target, strict=strict)
        assert check_tools(adapted.tools, target) == []
        assert adapted.tools[0].strict is not False or not strict, "no schema here is over a maximum of strict mode"
        assert all(loss.detail != "the whole parameters" for loss in adapted.losses)
        assert _refused(adapted, target) == []


def _refused(adapted: Adapted, target: str) -> list[Any]:
    """Return the violations of requests with adapted tools: from the target's wire, and from another one."""
    wire, dialect = TARGETS[target].wire, TARGETS[target].dialect
    provider = "xai" if dialect == "xai" else None
    found: list[Any] = []
    for origin in (wire, "other"):
        request = Request(origin, "m", [User([TextPart("hi")])], adapted.tools, params={"max_tokens": 99})
        if is_wire(wire):
            found += check_request(write_request(request, wire, provider=provider).body, wire, provider=provider)
    return found


_MALFORMED: tuple[Any, ...] = (
    *(None, {}, {"type": ["object"]}, {"type": ["object"], "properties": {"a": {"type": ["string"]}}}),
    {"type": "OBJECT"},
    *({"type": "object", "properties": []}, {"properties": []}, {"type": "object", "properties": None}),
    *({"type": "object", "required": {}}, {"type": "object", "properties": {}, "required": "a"}, {"type": "string"}),
    *({"type": "object", "properties": {"a": {"type": ["object"], "properties": []}}}, {"enum": [1]}, {"type": []}),
    *({"anyOf": [{"type": "array"}]}, {"anyOf": [{"type": "object"}]}, {"type": "object", "enum": [1]}),
)


def test_a_malformed_schema_is_adapted_to_one_that_neither_check_refuses() -> None:
    refused = {
        (target, strict, repr(schema)): found
        for target, strict in _MODES
        for schema in _MALFORMED
        for adapted in [_adapted(schema, target, strict=strict)]
        if (found := [*check_tools(adapted.tools, target), *_refused(adapted, target)])
    }
    assert refused == {}


@given(schema=PARAMETERS, data=st.data())
@_SETTINGS
def test_a_value_that_the_original_accepts_returns_unchanged_or_a_loss_narrows(
    schema: dict[str, Any], data: st.DataObject
) -> None:
    value = data.draw(fitting(complete(schema)))
    for target, strict in _MODES:
        note(f"{target}, {strict=}")
        adapted = _adapted(schema, target, strict=strict)
        narrowed = {loss.code for loss in adapted.losses if loss.effect == "narrows"}
        if not narrowed - {"closed", "absent-or-null"}:
            assert_returns(adapted, value, narrowed)


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(("target", "strict"), _MODES)
@given(schema=PARAMETERS, data=st.data())
@_SETTINGS
def test_a_value_that_the_adapted_tool_accepts_fits_the_original_or_a_loss_widens(
    target: str, strict: bool, schema: dict[str, Any], data: st.DataObject
) -> None:
    adapted = _adapted(schema, target, strict=strict)
    arguments = data.draw(fitting(canonical(adapted.tools[0].parameters)))
    if not any(loss.effect == "widens" for loss in adapted.losses):
        assert fits(complete(schema), adapted.restore(adapted.tools[0].name, arguments)[1])


_OWN = [tool.definition for tool in read_tools(json.loads(Path(__file__).with_name("definitions.json").read_bytes()))]


@cache
def _recorded(folder: Path) -> list[ToolDefinition]:
    """The distinct definitions of the recorded requests."""
    found: dict[str, ToolDefinition] = {}
    for declared in requests_with_tools(folder):
        for tool in declared.tools:
            one = tool.definition
            found.setdefault(json.dumps([one.name, one.description, one.parameters, one.strict], sort_keys=True), one)
    return list(found.values())


def _assert_adapted(tools: list[ToolDefinition], target: str) -> None:
    for tool in tools:
        for strict in (tool.strict, True):
            adapted = adapt_tools([replace(tool, strict=strict)], target)
            assert check_tools(adapted.tools, target) == [], tool.name


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("target", TARGETS)
def test_every_recorded_definition_is_adapted_to_every_target(target: str, recordings: Path) -> None:
    tools = _recorded(recordings)
    assert len(tools) >= 300
    _assert_adapted(tools, target)
    print(f"{target}: {len(tools)} recorded definitions adapted validly, as they are and as strict")


@pytest.mark.parametrize("target", TARGETS)
def test_every_committed_definition_is_adapted_to_every_target(target: str) -> None:
    _assert_adapted(_OWN, target)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
@_SETTINGS
def test_arguments_of_a_real_definition_are_mapped_back(target: str, recordings: Path, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(_OWN) | st.sampled_from(_recorded(recordings)))
    adapted = adapt_tools([replace(tool, strict=True)], target)
    narrowed = {loss.code for loss in adapted.losses if loss.effect == "narrows"}
    assert narrowed <= {"closed", "absent-or-null"}, "the corpus has no other form"
    value = data.draw(fitting(complete(tool.parameters or {"type": "object", "properties": {}})))
    assert_returns(adapted, value, narrowed)
