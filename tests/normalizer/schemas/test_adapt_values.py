"""Adapted tools: valid for the provider, and with a loss for every value that is excluded, changed or added."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.requests import check_request, write_request
from toolparity.normalizer.schemas.adapt.canonical import canonical
from toolparity.normalizer.schemas.adapt.validation import fits
from toolparity.normalizer.wires.registry import is_wire
from toolparity.schemas import TARGETS, Adapted, ToolDefinition, adapt_tools, check_tools

from .strategies import PARAMETERS, fitting
from .values import assert_mapped_back, complete

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
            assert_mapped_back(adapted, value, narrowed)


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
