"""Rules about tools, thinking, server calls, the tool choice and caching."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....conversation import ToolDefinition
from ....schemas.rules.anthropic import OUTPUT
from ... import common_rules
from ...rule import Violations, rule
from ...tool_rules import refused_schema, refused_tools
from ...traverse import items, member, objects, text
from .traverse import CLAUDE, SERVER_CALLS, THINKING, assistant_turns, blocks_of, is_server_result, thinks, turns_of

WIRE = "anthropic.messages"
_CHOICES = ("auto", "any", "tool", "none")
_MOST_CACHE_MARKS = 4


def _names(body: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"{path}.name", tool.get("name")) for path, tool in objects(body, "tools") if _is_custom(tool))
    for path, block in blocks_of(body):
        if block.get("type") == "tool_use":
            yield f"{path}.name", block.get("name")


def _tool_names(body: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of all tools, also of hosted ones."""
    return ((f"{path}.name", text(tool["name"])) for path, tool in objects(body, "tools") if "name" in tool)


def _forced(body: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    choice = member(body, "tool_choice")
    if member(choice, "type") == "tool" and items(body, "tools"):
        yield "tool_choice.name", choice.get("name"), [tool.get("name") for _, tool in objects(body, "tools")]


def _is_custom(tool: dict[str, Any]) -> bool:
    return tool.get("type") in (None, "custom")


name_format = common_rules.name_format(
    _names, "refusal: tools.custom.name should match the pattern; NAME-04", pattern="[a-zA-Z0-9_-]{1,128}"
)
tool_unique = common_rules.tool_unique(_tool_names, "refusal: Tool names must be unique; NAME-07, NAME-08")
choice_declared = common_rules.choice_declared(_forced, "documented: tool_choice; TC-01")


@rule(
    "tool-schema",
    "documented: tools.input_schema; refusal: input_schema does not support oneOf, allOf, or anyOf at its top; "
    "normalizer.schemas.rules.anthropic",
)
def tool_schema(body: Any) -> Violations:
    """A tool's schema has type object, no union at its top level, and follows the other rules for tools."""
    declared: list[tuple[str, ToolDefinition]] = []
    for path, tool in objects(body, "tools"):
        if not _is_custom(tool):
            continue
        schema, strict = tool.get("input_schema"), tool.get("strict") is True
        if isinstance(schema, dict):
            declared.append((path, ToolDefinition(text(tool.get("name")), parameters=schema, strict=strict)))
        else:
            yield f"{path}.input_schema", "must be a schema of type object"
    yield from refused_tools(declared, WIRE, schema="input_schema")


@rule(
    "output-schema",
    "refusals: output_format.schema: Field required; For 'integer' type, property 'minimum' is not supported",
)
def output_schema(body: Any) -> Violations:
    """A structured output has a schema, with the keywords that strict tools may have."""
    formats = {"output_format": body, "output_config.format": member(body, "output_config")}
    for path, holder in formats.items():
        format = member(holder, path.rpartition(".")[2])
        if member(format, "type") == "json_schema" and not isinstance(format.get("schema"), dict):
            yield f"{path}.schema", "missing"
        yield from refused_schema(member(format, "schema"), f"{path}.schema", OUTPUT)


@rule("signed", "THINK-02, THINK-03", CLAUDE)
def signed(body: Any) -> Violations:
    """Thinking includes its signature, and redacted thinking its data."""
    for path, block in blocks_of(body):
        if block.get("type") == "thinking" and not text(block.get("signature")):
            yield f"{path}.signature", "thinking without a signature"
        elif block.get("type") == "redacted_thinking" and not text(block.get("data")):
            yield f"{path}.data", "redacted thinking without its data"


@rule("thinking-first", "THINK-01")
def thinking_first(body: Any) -> Violations:
    """With thinking enabled, a turn with tool calls begins with its thinking."""
    turn, following = next(reversed([*assistant_turns(body)]), (None, None))
    if turn and following and following.of("tool_result") and turn.of("tool_use") and thinks(body):
        path, first = turn.blocks[0]
        if first.get("type") not in THINKING:
            yield path, "thinking is enabled, but the turn with the calls does not begin with thinking"


@rule("thinking-budget", "refusal: max_tokens must be greater than thinking.budget_tokens")
def thinking_budget(body: Any) -> Violations:
    """thinking.budget_tokens is less than max_tokens."""
    # With tools, interleaved thinking, which a header enables, may exceed the limit.
    if not thinks(body) or items(body, "tools"):
        return
    limit, budget = body.get("max_tokens"), body["thinking"].get("budget_tokens")
    if type(limit) is int and type(budget) is int and budget >= limit:
        yield "thinking.budget_tokens", f"{budget} is not less than max_tokens ({limit})"


@rule("thinking-last", "refusal: the final block in an assistant message cannot be thinking")
def thinking_last(body: Any) -> Violations:
    """An assistant turn does not end with thinking."""
    for turn, _ in assistant_turns(body):
        if turn.blocks and turn.blocks[-1][1].get("type") in THINKING:
            yield turn.blocks[-1][0], "the last block of an assistant turn is thinking"


@rule("server-pair", "SRV-01, ORD-03")
def server_pair(body: Any) -> Violations:
    """A server call and its result are in the same turn."""
    for turn, following in assistant_turns(body):
        if following is None or turn.of("tool_use"):
            continue  # the turn is paused, or waits for tool results
        results = [block.get("tool_use_id") for _, block in turn.blocks if is_server_result(block)]
        for path, block in turn.of(*SERVER_CALLS):
            if block.get("id") not in results:
                yield path, f"{block.get('name')} ({block.get('id')}) has no result in its turn"


@rule("server-result", "SRV-04")
def server_result(body: Any) -> Violations:
    """The result of a server call follows its call."""
    pending: list[Any] = []
    for turn, _ in assistant_turns(body):
        calls: list[Any] = []
        results: list[Any] = []
        for path, block in turn.blocks:
            if block.get("type") in SERVER_CALLS:
                calls.append(block.get("id"))
            elif is_server_result(block):
                id = block["tool_use_id"]
                results.append(id)
                if id not in calls and id not in pending:
                    yield path, f"{block.get('type')} for {id}, which its turn does not call"
        # code that waits for a client tool gets its result in a later turn
        pending = [id for id in (*pending, *calls) if id not in results] if turn.of("tool_use") else []


@rule("error-result", "refusal: content cannot be empty, and must be text, if is_error is true")
def error_result(body: Any) -> Violations:
    """An error result contains text that describes the error."""
    for path, block in blocks_of(body):
        if block.get("type") != "tool_result" or block.get("is_error") is not True:
            continue
        if not block.get("content"):
            yield f"{path}.content", "an error result without content"
        elif any(part.get("type") != "text" for _, part in objects(block, "content")):
            yield f"{path}.content", "an error result with content that is not text"


@rule("tool-choice", "documented: tool_choice; TC-01")
def tool_choice(body: Any) -> Violations:
    """The tool choice is a documented one and requires tools."""
    choice = member(body, "tool_choice")
    if choice is None:
        return
    kind = member(choice, "type")
    if kind not in _CHOICES:
        yield "tool_choice.type", f"must be one of {', '.join(_CHOICES)}, got {kind!r}"
    elif not items(body, "tools"):
        yield "tool_choice", "a tool choice without tools"


@rule("cache-marks", "refusal: a maximum of 4 blocks with cache_control may be provided", whole=True)
def cache_marks(body: Any) -> Violations:
    """At most four blocks have a cache mark."""
    holders = [*blocks_of(body, system=True, nested=True), *objects(body, "tools")]
    marked = [path for path, holder in holders if holder.get("cache_control")]
    if len(marked) > _MOST_CACHE_MARKS:
        problem = f"{len(marked)} cache marks, at most {_MOST_CACHE_MARKS} are allowed"
        yield f"{marked[_MOST_CACHE_MARKS]}.cache_control", problem


@rule("container", "refusal: container_id is required; PTC-01")
def container(body: Any) -> Violations:
    """Results for calls made by code name the container in which the code runs."""
    if member(body, "container"):
        return
    for turn in turns_of(body)[-2:-1]:
        for _, block in turn.of("tool_use") if turn.role == "assistant" else ():
            if text(member(block.get("caller"), "type")).startswith("code_execution"):
                yield "container", f"{block.get('id')} was called by code; its container must be named"
                return
