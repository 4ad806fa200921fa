"""Decoder for whole responses of generateContent."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...model import Block, Choice, Response, Stop, Text
from ..call_builder import CallBuilder
from ..decode_context import Context, read_whole
from ..error_response import response_without_output
from ..schema import UNFIT, Reader
from ..stop_reason import CUTS, effective_stop
from .blocks import add_part, annotated, regular_call, usage
from .schema import ENDS, Candidate, GenerateContent, carry_candidate, carry_members, carry_response, finish_reason
from .spelling import camel_bytes

_reader = Reader(GenerateContent)


def decode(data: bytes, context: Context) -> Response:
    """Convert the body of a generateContent response to a canonical response.

    Raises MalformedBody if the bytes are not a JSON object, and NotAResponse if it is neither a response nor an error.
    """
    body = _read(data, context)
    if body.candidates is None and (body.error is not None or not is_answer(body)):
        return response_without_output(context, data, id=body.response_id, model=body.model_version)
    choices = [
        choice_of(context, body.response_id, candidate, number if candidate.index is None else candidate.index)
        for number, candidate in enumerate(body.candidates or ())
    ]
    choices = blocked(context, body.prompt_feedback, choices)
    extra = carry_response(body)
    if body.error is not None:
        extra["error"] = body.error
    figures = usage(body.usage_metadata)
    return context.response(body.response_id, body.model_version, choices, figures, None, True, extra)


def _read(data: bytes, context: Context) -> GenerateContent:
    try:
        return _reader.strict(data)
    except UNFIT:
        spelled = camel_bytes(data)
        context.respelled = context.respelled or spelled is not data
        return read_whole(_reader, spelled, context)


def is_answer(body: GenerateContent) -> bool:
    """Report whether a body without candidates is a response: one to a blocked prompt, or an empty one."""
    return body.prompt_feedback is not None or (body.model_version is not None and body.usage_metadata is not None)


def blocked(context: Context, feedback: dict[str, Any] | None, choices: list[Choice]) -> list[Choice]:
    """Return the choices of a response, as refused if its prompt was blocked.

    Such a response has no candidates by the documentation of ``blockReason``. The calls of one that has must not run.
    """
    reason = None if feedback is None else feedback.get("blockReason")
    if not isinstance(reason, str):
        return choices
    context.find("refused", f"the prompt was blocked: {reason}", 0)
    stop = Stop("content_filter", reason)
    return [replace(choice, stop=stop) for choice in choices] or [Choice(0, [], stop)]


def choice_of(context: Context, response_id: str | None, candidate: Candidate, index: int) -> Choice:
    """Convert a candidate."""
    reason, raw = finish_reason(candidate.finish_reason)
    builder = CallBuilder(context, index, response_id, {}, context.declared.names)
    content = candidate.content
    parts = (content.parts or ()) if content is not None else ()
    last = parts[-1] if parts and reason in CUTS else None
    blocks: list[Block] = []
    for part in parts:
        text = part.text
        if text and part.thought is None and part.extra_ is None and not (members := carry_members(part)):
            blocks.append(Text(text, [], members))
        elif part is not last and (call := regular_call(builder, part)) is not None:
            blocks.append(call)
        else:
            add_part(builder, part, blocks, part is last)
    extra = carry_candidate(candidate)
    if content is not None and content.extra_ is not None:
        extra["content"] = content.extra_
    if candidate.citation_metadata is not None or candidate.grounding_metadata is not None:
        blocks, metadata = annotated(blocks, candidate.citation_metadata, candidate.grounding_metadata)
        extra.update(metadata)
    if reason == "end_turn" and builder.seen:
        reason = "tool_calls"  # the wire has no word for calls: an answer with calls ends with STOP, too
    stop = Stop(reason, raw) if reason is not None and raw in ENDS else effective_stop(builder, reason, raw)
    return Choice(index, blocks, stop, extra)
