"""From xAI's outputs to canonical choices: shared by whole responses and by finished streams.

Outputs with different indexes are steps of one answer (a call, its result, the text), unless n > 1 was asked for.
xAI announces a server-side call and repeats it with its result in an output of role tool: one call, not two.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ...model import Block, Choice, Reasoning, ServerToolCall, ServerToolResult, StopReason, Text, Usage
from ..common import CUTS, CallSite, Context, settle
from .proto import (
    FAILED,
    INCOMPLETE,
    ROLE_TOOL,
    SERVER_TOOLS,
    STATUSES,
    STOPS,
    TIME_LIMIT,
    TYPE_CLIENT,
    TYPE_UNSET,
    as_dict,
    finish_name,
)


class Called(Struct, gc=False):
    """One tool call of an output, its pieces joined."""

    id: str
    type: int
    status: int
    name: str
    text: str
    error: str = ""


class Output(Struct, gc=False):
    """One output, whole."""

    index: int
    role: int
    content: str
    reasoning: str
    encrypted: str
    calls: list[Called]
    citations: list[Any]
    finish: int
    extra: dict[str, Any]


def choices(context: Context, outputs: list[Output], response_id: str, complete: bool) -> list[Choice]:
    """One choice of all outputs in sequence, or one for each where several answers were asked for."""
    if context.declared.n > 1:
        return [_choice(context, [output], output.index, response_id, complete) for output in outputs]
    return [_choice(context, outputs, 0, response_id, complete)] if outputs else []


def finished(outputs: list[Output]) -> bool:
    """Whether there is terminal evidence: an unset finish reason is none (failure XAI-11)."""
    return any(output.finish for output in outputs)


def _choice(context: Context, outputs: list[Output], index: int, response_id: str, complete: bool) -> Choice:
    finish = next((output.finish for output in reversed(outputs) if output.finish), 0)
    reason: StopReason | None = STOPS.get(finish, "unknown") if finish else None
    if finish == TIME_LIMIT:
        context.find("time-limit", "", index)
    reading = _Reading(CallSite.of(context, index, response_id), [], {})
    last = outputs[-1]
    for output in outputs:
        place = {"index": output.index} if len(outputs) > 1 else {}
        if output.role == ROLE_TOOL:
            reading.results(output, place)
        else:
            reading.said(output, place, output is last and (reason in CUTS or not complete))
    extra: dict[str, Any] = {}
    for output in outputs:
        if output.extra:
            extra.setdefault("outputs", {})[str(output.index)] = output.extra
    raw = finish_name(finish) if finish else None
    return Choice(index, reading.blocks, settle(reading.site, reason, raw), extra)


class _Reading(Struct):
    """The blocks of one choice while its outputs are read. ``served``: place of each server call by id."""

    site: CallSite
    blocks: list[Block]
    served: dict[str, int]

    def said(self, output: Output, place: dict[str, Any], cut: bool) -> None:
        blocks = self.blocks
        if output.reasoning or output.encrypted:
            encrypted = output.encrypted or None
            redacted = bool(encrypted and not output.reasoning)
            blocks.append(Reasoning(output.reasoning, None, encrypted, redacted, dict(place)))
        if output.content:
            blocks.append(Text(output.content, output.citations, dict(place)))
        for number, call in enumerate(output.calls):
            self._call(call, place, cut and number == len(output.calls) - 1)

    def _call(self, call: Called, place: dict[str, Any], cut: bool) -> None:
        site = self.site
        names = site.context.declared.names
        if call.type not in (TYPE_CLIENT, TYPE_UNSET):
            self._served(call, place)
            return
        if call.id in site.seen and site.repeats(call.id, call.name, call.text):
            return
        at = len(self.blocks)
        extra = dict(place)
        if call.error:
            extra["error_message"] = call.error
        if call.status == FAILED:
            extra["status"] = STATUSES[FAILED]
        built = site.build(
            at,
            call.id,
            call.name,
            call.text,
            extra=extra,
            cut=cut or call.status == INCOMPLETE,
        )
        if call.type == TYPE_UNSET:
            # The SDK maps the unset type to "invalid", and code that tests for it loses the call (failure SRV-11).
            if names is None or call.name in names:
                site.context.find("call-type-unset", f"{call.name} has no type", site.choice, at)
            else:
                site.context.find("unresolved-call", f"{call.name} has no type and is not declared", site.choice, at)
                built = msgspec.structs.replace(built, status="invalid", arguments=None, kind="unresolved")
        self.blocks.append(built)

    def _served(self, call: Called, place: dict[str, Any]) -> None:
        tool = SERVER_TOOLS.get(call.type)
        if tool is None:
            tool = f"type_{call.type}"
            self.site.context.find("unknown-block", f"a call of type {call.type}", self.site.choice, len(self.blocks))
        extra = dict(place)
        if call.error:
            extra["error_message"] = call.error
        block = ServerToolCall(call.id, tool, call.name, call.text, STATUSES.get(call.status, str(call.status)), extra)
        known = self.served.get(call.id) if call.id else None
        if known is None:
            if call.id:
                self.served[call.id] = len(self.blocks)
            self.blocks.append(block)
        else:
            earlier = self.blocks[known]
            assert isinstance(earlier, ServerToolCall)
            self.blocks[known] = msgspec.structs.replace(earlier, status=block.status)

    def results(self, output: Output, place: dict[str, Any]) -> None:
        """An output of role tool: the call again, and what came of it."""
        for call in output.calls:
            if call.type in (TYPE_CLIENT, TYPE_UNSET):
                self._call(call, place, False)
                continue
            self._served(call, place)
            tool = SERVER_TOOLS.get(call.type, f"type_{call.type}")
            self.blocks.append(ServerToolResult(call.id, tool, call.status == FAILED, _came(output), dict(place)))
        if not output.calls and (output.content or output.encrypted):
            self.blocks.append(ServerToolResult("", "", False, _came(output), dict(place)))


def _came(output: Output) -> dict[str, Any]:
    """What came of a server call: its words, and the state that only xAI reads and wants to see again."""
    raw: dict[str, Any] = {"content": output.content}
    if output.encrypted:
        raw["encrypted_content"] = output.encrypted
    if output.reasoning:
        raw["reasoning_content"] = output.reasoning
    if output.citations:
        raw["citations"] = output.citations
    return raw


def usage(figures: Any) -> Usage | None:
    """Canonical figures; reasoning is added where the wire's own total shows that it was left out."""
    if not figures.ListFields():
        return None
    given, output, reasoning = figures.prompt_tokens, figures.completion_tokens, figures.reasoning_tokens
    if reasoning and figures.total_tokens == given + output + reasoning:
        output += reasoning
    return Usage(given, output, reasoning, figures.cached_prompt_text_tokens, None, as_dict(figures))
