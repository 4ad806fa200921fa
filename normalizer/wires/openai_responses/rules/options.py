"""Rules for the tools of a request, the tool choice and the options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ....conversation import ToolDefinition
from ...rule import Violations, rule
from ...strict_schema import lacking_for_strict
from ...tool_rules import refused_tools
from ...traverse import member, objects, text
from ...xai_tools import RESERVED_ON_RESPONSES
from ..request_params import SMALLEST_LIMIT
from .items import typed_items

_OPENAI = ("openai", "azure")
_XAI = frozenset(("xai",))
_API = "the API's reference: create a response"
#: The tools of deep research models, as OpenAI's error message lists them; web_search is the later name of the first.
_RESEARCH = ("web_search_preview", "web_search", "code_interpreter", "mcp", "file_search")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def _declared(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((path, tool) for path, tool in objects(body, "tools") if tool.get("type") in ("function", "custom"))


@rule("tool-name", "failure NAME-04")
def tool_name(body: Any) -> Violations:
    """Names of tools and calls consist of letters, digits, _ and -."""
    named = [*_declared(body)]
    named += [(path, item) for path, item, kind in typed_items(body) if kind in ("function_call", "custom_tool_call")]
    for path, holder in named:
        if not _NAME.fullmatch(text(holder.get("name"))):
            yield f"{path}.name", f"{holder.get('name')!r} does not match {_NAME.pattern}"


@rule("tool-name-free", "failure XAI-08", _XAI)
def tool_name_free(body: Any) -> Violations:
    """The names of hosted tools are reserved."""
    for path, tool in _declared(body):
        if text(tool.get("name")) in RESERVED_ON_RESPONSES:
            yield f"{path}.name", f"{tool['name']} is reserved"


@rule("tool-name-once", "failure NAME-07")
def tool_name_once(body: Any) -> Violations:
    """Tool names are unique."""
    seen: set[str] = set()
    for path, tool in _declared(body):
        name = tool.get("name")
        if isinstance(name, str):
            if name in seen:
                yield f"{path}.name", f"{name!r} is declared twice"
            seen.add(name)


@rule("tool-schema", _API)
def tool_schema(body: Any) -> Violations:
    """The parameters of a function are an object."""
    for path, tool in _declared(body):
        type = member(tool.get("parameters"), "type")
        if tool["type"] == "function" and type not in (None, "object"):
            yield f"{path}.parameters", f"must have type object, got {type!r}"


@rule("tool-keywords", "normalizer.schemas.rules.openai", _OPENAI)
def tool_keywords(body: Any) -> Violations:
    """The schema of a function follows the rules for tools."""
    declared: list[tuple[str, ToolDefinition]] = []
    for path, tool in _declared(body):
        schema = tool.get("parameters")
        if member(schema, "type") == "object":  # see `tool_schema`; `tool_strict` checks the rest
            declared.append((path, ToolDefinition(text(tool.get("name")), parameters=schema)))
    yield from refused_tools(declared, "openai.responses")


@rule("tool-strict", _API, _OPENAI)
def tool_strict(body: Any) -> Violations:
    """A strict schema requires every property and allows no additional ones."""
    for path, tool in _declared(body):
        schema = tool.get("parameters")
        if tool["type"] == "function" and tool.get("strict") is True and isinstance(schema, dict):
            for message in lacking_for_strict(schema):
                yield f"{path}.parameters", message


@rule("tool-kinds", "refusal: Deep research models only support …", _OPENAI)
def tool_kinds(body: Any) -> Violations:
    """Deep research models have only tools that OpenAI runs."""
    if "deep-research" in text(member(body, "model")):
        for path, tool in objects(body, "tools"):
            if text(tool.get("type")) not in _RESEARCH:
                yield f"{path}.type", f"must be one of {', '.join(_RESEARCH)}, got {tool.get('type')!r}"


@rule("tool-choice", _API)
def tool_choice(body: Any) -> Violations:
    """A forced tool is declared."""
    choice = member(body, "tool_choice")
    tools = [tool for _, tool in objects(body, "tools")]
    if choice == "required" and not tools:
        yield "tool_choice", "a call is required, but no tool is declared"
    forced = member(choice, "type") in ("function", "custom")
    if forced and choice.get("name") not in [tool.get("name") for tool in tools]:
        yield "tool_choice", f"{choice.get('name')!r} is not declared"


@rule("tool-choice-form", _API)
def tool_choice_form(body: Any) -> Violations:
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
