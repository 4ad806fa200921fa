"""Parameters of a Messages API request: its members other than the system prompt, the messages and the tools."""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..parameters import Member, Number, schema_of, write_parameters
from ..write_context import WriteContext
from .parts import kind_of
from .schema import WIRE

#: Default token limit. Anthropic requires one and other wires do not.
MAX_TOKENS = 4096


def _read_format(format: Any) -> Any:
    """Return ``output_config.format`` in the form of Chat Completions."""
    schema = format.get("schema") if isinstance(format, dict) else None
    return {"type": "json_schema", "json_schema": {"schema": schema}} if isinstance(schema, dict) else None


def _write_format(format: Any) -> Any:
    schema = schema_of(format)
    return {"type": "json_schema", "schema": schema} if isinstance(schema, dict) else None


PARAMETERS = {
    "max_tokens": Member("max_tokens", int),
    "temperature": Member("temperature", Number, most=1),
    "top_p": Member("top_p", Number),
    "top_k": Member("top_k", int),
    "stop": Member("stop_sequences", list),
    "stream": Member("stream", bool),
    "format": Member("output_config.format", dict, read=_read_format, write=_write_format),
}


def write_params(request: Request, context: WriteContext, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the parameters for a body with these messages, and report losses."""
    params = dict(request.params) if request.wire == WIRE else _foreign_params(request, context)
    if request.previous_response_id is not None:
        context.lose("param", f"previous_response_id: {request.previous_response_id} is stored by another provider")
    report_foreign_model(request, context)
    thinking = params.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and _calls_without_thinking(messages):
        context.lose("param", "thinking was left out: the message with the last calls has none that can be sent back")
        del params["thinking"]
    return params


def _calls_without_thinking(messages: list[dict[str, Any]]) -> bool:
    """Report whether the last assistant message called tools and does not begin with thinking (THINK-01)."""
    index = len(messages) - 1
    while index > 0 and not _is_assistant(messages[index - 1]):
        index -= 1
    if index <= 0 or _first_kind(messages[index]) != "tool_result":
        return False
    while index > 1 and _is_assistant(messages[index - 2]):
        index -= 1
    return _first_kind(messages[index - 1]) not in ("thinking", "redacted_thinking")


def _is_assistant(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "assistant"


def _first_kind(message: Any) -> str | None:
    """Return the type of a message's first block, or None. Messages kept as raw items may have any form."""
    content = message.get("content") if isinstance(message, dict) else None
    return kind_of(content[0]) if isinstance(content, list) and content else None


def _foreign_params(request: Request, context: WriteContext) -> dict[str, Any]:
    """Convert the parameters of another wire's request, and report those without a counterpart as losses."""
    written: dict[str, Any] = {}
    write_parameters(request, context, written)
    if "max_tokens" not in written:
        context.lose("default", f"max_tokens: {MAX_TOKENS} was added, because the provider requires a limit")
        written["max_tokens"] = MAX_TOKENS
    return written
