"""Conversion of xAI's outputs to canonical choices, for complete responses and finished streams.

Outputs with different indexes are steps of one choice (a call, its result, the text), unless the request has n > 1.
xAI announces a server call and repeats it with its result in an output of role tool. That is one call, not two.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ...model import Block, Choice, Reasoning, ServerToolCall, ServerToolResult, StopReason, Text, Usage
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..misplaced_arguments import mark_misplaced
from ..stop_reason import CUTS, effective_stop
from ..xai_tools import TOOLS_OF_XAI
from . import schema as s
from .stream_state import CompleteCall


class Output(Struct, gc=False):
    """A complete output. ``role`` and ``finish``: the wire's enum values, 0 if unset."""

    index: int
    role: int
    content: str
    reasoning: str
    encrypted: str
    calls: list[CompleteCall]
    citations: list[Any]
    finish: int
    extra: dict[str, Any]


def build_choices(context: Context, outputs: list[Output], response_id: str, complete: bool) -> list[Choice]:
    """Return one choice of all outputs in sequence, or one choice per output if the request has n > 1."""
    if context.declared.n > 1:
        return [_choice(context, [output], output.index, response_id, complete) for output in outputs]
    return [_choice(context, outputs, 0, response_id, complete)] if outputs else []


def is_complete(context: Context, finishes: list[int]) -> bool:
    """Report whether the response is complete, by the finish reasons of its outputs in order (XAI-11).

    The last output must have one or, if the request has n > 1, every output.
    """
    wanted = finishes if context.declared.n > 1 else finishes[-1:]
    return bool(wanted) and all(wanted)


def _choice(context: Context, outputs: list[Output], index: int, response_id: str, complete: bool) -> Choice:
    finish = next((output.finish for output in reversed(outputs) if output.finish), 0)
    reason: StopReason | None = s.STOPS.get(finish, "unknown") if finish else None
    if finish == s.TIME_LIMIT:
        context.find("time-limit", "", index)
    last = outputs[-1]
    cut = None
    if last.calls and last.role != s.ROLE_TOOL and (reason in CUTS or not complete):
        cut = last.calls[-1]
    conversion = _Conversion(
        CallBuilder.of(context, index, response_id), cut, [], {}, set(), _executed(context, outputs)
    )
    extra: dict[str, Any] = {}
    for output in outputs:
        position = {"index": output.index} if len(outputs) > 1 else {}
        if output.role == s.ROLE_TOOL:
            conversion.add_results(output, position)
        else:
            conversion.add_message(output, position)
            if output.citations and not output.content:
                output.extra["citations"] = output.citations
        if output.extra:
            extra.setdefault("outputs", {})[str(output.index)] = output.extra
    mark_misplaced(context, index, conversion.blocks, conversion.strays, conversion.rivals)
    raw = s.finish_name(finish) if finish else None
    return Choice(index, conversion.blocks, effective_stop(conversion.builder, reason, raw), extra)


def _executed(context: Context, outputs: list[Output]) -> set[int]:
    """Return the `id()` of each call that xAI executed although its type does not show it.

    A call without a type was executed if it is in an output of role tool, unless another output contains it and the
    request declares its tool. A call of a declared function with the type of a hosted tool was executed only if it has
    a result: xAI has no tool to run that the request did not declare.
    """
    executed = [
        call for output in outputs if output.role == s.ROLE_TOOL for call in output.calls if call.type == s.TYPE_UNSET
    ]
    answered = {call.id for output in outputs if output.role == s.ROLE_TOOL for call in output.calls}
    retyped = {
        id(call)
        for output in outputs
        for call in output.calls
        if call.is_typed_server_call and call.id and call.id in answered
    }
    if not executed:
        return retyped
    names = context.declared.names or frozenset()
    announced = {
        id(call) for output in outputs if output.role != s.ROLE_TOOL for call in output.calls if call.name in names
    }
    return retyped | {id(call) for call in executed if id(call) not in announced}


class _Conversion(Struct):
    """State of converting the outputs of one choice.

    ``cut``: the call inside which the response was cut. ``server_blocks``: block index of each server call, by id.
    ``built``: the client calls that have a block. ``executed``: see `_executed`.
    ``strays`` and ``rivals``: block indexes of the calls with these marks.
    """

    builder: CallBuilder
    cut: CompleteCall | None
    blocks: list[Block]
    server_blocks: dict[str, int]
    built: set[int]
    executed: set[int]
    strays: set[int] = set()
    rivals: set[int] = set()

    def add_message(self, output: Output, position: dict[str, Any]) -> None:
        blocks = self.blocks
        if output.reasoning or output.encrypted:
            encrypted = output.encrypted or None
            redacted = bool(encrypted and not output.reasoning)
            blocks.append(Reasoning(output.reasoning, None, encrypted, redacted, dict(position)))
        if output.content:
            blocks.append(Text(output.content, output.citations, dict(position)))
        for call in output.calls:
            self._call(call, position)

    def _call(self, call: CompleteCall, position: dict[str, Any]) -> bool:
        """Add a call, and report whether xAI executes it."""
        if (
            call.is_server_call
            or id(call) in self.executed
            or (call.type == s.TYPE_UNSET and call.id in self.server_blocks)
        ):
            self._add_server_call(call, position)
            return True
        if id(call) not in self.built:
            self.built.add(id(call))
            self._build(call, position)
        return False

    def _build(self, call: CompleteCall, position: dict[str, Any]) -> None:
        builder = self.builder
        if call.id in builder.seen and builder.repeats(call.id, call.name, call.text):
            return
        index = len(self.blocks)
        find = builder.context.find
        extra = {**position, **call.extra}
        if call.error:
            extra["error_message"] = call.error
        failed = call.status == s.FAILED
        if failed:
            extra["status"] = s.STATUSES[s.FAILED]
        cut = call is self.cut or call.status == s.INCOMPLETE
        built = builder.build(index, call.id, call.name, call.text, extra=extra, cut=cut)
        if call.occurrences > 1 and call.continued:
            find("index-changed", f"{call.name} ({call.id}) continues in another output", builder.choice, index)
        elif call.occurrences > 1:
            find("duplicate-call", f"{call.name} ({call.id}) occurs {call.occurrences} times", builder.choice, index)
        if failed:
            find("call-failed", f"{call.name}: {call.error}" if call.error else "", builder.choice, index)
            built = msgspec.structs.replace(built, status="invalid", arguments=None)
        if call.is_typed_server_call:
            find("call-type-disagrees", f"{call.name} has the type of a hosted tool", builder.choice, index)
        if call.type == s.TYPE_UNSET:
            names = builder.context.declared.names
            # The SDK maps the unset type to "invalid", and code that tests for that loses the call (SRV-11).
            if names is None or call.name in names:
                find("call-type-unset", f"{call.name} has no type", builder.choice, index)
            else:
                find("unresolved-call", f"{call.name} has no type and is not declared", builder.choice, index)
                built = msgspec.structs.replace(built, status="invalid", arguments=None, kind="unresolved")
        self._add(call, built)

    def _add(self, call: CompleteCall, block: Block) -> None:
        if call.stray or call.rival:
            (self.strays if call.stray else self.rivals).add(len(self.blocks))
        self.blocks.append(block)

    def _add_server_call(self, call: CompleteCall, position: dict[str, Any]) -> None:
        known = self.server_blocks.get(call.id) if call.id else None
        if known is not None:
            earlier = self.blocks[known]
            assert isinstance(earlier, ServerToolCall)
            self.blocks[known] = msgspec.structs.replace(earlier, status=_status(call))
            return
        tool = s.SERVER_TOOLS.get(call.type) or (TOOLS_OF_XAI.get(call.name) if call.type == s.TYPE_UNSET else None)
        if tool is None:
            tool = f"type_{call.type}"
            self.builder.context.find(
                "unknown-block", f"a call of type {call.type}", self.builder.choice, len(self.blocks)
            )
        extra = {**position, **call.extra}
        if call.error:
            extra["error_message"] = call.error
        if call.id:
            self.server_blocks[call.id] = len(self.blocks)
        self._add(call, ServerToolCall(call.id, tool, call.name, call.text, _status(call), extra))

    def add_results(self, output: Output, position: dict[str, Any]) -> None:
        """Add an output of role tool, which repeats the server calls and contains their result."""
        value = _result_value(output)
        has_calls = False
        for call in output.calls:
            if not self._call(call, position):
                continue
            has_calls = True
            known = self.server_blocks.get(call.id) if call.id else None
            announced = self.blocks[-1 if known is None else known]
            tool = announced.tool if isinstance(announced, ServerToolCall) else ""
            self.blocks.append(ServerToolResult(call.id, tool, call.status == s.FAILED, value, dict(position)))
        if not has_calls and (value["content"] or len(value) > 1):
            self.blocks.append(ServerToolResult("", "", False, value, dict(position)))


def _status(call: CompleteCall) -> str:
    return s.STATUSES.get(call.status, str(call.status))


def _result_value(output: Output) -> dict[str, Any]:
    """Return the result of a server call: its text, and the encrypted state that has to be sent back to xAI."""
    raw: dict[str, Any] = {"content": output.content}
    if output.encrypted:
        raw["encrypted_content"] = output.encrypted
    if output.reasoning:
        raw["reasoning_content"] = output.reasoning
    if output.citations:
        raw["citations"] = output.citations
    return raw


def usage(figures: Any) -> Usage | None:
    """Convert token usage. Reasoning tokens are added to the output if the wire's total shows that it omits them."""
    raw = s.as_dict(figures)
    if not raw:
        return None
    input, output, reasoning = figures.prompt_tokens, figures.completion_tokens, figures.reasoning_tokens
    if reasoning and figures.total_tokens == input + output + reasoning:
        output += reasoning
    return Usage(input, output, reasoning, figures.cached_prompt_text_tokens, None, raw)
