"""A whole GetChatCompletionResponse into a canonical response."""

from __future__ import annotations

from typing import Any

from ...model import Response
from ..common import Context
from .outputs import Called, Output, choices, finished, usage
from .proto import as_dict, response_from, rest, unknown_fields


def decode(data: bytes, context: Context) -> Response:
    """Raises MalformedBody where the bytes are no such message."""
    message = response_from(data)
    outputs = [whole(output, context) for output in sorted(message.outputs, key=lambda o: o.index)]
    complete = finished(outputs)
    if not complete:
        context.find("stream-incomplete", "no output has a finish reason")
    extra = rest(message, "id", "model", "outputs", "usage")
    keep_unknown(context, message, extra)
    response = Response(
        context.wire,
        context.provider or "xai",
        message.id or None,
        message.model or None,
        choices(context, outputs, message.id, complete),
        usage(message.usage),
        None,
        complete,
        extra,
    )
    return response.with_findings(context.findings)


def whole(output: Any, context: Context) -> Output:
    """One CompletionOutput."""
    message = output.message
    extra = rest(output, "finish_reason", "index", "message")
    keep_unknown(context, output, extra)
    keep_unknown(context, message, extra)
    return Output(
        output.index,
        message.role,
        message.content,
        message.reasoning_content,
        message.encrypted_content,
        [called(call) for call in message.tool_calls],
        [as_dict(citation) for citation in message.citations],
        output.finish_reason,
        extra,
    )


def called(call: Any) -> Called:
    """One ToolCall."""
    return Called(call.id, call.type, call.status, call.function.name, call.function.arguments, call.error_message)


def keep_unknown(context: Context, message: Any, extra: dict[str, Any]) -> None:
    """Fields newer than the installed SDK are kept in extra and reported once (law `unknown`)."""
    found = unknown_fields(message)
    if found:
        extra.setdefault("unknown_fields", []).extend(found)
        numbers = sorted({entry["field"] for entry in found})
        text = f"fields {numbers} of {message.DESCRIPTOR.name}"
        if not any(f.message == text for f in context.findings):
            context.find("unknown-member", text)
