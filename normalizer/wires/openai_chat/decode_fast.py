"""Fast path for complete bodies with one choice, in OpenAI's form and with the members that dialects often add.

Only this wire needs it, because its full schema covers many dialects. `decode` handles every other body with the full
schema and all rules of the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from ... import json_codec
from ...model import Block, Choice, Refusal, Response, Stop, Text
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..schema import UNFIT, carrier
from ..stop_reason import CUTS, effective_stop
from .blocks import content_parts, reasoning, stop_reason, usage


class _Function(Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: str


class _Call(Struct, forbid_unknown_fields=True, gc=False):
    id: str
    function: _Function
    type: Literal["function"] | None = None
    index: int | None = None


class _Message(Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: str | list[Any] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[_Call] | None = None
    function_call: None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    audio: None = None
    parsed: None = None


class _EmptyDelta(Struct, forbid_unknown_fields=True, gc=False):
    """A `delta` that some servers add to a body. It adds nothing to the message."""

    role: str | None = None
    content: Literal[""] | None = None


class _Choice(Struct, forbid_unknown_fields=True, gc=False):
    index: int
    message: _Message
    finish_reason: str | None = None
    delta: _EmptyDelta | None = None
    logprobs: Any = None
    native_finish_reason: Any = None
    content_filter_results: Any = None
    content_filter_result: Any = None
    finish_details: Any = None
    seed: Any = None
    stop_reason: Any = None


class _Body(Struct, forbid_unknown_fields=True, gc=False):
    id: str
    choices: list[_Choice]
    provider: Any = None
    object: Literal["chat.completion"] | None = None
    created: Any = None
    model: str | None = None
    service_tier: Any = None
    system_fingerprint: Any = None
    usage: dict[str, Any] | None = None
    citations: Any = None
    search_results: Any = None
    x_groq: Any = None
    usage_breakdown: Any = None
    moderation: Any = None
    prompt: Any = None
    prompt_filter_results: Any = None
    request_id: Any = None
    time_info: Any = None


_read = json_codec.decoder(_Body)
_carry_body = carrier(_Body, "id", "choices", "object", "model", "usage")
_carry_choice = carrier(_Choice, "index", "message", "delta", "finish_reason")


#: The stop of a choice without calls, and of one with calls, if there is nothing to report about its word.
_ENDS: dict[str | None, Stop] = {"stop": Stop("end_turn", "stop"), "length": Stop("max_tokens", "length")}
_CALLED: dict[str | None, Stop] = {"tool_calls": Stop("tool_calls", "tool_calls")}


def _is_regular_part(part: Any) -> bool:
    """Return whether a content part becomes a block without any finding."""
    kind = part.get("type") if isinstance(part, dict) else None
    return kind == "thinking" or (kind == "text" and isinstance(part.get("text"), str))


def decode_regular(data: bytes, context: Context) -> Response | None:
    """Return the response; None, without any finding, if the body does not fit the fast path."""
    try:
        body = _read(data)
    except UNFIT:
        return None
    if len(body.choices) != 1 or (body.x_groq is not None and not body.usage):
        return None  # `x_groq` may hold the usage
    choice = body.choices[0]
    message = choice.message
    thoughts: Block | None = None
    if message.reasoning_content or message.reasoning or message.reasoning_details:
        thoughts = reasoning(message.reasoning_content, message.reasoning, message.reasoning_details)
    extra = _carry_choice(choice)
    built = _text_choice(choice, extra, thoughts)
    if built is None:
        calls = message.tool_calls
        built = regular_choice(
            CallBuilder(context, choice.index, body.id, {}, context.declared.names),
            choice.finish_reason,
            extra,
            thoughts,
            message.content,
            [(call.id, call.function.name, call.function.arguments) for call in calls] if calls else (),
            message.annotations,
            message.refusal,
        )
    if built is None:
        return None
    return context.response(body.id, body.model, [built], usage(body.usage), None, True, _carry_body(body))


def _text_choice(choice: _Choice, extra: dict[str, Any], thoughts: Block | None) -> Choice | None:
    """Return the choice of a message that is only a text, as most are; None for any other."""
    message = choice.message
    content = message.content
    stop = _ENDS.get(choice.finish_reason)
    if stop is None or message.tool_calls or message.refusal or not content or not isinstance(content, str):
        return None
    if choice.native_finish_reason is not None and stop_reason(choice.finish_reason, extra) != stop.reason:
        return None
    text: Block = Text(content, message.annotations or [])
    return Choice(choice.index, [text] if thoughts is None else [thoughts, text], stop, extra)


def regular_choice(
    builder: CallBuilder,
    finish_reason: str | None,
    extra: dict[str, Any],
    thoughts: Block | None,
    content: str | list[Any] | None,
    calls: Sequence[tuple[str | None, str | None, str]],
    annotations: list[Any] | None = None,
    refusal: str | None = None,
) -> Choice | None:
    """Return the choice of a message with only these parts; None, without any finding, if it is not a regular one.

    ``calls``: id, name and argument text of each.
    """
    stop = reason = None
    if not refusal and "native_finish_reason" not in extra:
        stop = (_CALLED if calls else _ENDS).get(finish_reason)
    if stop is None:
        reason = stop_reason(finish_reason, extra)
        if calls and (refusal or reason in CUTS):
            return None
    blocks: list[Block] = [] if thoughts is None else [thoughts]
    if type(content) is str and content:
        blocks.append(Text(content, annotations or []))
    elif isinstance(content, list):
        if not all(map(_is_regular_part, content)):
            return None
        blocks += content_parts(builder, content, annotations)
    elif annotations:
        return None
    if refusal:
        blocks.append(Refusal(refusal))
    for id, name, text in calls:
        block = builder.regular_call(id, name, text)
        if block is None or (not block.arguments and _may_hold_arguments(content)):
            return None
        blocks.append(block)
    if stop is None:
        stop = effective_stop(builder, reason, finish_reason, 0, 1 if refusal else 0)
    return Choice(builder.choice, blocks, stop, extra)


def _may_hold_arguments(content: str | list[Any] | None) -> bool:
    """Return whether the content may be the arguments of a call that has none."""
    return content.lstrip()[:1] == "{" if isinstance(content, str) else bool(content)
