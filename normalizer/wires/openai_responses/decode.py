"""Decode a complete Responses body into a canonical response."""

from __future__ import annotations

from typing import Any

from ...model import DEAD_STOPS, ApprovalRequest, Choice, Refusal, Response, Stop, StopReason, Usage
from ..call_builder import CallBuilder
from ..decode_context import Context, read_whole
from ..error_response import error_of, response_without_output
from ..schema import Reader
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from ..usage import usage_reader
from .blocks import Conversion, CustomTools, convert
from .schema import Body, CustomToolCall, carry_body

_reader = Reader(Body)

#: Statuses of a response that has not ended yet (background mode). None of its calls may be executed.
UNFINISHED = frozenset(("queued", "in_progress"))


def decode(data: bytes, context: Context) -> Response:
    """Return the canonical response for the bytes of a response body.

    Raises MalformedBody if the bytes are not a JSON object.
    """
    body = read_whole(_reader, data, context)
    if body.output is None and (body.status in (None, "failed") or body.object not in (None, "response")):
        return response_without_output(context, data, id=body.id, model=body.model)
    complete = body.status not in UNFINISHED
    if not complete:
        context.find("response-unfinished", f"the response's status is {body.status!r}")
    return build_response(context, body, body.output or [], usage(body.usage), complete)


def build_response(context: Context, body: Body, items: list[Any], figures: Usage | None, complete: bool) -> Response:
    """Return the canonical response for a body and its output items.

    ``items``: replaces the body's output, because a stream may have more of it. ``figures``: the usage. ``complete``:
    whether the response has ended.
    """
    error = error_of(body.error, context.status) if body.error else None
    reason, raw = _stop(body, error is not None)
    builder = CallBuilder.of(context, 0, body.id)
    custom = custom_tools(context, body) if CustomToolCall in map(type, items) else None
    incomplete = body.status == "incomplete"
    blocks = convert(Conversion(builder, custom), items, incomplete or reason in CUTS or not complete)
    if reason == "end_turn" and builder.seen:
        stop = Stop("tool_calls", raw)  # `completed` does not show that there are calls
        if ApprovalRequest in map(type, blocks):
            context.find("needs-approval", "", 0)
    else:
        kinds = list(map(type, blocks))
        # The status of an unfinished response is not a stop reason.
        word = None if raw in UNFINISHED else raw
        stop = effective_stop(builder, reason, word, kinds.count(ApprovalRequest), kinds.count(Refusal))
        if word != raw:
            stop = Stop(stop.reason, raw)
        if incomplete and stop.reason == "tool_calls":
            stop = Stop("unknown", raw)  # the response was cut off; it did not stop for its calls
    if error is not None:
        context.find("error-response", f"{error.type}: {error.message}"[:500])
    return context.response(body.id, body.model, [Choice(0, blocks, stop)], figures, error, complete, carry_body(body))


def _stop(body: Body, failed: bool) -> tuple[StopReason | None, str | None]:
    """Return the stop reason and its raw value, which is the one in `incomplete_details` or else the status."""
    status, details = body.status, body.incomplete_details
    if failed and status != "incomplete":
        return "error", status
    reason = None if status is None or status in UNFINISHED else reason_of(status)
    word = details.get("reason") if isinstance(details, dict) else None
    if word and isinstance(word, str) and reason not in DEAD_STOPS:
        meant = reason_of(word)
        if status == "incomplete" or meant != "unknown":
            return meant, word
    return reason, status


def merge_bodies(first: Body, second: Body) -> Body:
    """Merge the bodies of two terminal events.

    The second takes precedence, but its empty members do not overwrite, and it does not replace a status such as
    `failed`.
    """
    status = second.status if first.status in (None, "completed", *UNFINISHED) else first.status
    for name in first.__struct_fields__:
        if getattr(second, name) in (None, []):
            setattr(second, name, getattr(first, name))
    second.status = status
    return second


def custom_tools(context: Context, body: Body) -> CustomTools | None:
    """Return the custom tools that the client declared if xAI's rule applies; None otherwise.

    xAI sends calls of its own sub-tools as `custom_tool_call` (failure SRV-09). The rule applies if the caller
    specified the provider xai, if the model's name contains "grok", or if the request declares `x_search`. If the
    request declares no hosted tool, every tool that it declares is the client's.
    """
    tools: list[Any] | None = body.tools if isinstance(body.tools, list) else None
    xai = context.provider == "xai" or "grok" in (body.model or "").lower()
    if not xai and not any(isinstance(tool, dict) and tool.get("type") == "x_search" for tool in tools or ()):
        return None
    declared = context.declared
    if declared.names is not None:
        return CustomTools(declared.custom if declared.hosted else declared.names)
    if tools is None:
        return CustomTools(None)
    named = (tool.get("name") for tool in tools if isinstance(tool, dict) and tool.get("type") == "custom")
    return CustomTools(frozenset(name for name in named if isinstance(name, str)))


#: Return the canonical usage; None if there is none.
usage = usage_reader(
    ("input_tokens", "prompt_tokens"),
    ("output_tokens", "completion_tokens"),
    "input_tokens_details",
    "output_tokens_details",
)
