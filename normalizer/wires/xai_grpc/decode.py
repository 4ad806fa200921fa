"""Decoder for complete responses of xAI (GetChatCompletionResponse)."""

from __future__ import annotations

from typing import Any

from ...model import Response
from ..decode_context import Context
from ..error_response import response_without_output
from .blocks import Output, build_choices, is_complete, usage
from .decode_fast import decode_regular
from .schema import SERVER_TOOLS, as_dict, fields_except, response_from, unknown_fields
from .stream_state import CompleteCall, StreamedCall


def decode(data: bytes, context: Context) -> Response:
    """Convert a serialized GetChatCompletionResponse, or its protobuf JSON, to a canonical response.

    A failed RPC has a status instead of a message. Its JSON, ``{"code", "details"}``, becomes an error response.
    Raises MalformedBody if the bytes are neither.
    """
    if context.status is not None and context.status >= 400 and data[:1] == b"{":
        return response_without_output(context, data)
    message = response_from(data)
    return decode_regular(message, context) or _decode(message, context)


def _decode(message: Any, context: Context) -> Response:
    outputs = []
    by_id: dict[str, StreamedCall] = {}
    for output in sorted(message.outputs, key=lambda o: o.index):
        outputs.append(read_output(output, context, by_id if context.declared.n == 1 else {}))
    complete = is_complete(context, [output.finish for output in outputs])
    if not complete:
        context.find("stream-incomplete", "the last output has no finish reason")
    extra = fields_except(message, "id", "model", "outputs", "usage")
    keep_unknown(context, message, extra)
    context.provider = context.provider or "xai"
    built = build_choices(context, outputs, message.id, complete)
    return context.response(
        message.id or None, message.model or None, built, usage(message.usage), None, complete, extra
    )


def read_output(output: Any, context: Context, by_id: dict[str, StreamedCall]) -> Output:
    """Convert a CompletionOutput. ``by_id``: the calls of earlier outputs, which this one may repeat or continue.

    The function adds the new calls to ``by_id``.
    """
    message = output.message
    extra = fields_except(output, "finish_reason", "index", "message")
    keep_unknown(context, output, extra)
    keep_unknown(context, message, extra)
    return Output(
        output.index,
        message.role,
        message.content,
        message.reasoning_content,
        message.encrypted_content,
        _calls(message, context, by_id),
        [as_dict(citation) for citation in message.citations],
        output.finish_reason,
        extra,
    )


def _calls(message: Any, context: Context, by_id: dict[str, StreamedCall]) -> list[CompleteCall]:
    calls: list[CompleteCall] = []
    for wire_call in message.tool_calls:
        call = read_call(context, wire_call)
        known = by_id.get(call.id) if call.id else None
        if known is not None and not known.differs(call):
            known.take(call, wire_call)
            known.call.occurrences += 1
            call = known.finished()
            if any(call is other for other in calls):
                continue
        elif call.id:
            by_id[call.id] = StreamedCall(call, wire_call)
        calls.append(call)
    return calls


def read_call(context: Context, call: Any) -> CompleteCall:
    """Convert a protobuf ToolCall."""
    extra: dict[str, Any] = {}
    keep_unknown(context, call, extra)
    keep_unknown(context, call.function, extra)
    function = call.function
    name, text = function.name, function.arguments
    names, hosted = context.declared.names, context.declared.hosted
    by_name = names is None and context.provider in (None, "xai")
    own = names is not None and name in names and hosted.isdisjoint((name, SERVER_TOOLS.get(call.type, name)))
    return CompleteCall(call.id, call.type, call.status, name, text, call.error_message, extra, 1, False, by_name, own)


def keep_unknown(context: Context, message: Any, extra: dict[str, Any]) -> None:
    """Keep fields that the installed SDK does not know in ``extra``, and report them once (law `unknown`)."""
    fields = unknown_fields(message)
    if fields:
        extra.setdefault("unknown_fields", []).extend(fields)
        numbers = sorted({entry["field"] for entry in fields})
        context.find_once("unknown-member", f"fields {numbers} of {message.DESCRIPTOR.name}")
