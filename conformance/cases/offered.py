"""The tools that an agent gets in a case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec

from ..oracle import facts
from ..subjects import Tool
from .case import Case
from .expected import Expected
from .scenarios import Scenario

#: The schema of a tool that the request does not declare: it accepts any arguments.
_ANY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}


def offered_tools(request: Any, expected: Expected) -> list[Tool]:
    """Return the functions that the request declares, with a shared record of their runs.

    If the request declares no tools, an agent gets a function for each call, because a model calls declared tools.
    """
    runs: list[dict[str, Any]] = []
    declared = list(_declared(request))
    if not (isinstance(request, dict) and request.get("tools")):
        declared = [(call.name, "A tool.", _ANY) for call in expected.calls]
    named = {name: (name, description, schema) for name, description, schema in declared if name}
    return [Tool(*definition, runs) for definition in named.values()]


def _declared(request: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name, description and schema of each function in a request of any wire."""
    for tool in (request.get("tools") if isinstance(request, dict) else None) or []:
        function = tool.get("function") or tool
        schema = function.get("parameters") or function.get("input_schema")
        if isinstance(schema, str):
            schema = json_codec.decode(schema)
        if isinstance(schema, dict):
            yield function.get("name") or "", function.get("description") or "", schema


def not_for_agents(scenario: Scenario, case: Case) -> str:
    """Return why a case is not run with agents, or "" if it is."""
    rounds = len(scenario.script.rounds) if scenario.script is not None else 1
    for number in range(rounds):
        for call in scenario.expected(case.surface, number, stream=case.stream).calls:
            if call.kind != "function":
                return f"the suite gives agents functions, and {call.name} is a call of kind {call.kind}"
            if call.choice:
                return "an agent asks for one choice, and the response has several"
    own_tools = facts(SURFACES[case.surface].wire).own_tools
    for tool in scenario.file.tools if scenario.script is None else ():
        if tool.name in own_tools:
            return f"an agent may give the tool {tool.name} another name, because the provider has one"
    return ""
