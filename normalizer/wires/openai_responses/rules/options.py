"""Rules for the tools of a request, the tool choice and the options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....conversation import ToolDefinition
from ... import common_rules
from ...rule import Violations, rule
from ...strict_schema import lacking_for_strict
from ...tool_rules import refused_tools
from ...traverse import member, objects, text
from ...xai_tools import REFUSED
from ..request_params import SMALLEST_LIMIT
from .items import typed_items

_OPENAI = ("openai", "azure")
_XAI = frozenset(("xai",))
_API = "the API's reference: create a response"


def _declared(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((path, tool) for path, tool in objects(body, "tools") if tool.get("type") in ("function", "custom"))


def _names(body: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"{path}.name", tool.get("name")) for path, tool in _declared(body))
    for path, item, kind in typed_items(body):
        if kind in ("function_call", "custom_tool_call"):
            yield f"{path}.name", item.get("name")


def _tool_names(body: Any) -> Iterator[tuple[str, str]]:
    return ((f"{path}.name", text(tool.get("name"))) for path, tool in _declared(body) if text(tool.get("name")))


def _known_tools(body: Any) -> list[dict[str, Any]]:
    """Return the tools of the request, of its history, and those in namespaces."""
    holders = [body, *(item for _, item in objects(body, "input"))]
    tools = [tool for holder in holders for _, tool in objects(holder, "tools")]
    return tools + [tool for space in tools for _, tool in objects(space, "tools")]


def _forced(body: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    choice = member(body, "tool_choice")
    if member(choice, "type") in ("function", "custom") and not member(body, "prompt"):  # which declares tools, too
        yield "tool_choice", choice.get("name"), [tool.get("name") for tool in _known_tools(body)]


name_format = common_rules.name_format(_names, "failure NAME-04", pattern="[a-zA-Z0-9_-]{1,128}")
name_free = common_rules.name_free(
    _tool_names, "NousResearch/hermes-agent#95003; failure XAI-08", _XAI, reserved=REFUSED
)
tool_unique = common_rules.tool_unique(_tool_names, "failure NAME-07")


@rule("parameters-object", _API)
def parameters_object(body: Any) -> Violations:
    """The parameters of a function are an object."""
    for path, tool in _declared(body):
        type = member(tool.get("parameters"), "type")
        if tool["type"] == "function" and type not in (None, "object"):
            yield f"{path}.parameters", f"must have type object, got {type!r}"


@rule("tool-schema", "normalizer.schemas.rules.openai", _OPENAI)
def tool_schema(body: Any) -> Violations:
    """The schema of a function follows the rules for tools."""
    declared: list[tuple[str, ToolDefinition]] = []
    for path, tool in _declared(body):
        schema = tool.get("parameters")
        if member(schema, "type") == "object":  # see `parameters_object`; `strict_schema` checks the rest
            declared.append((path, ToolDefinition(text(tool.get("name")), parameters=schema)))
    yield from refused_tools(declared, "openai.responses")


@rule("strict-schema", _API, _OPENAI)
def strict_schema(body: Any) -> Violations:
    """A strict schema requires every property and allows no additional ones."""
    for path, tool in _declared(body):
        schema = tool.get("parameters")
        if tool["type"] == "function" and tool.get("strict") is True and isinstance(schema, dict):
            for message in lacking_for_strict(schema):
                yield f"{path}.parameters", message


choice_declared = common_rules.choice_declared(_forced, _API)


@rule("tools-needed", _API)
def tools_needed(body: Any) -> Violations:
    """A call can only be required if a tool is declared, here, by the history or by a stored prompt."""
    if member(body, "tool_choice") == "required" and not (member(body, "prompt") or _known_tools(body)):
        yield "tool_choice", "a call is required, but no tool is declared"


@rule("tool-choice", _API)
def tool_choice(body: Any) -> Violations:
    """tool_choice is none, auto, required, or an object with a type."""
    choice = member(body, "tool_choice")
    if choice not in (None, "none", "auto", "required") and not isinstance(member(choice, "type"), str):
        yield "tool_choice", f"must be none, auto, required or an object with a type, got {choice!r}"


@rule("output-limit", _API, _OPENAI)
def output_limit(body: Any) -> Violations:
    """The minimum of max_output_tokens is 16."""
    limit = member(body, "max_output_tokens")
    if isinstance(limit, int) and not isinstance(limit, bool) and limit < SMALLEST_LIMIT:
        yield "max_output_tokens", f"must be at least {SMALLEST_LIMIT}, got {limit}"
