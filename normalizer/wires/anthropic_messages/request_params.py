"""Members of a Messages API request other than the messages: tools, tool choice and parameters."""

from __future__ import annotations

from typing import Any

from ...conversation import Request, Tool
from ..models import report_foreign_model
from ..write_context import WriteContext, merged, unrepresented
from .parts import kind_of
from .read import WIRE

#: Default token limit. Anthropic requires one and other wires do not.
MAX_TOKENS = 4096
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
#: Parameters with the same name and meaning on all wires.
_ALIKE = frozenset(("stream", "top_p"))
_MODES = {"auto": "auto", "required": "any", "named": "tool", "none": "none"}
_FORCED = frozenset(("any", "tool"))
#: Schema for a custom tool, which takes one free text.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def members(
    request: Request, context: WriteContext, system: Any, messages: list[dict[str, Any]], container: str | None
) -> dict[str, Any]:
    """Return the request body with its members in a fixed order.

    ``system`` and ``messages``: already written. ``container``: container id of the last response that has one, or
    None.
    """
    own = request.wire == WIRE
    params = dict(request.params) if own else _params(request.params, context)
    if request.previous_response_id is not None:
        context.lose("param", f"the history kept under {request.previous_response_id} is not here")
    body: dict[str, Any] = {}
    report_foreign_model(request, context)
    if request.model is not None:
        body["model"] = request.model
    if system:
        body["system"] = system
    tools = [written for tool in request.tools if (written := _tool(tool, context)) is not None]
    if tools or (request.tools and own):
        body["tools"] = tools
    thinking = params.get("thinking")
    thinks = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    if thinks and _in_tools_without_thinking(messages):
        context.lose("param", "thinking was left out: the turn that called the tools has none that can be sent back")
        del params["thinking"]
        thinks = False
    if request.tool_choice is not None and not (tools or own):  # providers refuse a choice without tools
        if request.tool_choice.mode not in ("auto", "none"):
            context.lose("tool-choice", "no tool is declared here")
    else:
        choice = _choice(request, context, thinks, [tool.get("name") for tool in tools if isinstance(tool, dict)])
        if choice is not None and (tools or own):
            body["tool_choice"] = choice
    body["messages"] = messages
    body.update(params)
    if container is not None:  # the code that made the calls waits there for their results (PTC-01)
        asked = body.get("container")
        if asked is None:
            body["container"] = container
        elif isinstance(asked, dict) and asked.get("id") is None:
            body["container"] = {**asked, "id": container}
    return body


def _in_tools_without_thinking(messages: list[dict[str, Any]]) -> bool:
    """Report whether the last assistant turn called tools and does not begin with thinking (THINK-01)."""
    place = len(messages) - 1
    while place > 0 and not _is_said(messages[place - 1]):
        place -= 1
    if place <= 0 or _first_kind(messages[place]) != "tool_result":
        return False
    while place > 1 and _is_said(messages[place - 2]):
        place -= 1
    return _first_kind(messages[place - 1]) not in ("thinking", "redacted_thinking")


def _is_said(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "assistant"


def _first_kind(message: Any) -> str | None:
    """Return the type of a message's first block, or None. Messages kept as raw items may have any form."""
    content = message.get("content") if isinstance(message, dict) else None
    return kind_of(content[0]) if isinstance(content, list) and content else None


def _tool(tool: Tool, context: WriteContext) -> Any:
    own = tool.wire == WIRE
    if tool.kind == "hosted":
        if own:
            return tool.raw
        context.lose("hosted-tool", f"{tool.name} was not declared")
        return None
    written: dict[str, Any] = {"name": context.name(tool.name)}
    if tool.description is not None:
        written["description"] = tool.description
    schema = tool.parameters
    if tool.kind == "custom":
        context.lose("kind", f"{tool.name} takes free text; it was declared with one text parameter")
        schema = _FREE_TEXT
    elif not schema:
        schema = {"type": "object", "properties": {}}
    elif isinstance(schema, dict) and "type" not in schema:
        schema = {"type": "object", **schema}
    written["input_schema"] = schema
    if tool.strict is not None:
        written["strict"] = tool.strict
    if tool.extra:
        if own:
            return merged(written, tool.extra)
        if lost := unrepresented(tool.extra):
            context.lose("extra", f"{tool.name}: left out: {', '.join(lost)}")
    return written


def _choice(request: Request, context: WriteContext, thinking: bool, names: list[Any]) -> dict[str, Any] | None:
    """Convert the tool choice. With extended thinking a forced choice becomes "auto", as providers refuse it (TC-01).

    ``names``: names of the declared tools on the wire.
    """
    choice, parallel = request.tool_choice, request.parallel
    written: dict[str, Any] | None = None
    if choice is not None and choice.mode == "raw":
        if request.wire == WIRE:
            raw: dict[str, Any] = choice.raw
            return raw
        context.lose("tool-choice", "a mode that only another wire knows became auto")
        written = {"type": "auto"}
    elif choice is not None:
        kind = _MODES[choice.mode]
        if thinking and kind in _FORCED:
            context.lose("tool-choice", "thinking allows no forced choice; it became auto")
            kind = "auto"
        name = context.name(choice.name) if kind == "tool" and choice.name is not None else None
        if kind == "tool" and (name is None or name not in names):
            context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared; the choice became auto")
            kind = "auto"
        written = {"type": kind}
        if kind == "tool":
            written["name"] = name
    elif parallel is False:
        written = {"type": "auto"}
    if written is not None and parallel is not None and written["type"] != "none":
        written["disable_parallel_tool_use"] = not parallel
    return written


def _params(given: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    """Convert the parameters of another wire's request, and report those without a counterpart as losses."""
    limits = {name: given[name] for name in _LIMITS if isinstance(given.get(name), int)}
    params: dict[str, Any] = {"max_tokens": next(iter(limits.values()), MAX_TOKENS)}
    if not limits:
        context.lose("default", f"max_tokens: {MAX_TOKENS} was added, as a limit is demanded here")
    for name, limit in limits.items():
        if limit != params["max_tokens"]:
            context.lose("param", f"{name} was left out: another member says max_tokens")
    for name, value in given.items():
        if value is None or (name in _LIMITS and isinstance(value, int)) or (name == "n" and value == 1):
            continue
        if name in _ALIKE:
            params[name] = value
        elif name == "temperature" and isinstance(value, (int, float)):
            params[name] = min(value, 1)
            if value > 1:
                context.lose("param", f"temperature {value} is above the highest here, 1")
        elif name == "stop" and isinstance(value, (str, list)):
            params["stop_sequences"] = [value] if isinstance(value, str) else value
        else:
            context.lose("param", f"{name} was left out")
    return params
