"""Rules about tool definitions and the other members of the body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....conversation import ToolDefinition
from ... import common_rules
from ...rule import Violations, rule
from ...strict_schema import lacking_for_strict
from ...tool_rules import refused_tools
from ...traverse import items, member, objects, text
from ..dialects import GROQ_LACKS, MISTRAL_MEMBERS
from .messages import OPENAI, all_calls, function_of

_REFUSAL = "OpenAI's error message"
_TOOL_CHOICES = ("function", "custom", "allowed_tools")


@rule("custom-tool", "The providers' API references", ["mistral", "deepseek", "groq", "xai"])
def custom_tool(body: Any) -> Violations:
    """Only OpenAI accepts free-text tools."""
    for path, call in all_calls(body):
        if call.get("type") == "custom":
            yield f"{path}.type", "a custom call"
    for path, tool in objects(body, "tools"):
        if tool.get("type") == "custom":
            yield f"{path}.type", "a custom tool"


@rule("parameters-object", _REFUSAL, [*OPENAI, "deepseek"])
def parameters_object(body: Any) -> Violations:
    """A function's parameters are a schema of type object."""
    for path, tool in objects(body, "tools"):
        schema = member(tool.get("function"), "parameters")
        if schema and (not isinstance(schema, dict) or schema.get("type", "object") != "object"):
            yield f"{path}.function.parameters", "must be a schema of type object"


@rule("strict-schema", f"{_REFUSAL} (invalid_function_parameters) and guide on structured outputs", OPENAI)
def strict_schema(body: Any) -> Violations:
    """In a strict schema, every object requires all its properties and allows no additional ones."""
    for path, tool in objects(body, "tools"):
        function = tool.get("function")
        if member(function, "strict") is True:
            # without parameters, too: a recorded refusal
            for message in lacking_for_strict(member(function, "parameters") or {}):
                yield f"{path}.function.parameters", message


@rule("tool-schema", "normalizer.schemas.rules.openai", OPENAI)
def tool_schema(body: Any) -> Violations:
    """The schema of a function follows the rules for tools."""
    declared = [(path, tool) for path, tool in objects(body, "tools") if isinstance(tool.get("function"), dict)]
    yield from refused_tools([(f"{path}.function", _plain(tool["function"])) for path, tool in declared], "openai.chat")


def _plain(function: dict[str, Any]) -> ToolDefinition:
    """Return a function as a tool that is not strict; `strict_schema` checks the rest."""
    schema = function.get("parameters")
    typed = isinstance(schema, dict) and schema.get("type") == "object"  # see `parameters_object`
    return ToolDefinition(text(function.get("name")), parameters=schema if typed else None)


@rule("tools-count", "OpenAI API reference", OPENAI)
def tools_count(body: Any) -> Violations:
    """The list of tools, if present, has 1 to 128 entries."""
    if member(body, "tools") == []:
        yield "tools", "an empty list of tools"
    if len(items(body, "tools")) > 128:
        yield "tools", f"{len(body['tools'])} tools, at most 128 are allowed"


@rule("tools-needed", _REFUSAL, OPENAI)
def tools_needed(body: Any) -> Violations:
    """tool_choice and parallel_tool_calls require tools."""
    for name in ("tool_choice", "parallel_tool_calls"):
        if member(body, name) is not None and not items(body, "tools"):
            yield name, f"{name} without tools"


def _forced(body: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    name = function_of(member(body, "tool_choice")).get("name")
    if name is not None:
        yield "tool_choice", name, [function_of(tool).get("name") for _, tool in objects(body, "tools")]


choice_declared = common_rules.choice_declared(_forced, _REFUSAL, OPENAI)


def _unknown_choice(body: Any, known: tuple[str, ...]) -> Violations:
    choice = member(body, "tool_choice")
    if isinstance(choice, dict):
        valid = choice.get("type", "function") in _TOOL_CHOICES
    else:
        valid = choice is None or choice in known
    if not valid:
        yield "tool_choice", f"unknown tool choice: {choice!r}"


@rule("tool-choice", "The providers' API references", [*OPENAI, "groq", "deepseek"])
def tool_choice(body: Any) -> Violations:
    """tool_choice is one of the documented strings or objects."""
    return _unknown_choice(body, ("none", "auto", "required"))


@rule("tool-choice-mistral", "Mistral's API reference", ["mistral"], status=422)
def tool_choice_mistral(body: Any) -> Violations:
    """tool_choice is one of the documented strings or objects."""
    return _unknown_choice(body, ("none", "auto", "required", "any"))


@rule("limits-both", f"{_REFUSAL} (invalid_parameter_combination)", OPENAI)
def limits_both(body: Any) -> Violations:
    """max_tokens and max_completion_tokens cannot be combined."""
    if member(body, "max_tokens") is not None and member(body, "max_completion_tokens") is not None:
        yield "max_tokens", "cannot be combined with max_completion_tokens"


@rule("body-mistral", "Mistral's error message (extra inputs are not permitted) and its SDK", ["mistral"], status=422)
def body_mistral(body: Any) -> Violations:
    """Mistral rejects undocumented members of the body."""
    for name in body if isinstance(body, dict) else ():
        if name not in MISTRAL_MEMBERS:
            yield name, "not documented"


@rule("body-groq", "Groq's page on its compatibility with OpenAI, and its SDK", ["groq"])
def body_groq(body: Any) -> Violations:
    """Groq rejects some of OpenAI's members and more than one choice."""
    for name in sorted(GROQ_LACKS):
        if member(body, name) is not None:
            yield name, "not supported"
    if member(body, "n") not in (None, 1):
        yield "n", "more than one choice"
