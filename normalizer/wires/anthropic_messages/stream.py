"""Decoder for streams of the Messages API: canonical events as they arrive, and one response at the end."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...arguments import by_value
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as CanonicalEvent
from ...model import Block, Choice, Response, Stop, ToolCall, Usage
from ..call_builder import CallBuilder, respell_arguments
from ..decode_context import Context
from ..schema import UNFIT, Reader, Unknown, Wire
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from ..stream_base import StreamBase, merged_delta
from . import schema as s
from .blocks import convert, usage
from .routing import WORDLESS, BlockRouter
from .stream_state import NO_INPUT, TEXT_MEMBERS, USES, BlockState, add_members, delta_text, input_text

_reader = Reader(s.Event)
_NO_MESSAGE = s.Message()
_BLOCK_TYPES: dict[type[Wire], str] = {
    s.TextBlock: "text",
    s.ThinkingBlock: "reasoning",
    s.RedactedThinkingBlock: "reasoning",
    s.Compaction: "reasoning",
    s.ToolUseBlock: "tool_call",
    s.ServerToolUseBlock: "server_tool_call",
    s.McpToolUseBlock: "server_tool_call",
    Unknown: "opaque",
}


class Stream(StreamBase):
    """Stream decoder for the payloads of Messages API events, independent of their framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._message = _NO_MESSAGE
        self._blocks = BlockRouter(context)
        self._usage: dict[str, Any] = {}
        self._figures: Usage | None = None  # its canonical form
        self._extra: dict[str, Any] = {}
        self._stop: str | None = None
        self._ended = False

    def run(self, payloads: list[bytes], out: list[CanonicalEvent]) -> None:
        """Process a run of event payloads, with a fast path for more text of a block that has begun."""
        by_index = self._blocks.by_index
        target: BlockState | None = None  # the block of the last fragment
        start = 0  # the number of its fragments before this run
        for data in payloads:
            try:
                event = s.decode_event(data)
            except UNFIT:
                event = None
            state = None
            if type(event) is s.Piece:
                state = by_index.get(event.at)
                delta = event.delta
                if state is None or not delta.text:
                    state = event = None
                elif state.piece is not type(delta):
                    if type(delta) is s.SignaturePiece and type(state.block) is s.ThinkingBlock:
                        state.signature.append(delta.text)
                        continue
                    state = event = None
            if state is not target:
                if target is not None and self.emits:
                    out.append(merged_delta(0, target.key, target.parts, start))
                target, start = state, 0 if state is None else len(state.parts)
            if state is not None:
                state.parts.append(delta.text)
            elif event is None:
                self.take(None, data, out)
            else:
                self._apply(event, out)
        if target is not None and self.emits:
            out.append(merged_delta(0, target.key, target.parts, start))

    def event(self, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        if data == b"[DONE]":
            return
        event = _reader.read(data, self._notes)
        if self._notes:
            self._context.report_notes(self._notes)
        kind = event.type
        if kind == "content_block_delta":
            if event.delta is not None:
                self._delta(event.index, event.delta, out)
        elif kind in s.BETWEEN:
            self._apply(event, out)
        elif kind == "error" or name == "error" or kind is None:
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self._context.find("unknown-event", f"event {kind!r}")
            self._extra.setdefault("events", []).append(json_codec.decode_or_text(data))

    def _apply(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        """Process an event of a type in `schema.BETWEEN`."""
        kind = event.type
        if kind == "content_block_start":
            self._start(event, out)
        elif kind == "content_block_stop":
            state = self._blocks.at(event.index)
            if state is not None:
                state.stopped = True
                self._emit_input(state, out)
                out.append(BlockStop(0, state.key))
        elif kind == "message_start":
            self._begin(event.message, out)
        elif kind == "message_delta":
            self._end(event, out)
        elif kind == "message_stop":
            self._ended = True
            self._extra.update(s.carry_event(event))  # Bedrock's invocation metrics

    def _begin(self, message: s.Message | None, out: list[CanonicalEvent]) -> None:
        if message is None:
            return
        if self._message.id is not None and self._blocks.all:
            self._context.find("event-after-end", "a second message_start")
            return
        self._message = message
        self._extra.update(s.carry_message(message))
        self._stop = message.stop_reason or self._stop
        self._update_usage(message.usage, out)
        for number, block in enumerate(message.content or ()):
            self._begin_block(block, number, out).stopped = True

    def _update_usage(self, figures: dict[str, Any] | None, out: list[CanonicalEvent]) -> None:
        """Update the usage. The wire's figures are cumulative, so new ones replace earlier ones."""
        if figures:
            if None in figures.values():
                figures = {key: value for key, value in figures.items() if value is not None}
            self._usage.update(figures)
            self._figures = usage(self._usage)
            if self._figures is not None:
                out.append(UsageUpdate(self._figures))

    def _start(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        block = event.content_block
        if block is None:
            return
        if self._ended:
            self._context.find("event-after-end", "a content block after message_stop")
        self._begin_block(block, event.index, out)

    def _begin_block(self, block: Wire, index: int | None, out: list[CanonicalEvent]) -> BlockState:
        number = len(self._blocks.all)
        state = self._blocks.begin(block, index)
        self._emit_starts(number, out)
        text = getattr(block, "text", None) or getattr(block, "thinking", None)
        if isinstance(text, str) and text:
            state.parts.append(text)
            out.append(BlockDelta(0, state.key, text))
        return state

    def _emit_starts(self, number: int, out: list[CanonicalEvent]) -> None:
        """Emit start events for the blocks from index ``number`` on."""
        for state in self._blocks.all[number:]:
            block = state.block
            block_type = _BLOCK_TYPES.get(type(block), "server_tool_result")
            id = getattr(block, "id", None) if block_type.endswith("call") else None
            out.append(BlockStart(0, state.key, block_type, id, getattr(block, "name", None)))

    def _emit_input(self, state: BlockState, out: list[CanonicalEvent]) -> None:
        """Emit the arguments of a call that came with the start of its block and not in deltas (XLAT-03)."""
        block = state.block
        if not state.parts and isinstance(block, USES):
            text = input_text(block.input)
            if text:
                out.append(BlockDelta(0, state.key, text))

    def _delta(self, index: int | None, delta: s.Delta, out: list[CanonicalEvent]) -> None:
        respell_arguments(delta, "partial_json", self._context)
        member, text = delta_text(delta)
        beside = delta.type in WORDLESS or delta.signature is not None or delta.citation is not None
        if not (text or delta.encrypted_content or beside):
            if delta.type not in TEXT_MEMBERS:
                self._unknown_delta(delta)
            return
        number = len(self._blocks.all)
        state = self._holder(index, delta, member, text)
        if state is None:
            self._unknown_delta(delta)
            return
        self._emit_starts(number, out)
        if delta.signature is not None:
            state.signature.append(delta.signature)
        if text:
            if state.takes == member:
                state.parts.append(text)
            else:
                state.keep(member, text)
            out.append(BlockDelta(0, state.key, text))
        elif delta.citation is not None:
            state.keep("citations", delta.citation)
        if delta.encrypted_content:
            state.keep("encrypted_content", delta.encrypted_content)

    def _holder(self, index: int | None, delta: s.Delta, member: str, text: str | None) -> BlockState | None:
        """Return the block that a delta belongs to, or None for a delta of an unknown type without a block."""
        if text or delta.encrypted_content:
            self._blocks.has_unplaced = self._blocks.has_unplaced or (index is None and member == "partial_json")
            state = self._blocks.at(index)
            return (
                state
                if state is not None and state.fits(member)
                else self._blocks.block_for_text(index, delta.type, member)
            )
        return self._blocks.block_for_wordless(index, delta.type)

    def _unknown_delta(self, delta: s.Delta) -> None:
        self._context.find("unknown-event", f"delta {delta.type!r}")
        self._extra.setdefault("events", []).append({"type": delta.type, **(delta.extra_ or {})})

    def _end(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        delta = event.delta
        if delta is not None:
            if delta.stop_reason:
                if delta.stop_reason != self._stop:
                    out.append(ChoiceStop(0, Stop(reason_of(delta.stop_reason), delta.stop_reason)))
                self._stop = delta.stop_reason
            self._extra.update(s.carry_delta(delta))
        self._extra.update(s.carry_event(event))
        self._update_usage(event.usage, out)

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without a message_stop event (TERM-01)."""
        context = self._context
        complete = self._ended and self._error is None
        self._report_incomplete(complete)
        raw = self._stop
        reason = reason_of(raw) if raw else None
        builder = CallBuilder(context, 0, self._message.id, {}, context.declared.names)
        states = self._blocks.in_order()
        built: list[tuple[BlockState, Block]] = []
        has_calls = False
        for number, state in enumerate(states):
            cut = (reason in CUTS and number == len(states) - 1) or (not complete and not state.stopped)
            block = self._convert_block(builder, state, len(built), cut)
            if block is not None:
                built.append((state, block))
                has_calls = has_calls or type(block) is ToolCall
        blocks = self._mark_doubtful(built) if has_calls else [block for _, block in built]
        choices = [Choice(0, blocks, effective_stop(builder, reason, raw))]
        if not (blocks or complete or self._stop):
            choices = []
        return self._response(self._message.id, self._message.model, choices, self._figures, complete, self._extra)

    def _mark_doubtful(self, built: list[tuple[BlockState, Block]]) -> list[Block]:
        """Return the blocks, and mark calls that may lack their arguments as truncated, so that they do not run."""
        doubted = self._blocks.doubted(built)
        if not doubted:
            return [block for _, block in built]
        blocks: list[Block] = []
        for state, block in built:
            if state.key in doubted and type(block) is ToolCall and block.status == "complete":
                message = f"{block.name} ({block.id}): arguments have the index of another block"
                self._context.find("arguments-misplaced", message, 0, len(blocks))
                blocks.append(replace(block, status="truncated", arguments=None))
            else:
                blocks.append(block)
        return blocks

    def _convert_block(self, builder: CallBuilder, state: BlockState, index: int, cut: bool) -> Block | None:
        block = state.block
        streamed = "".join(state.parts)
        text: str | None = None
        if state.signature:
            state.keep("signature", "".join(state.signature))
        if type(block) is s.TextBlock:
            block.text = streamed
        elif type(block) is s.ThinkingBlock:
            block.thinking = streamed
        elif type(block) is s.Compaction:
            block.content = streamed or block.content
        elif isinstance(block, USES):
            # Some servers send the whole input in the start event, with or without deltas that repeat it (XLAT-03).
            initial = input_text(block.input)
            text = streamed if streamed else initial
            if initial not in NO_INPUT and by_value(initial) != by_value(text):
                self._context.find(
                    "arguments-disagree", f"{block.name}: the input at its start differs from the deltas"
                )
        if state.members:
            add_members(block, state.members)
        return convert(builder, block, index, cut, text)
