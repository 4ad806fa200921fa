"""Conversion of steps to canonical blocks, for complete interactions and finished streams.

A step of the type `function_call` is a client call, every other call is the provider's. A call whose result is in the
same interaction has run already and becomes a server call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ...arguments import parse
from ...model import (
    Block,
    Choice,
    Error,
    Opaque,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    Usage,
)
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..error_response import error_of
from ..schema import Unknown, Wire, exact_text, raw_object
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from ..usage import first_int
from ..write_context import AS_WRITTEN
from . import schema as s

#: Statuses of an interaction that has not ended. None of its calls may be executed.
UNFINISHED = frozenset(("in_progress", "queued"))
#: Marks the first block of an output step that follows another one, and an output step without content.
NEXT_STEP, EMPTY_STEP = "next step", "empty step"
#: Marks a content of an unknown type, as unknown steps also become opaque blocks.
CONTENT = "content"
#: Members of a thought's summary that the canonical text represents.
_OF_SUMMARY = {"type", "text"}


class Conversion(Struct, eq=False):
    """State of converting the steps of one interaction.

    ``answered``: ids of the calls whose results it contains. ``is_history``: whether the steps are from a request,
    which may contain the same call twice, each with a result. ``inputs``: its `user_input` steps, which interactions
    that were fetched by their id contain. ``error``: the error of an output step. ``follows_output``: whether the last
    step was an output.
    """

    builder: CallBuilder
    answered: frozenset[str] = frozenset()
    is_history: bool = False
    inputs: list[Any] = []
    error: Any = None
    follows_output: bool = False

    def add(self, step: Wire, blocks: list[Block], cut: bool, text: str | None = None) -> None:
        """Append the blocks of a step.

        ``cut``: the response was cut inside this step. ``text``: the streamed argument text of a call; if None, the
        arguments are in the step.
        """
        kind = type(step)
        follows_output, self.follows_output = self.follows_output, kind is s.ModelOutput
        if kind is s.FunctionCall:
            if (call := _function(self, step, len(blocks), cut, text)) is not None:
                blocks.append(call)
        elif kind is s.ModelOutput:
            _output(self, step, blocks, follows_output)
        elif kind is s.Thought:
            blocks.append(_thought(step))
        elif kind is s.UserInput:
            self.inputs.append(raw_object(step))
        else:
            blocks.append(_OTHERS.get(kind, _result)(step))


def error_of_step(context: Context, body: s.Interaction, conversion: Conversion) -> Error | None:
    """Return the error that an interaction or one of its outputs reports, with its finding; None if there is none."""
    reported = body.error or (body.errors[0] if isinstance(body.errors, list) and body.errors else conversion.error)
    if not reported:
        return None
    error = error_of(reported, context.status)
    context.find("error-response", f"{error.type}: {error.message}"[:500])
    return error


def choice_of(builder: CallBuilder, blocks: list[Block], status: str | None) -> Choice:
    """Return the choice with these blocks. The status of an unfinished interaction is not a stop reason."""
    word = None if status in UNFINISHED else status
    stop = effective_stop(builder, reason_of(word) if word else None, word)
    return Choice(0, blocks, stop)


def extra_of(body: s.Interaction, conversion: Conversion) -> dict[str, Any]:
    """Return the members of an interaction that no canonical field represents."""
    extra = s.carry_body(body)
    if conversion.inputs:
        extra["steps"] = conversion.inputs
    return extra


def is_cut(status: str | None) -> bool:
    """Report whether a status says that the last step may be incomplete."""
    return status in UNFINISHED or (status is not None and reason_of(status) in CUTS)


def answered_calls(steps: list[Any]) -> frozenset[str]:
    """Return the ids of the calls whose results are among the steps."""
    return frozenset(step.call_id for step in steps if type(step) is s.FunctionResult and step.call_id)


def _function(conversion: Conversion, step: Any, index: int, cut: bool, text: str | None) -> Block | None:
    builder = conversion.builder
    if text is None:
        text = exact_text(step.arguments) if memoryview(step.arguments) else ""
        if text and builder.context.respelled:
            builder.context.find("arguments-respelled", "", builder.choice, index)
    if step.id in conversion.answered:
        message = f"{step.name} ({step.id}): the response contains its result"
        builder.context.find("answered-call", message, builder.choice, index)
        raw = {**raw_object(step), "arguments": parse(text).arguments or {}}
        return ServerToolCall(step.id, "function", step.name or "", text, None, {"step": raw})
    if step.id in builder.seen and not conversion.is_history and builder.repeats(step.id, step.name, text):
        return None
    return builder.build(index, step.id, step.name, text, "function", s.carry_call(step), cut)


def regular_call(builder: CallBuilder, step: s.FunctionCall) -> ToolCall | None:
    """Convert a regular client call of a body, as nearly all are. Returns None if the call needs `Conversion.add`."""
    if step.extra_ is not None or step.signature is not None or builder.context.respelled:
        return None
    return builder.regular_call(step.id, step.name, str(step.arguments, "utf-8", "replace"))


def _output(conversion: Conversion, step: Any, blocks: list[Block], follows_output: bool) -> None:
    """Append one block for each content. Members of the step itself are in the ``extra`` of the first one."""
    shared: dict[str, Any] = dict(step.extra_ or ())
    if step.error is not None:
        conversion.error = conversion.error or step.error
        shared["step_error"] = step.error
    if not step.content:
        blocks.append(Text("", [], {**shared, AS_WRITTEN: EMPTY_STEP}))
        return
    if follows_output:
        shared[AS_WRITTEN] = NEXT_STEP
    for content in step.content:
        blocks.append(_content(content, shared))
        shared = {}


def _content(content: Any, shared: dict[str, Any]) -> Block:
    if type(content) is s.TextContent:
        extra = {**content.extra_, **shared} if content.extra_ else shared
        return Text(content.text, content.annotations or [], extra)
    if type(content) is Unknown:
        return Opaque(content.wire_type, content.raw, {**shared, AS_WRITTEN: f"{shared.get(AS_WRITTEN, '')} {CONTENT}"})
    return ServerToolResult("", s.TOOLS[type(content)], False, raw_object(content), shared)


def _thought(step: Any) -> Reasoning:
    """Convert a thought. ``extra`` keeps a summary that is not a single text, and other members of a single text."""
    summary, extra = step.summary, step.extra_ or {}
    if summary is None:
        return Reasoning("", step.signature, extra=extra)
    texts = [text for part in summary if isinstance(part, dict) and isinstance(text := part.get("text"), str)]
    if len(summary) != 1 or texts in ([], [""]) or summary[0].get("type") != "text":
        extra = {**extra, "summary": summary}
    elif members := {name: value for name, value in summary[0].items() if not (name in _OF_SUMMARY or value is None)}:
        extra = {**extra, "summary": members}
    return Reasoning("".join(texts), step.signature, extra=extra)


def _server_call(step: Any) -> ServerToolCall:
    members = raw_object(step)
    text = exact_text(step.arguments) if memoryview(step.arguments) else ""
    extra = {k: v for k, v in members.items() if k not in ("type", "id", "name", "arguments")}
    return ServerToolCall(step.id or "", s.TOOLS[type(step)], members.get("name") or "", text, None, extra)


def _result(step: Any) -> ServerToolResult:
    return ServerToolResult(step.call_id or "", s.TOOLS[type(step)], step.is_error is True, raw_object(step))


def _output_of_old_form(step: Any) -> Block:
    return _content(step, {})


def _unknown(step: Any) -> Block:
    """Convert a step of an unknown type: `…_call` counts as a server call (failure SRV-05), any other is opaque."""
    raw = step.raw
    if not (step.wire_type.endswith("_call") and isinstance(raw, dict)):
        return Opaque(step.wire_type, raw, step.extra_ or {})
    id, name, arguments = raw.get("id"), raw.get("name"), raw.get("arguments")
    text = "" if arguments is None else arguments if isinstance(arguments, str) else exact_text(arguments)
    tool = step.wire_type.removesuffix("_call")
    return ServerToolCall(
        id if isinstance(id, str) else "", tool, name if isinstance(name, str) else "", text, None, {"step": raw}
    )


_SERVER_CALLS = (
    s.CodeExecutionCall,
    s.FileSearchCall,
    s.GoogleMapsCall,
    s.GoogleSearchCall,
    s.McpServerToolCall,
    s.ProcessingCall,
    s.RetrievalCall,
    s.ToolSearchCall,
    s.UrlContextCall,
)
_OUTPUTS = (s.TextContent, s.ImageContent, s.AudioContent, s.VideoContent, s.DocumentContent)
_OTHERS: dict[type[Wire], Callable[[Any], Block]] = {
    **dict.fromkeys(_SERVER_CALLS, _server_call),
    **dict.fromkeys(_OUTPUTS, _output_of_old_form),
    Unknown: _unknown,
}


def usage(figures: dict[str, Any] | None) -> Usage | None:
    """Convert token usage.

    The wire counts thoughts and the results of the provider's tools apart: ``total_tokens`` is the sum of input,
    output, thoughts and tool use, as in the recorded figures. The canonical output includes thoughts, the canonical
    input tool use.
    """
    if not figures:
        return None
    get = figures.get
    input, output, cached = get("total_input_tokens"), get("total_output_tokens"), get("total_cached_tokens")
    thought, used = get("total_thought_tokens"), get("total_tool_use_tokens")
    if type(input) is type(output) is type(cached) is type(thought) is type(used) is int:  # fast path: all documented
        return Usage(input + used, output + thought, thought, cached, None, figures)
    input = first_int(figures, ("total_input_tokens",))
    output = first_int(figures, ("total_output_tokens",))
    thought = first_int(figures, ("total_thought_tokens",))
    used = first_int(figures, ("total_tool_use_tokens",))
    if input is not None:
        input += used or 0
    if output is not None:
        output += thought or 0
    return Usage(input, output, thought, first_int(figures, ("total_cached_tokens",)), None, figures)
