"""Real tool definitions: those of the recorded requests, and a small committed set of forms that they lack."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from toolparity.schemas import TARGETS, ToolDefinition, adapt_tools, check_tools, read_tools

from .recorded import requests_with_tools
from .strategies import fitting
from .values import assert_mapped_back, complete

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
@settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_arguments_of_a_committed_definition_are_mapped_back(target: str, data: st.DataObject) -> None:
    _assert_mapped_back(data.draw(st.sampled_from(_OWN)), target, data)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
@settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_arguments_of_a_recorded_definition_are_mapped_back(target: str, recordings: Path, data: st.DataObject) -> None:
    _assert_mapped_back(data.draw(st.sampled_from(_recorded(recordings))), target, data)


def _assert_mapped_back(tool: ToolDefinition, target: str, data: st.DataObject) -> None:
    adapted = adapt_tools([replace(tool, strict=True)], target)
    narrowed = {loss.code for loss in adapted.losses if loss.effect == "narrows"}
    assert narrowed <= {"closed", "absent-or-null"}, "the corpus has no other form"
    value = data.draw(fitting(complete(tool.parameters or {"type": "object", "properties": {}})))
    assert_mapped_back(adapted, value, narrowed)
