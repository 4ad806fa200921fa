"""A whole Chat Completions body, in any dialect, into a canonical response."""

from __future__ import annotations

from typing import Any

from ... import jsontext
from ...model import Response
from ..common import CallSite, Context, error_of, error_response
from ..schema import Note, Reader
from .message import Entry, Said, finish, usage
from .schema import Body, Call, Choice, Message, carry_body, carry_choice, carry_message

_reader = Reader(Body)
_NO_MESSAGE = Message()


def decode(data: bytes, context: Context) -> Response:
    """Raises MalformedBody where the bytes are no JSON object."""
    notes: list[Note] = []
    body = _reader.read(data, notes)
    if body.choices is None or (body.error and not body.choices):
        return error_response(context, jsontext.decode(data), id=body.id, model=body.model)
    if notes:
        context.take(notes)
    choices = []
    error = error_of(body.error) if body.error else None
    for place, choice in enumerate(body.choices):
        if choice.error and error is None:
            error = error_of(choice.error)
        index = place if choice.index is None else choice.index
        site = CallSite(context, index, body.id)
        message = choice.message or choice.delta or _NO_MESSAGE
        choices.append(finish(site, said(message, context), choice.finish_reason, extra_of(choice, message)))
    if len(choices) > 1:
        choices.sort(key=lambda c: c.index)
    if error is not None:
        context.find("error-response", f"{error.type}: {error.message}"[:500])
    response = Response(
        context.wire, context.provider, body.id, body.model, choices, usage(body.usage), error, True, carry_body(body)
    )
    return response.with_findings(context.findings) if context.findings else response


def extra_of(choice: Choice, message: Message) -> dict[str, Any]:
    """The choice's and its message's members without a canonical field."""
    extra = carry_choice(choice)
    carried = carry_message(message)
    if carried:
        extra["message"] = carried
    return extra


def said(message: Message, context: Context) -> Said:
    """What one whole message says."""
    calls = [entry(call, context) for call in message.tool_calls] if message.tool_calls else []
    legacy = message.function_call
    # One gateway sends {"name": "", "arguments": ""} in every message: that is no call.
    if legacy is not None and (legacy.name or legacy.arguments):
        calls.append(Entry(None, legacy.name, legacy.arguments or "", "legacy_function", legacy.extra_))
    reasoning = message.reasoning_content
    member = "reasoning_content"
    if not reasoning:
        reasoning, member = message.reasoning, "reasoning"
    return Said(
        calls,
        message.content,
        reasoning,
        member,
        message.reasoning_details,
        message.refusal,
        message.annotations,
        message.executed_tools,
    )


def entry(call: Call, context: Context) -> Entry:
    """One element of `tool_calls`: a function call, or a custom (freeform) one."""
    function = call.function
    if function is not None and (function.name or call.custom is None):
        text = function.arguments
        extra = function.extra_
        if text is None:
            text, extra = objects_as_text(extra, context)
        kind = "function" if call.type in (None, "function", "") else call.type
        return Entry(call.id, function.name, text, kind, extra if call.extra_ is None else {**call.extra_, **(extra or {})})
    custom = call.custom
    if custom is not None:
        return Entry(call.id, custom.name, custom.input or "", "custom", custom.extra_ or call.extra_)
    return Entry(call.id, None, "", call.type or "function", call.extra_)


def objects_as_text(extra: dict[str, Any] | None, context: Context) -> tuple[str, dict[str, Any] | None]:
    """Arguments that came as an object (or any JSON but text): compact JSON, and a finding (failure ARG-02)."""
    if not extra or "arguments" not in extra:
        return "", extra
    context.find("arguments-respelled", "arguments came as JSON, not as text")
    rest = {key: value for key, value in extra.items() if key != "arguments"}
    return jsontext.text(extra["arguments"]), rest or None

