"""Decoder for streams of ConverseStream: canonical events as they arrive, and one response at the end.

An index has one block. Text and reasoning begin without a start event, and Nova models give each fragment of a text
another index.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...arguments import by_value
from ...errors import TooManyCalls
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as CanonicalEvent
from ...model import Block, Choice, Response, Stop, ToolCall, Usage
from ..call_builder import MAX_CALLS, CallBuilder, respell_arguments
from ..decode_context import Context
from ..schema import UNFIT, Reader
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from ..stream_base import StreamBase, merged_delta
from . import schema as s
from .blocks import convert, is_server_call, usage
from .stream_state import TYPES, BlockState, input_text

_reader = Reader(s.Event)
#: JSON texts of inputs without any argument.
_NO_INPUT = frozenset(("", "{}", "null"))
_by_index = attrgetter("index")


class Stream(StreamBase):
    """Stream decoder for events whose one member is named like their type."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._blocks: list[BlockState] = []
        self._by_index: dict[int, BlockState] = {}
        self._begun = False
        self._ended = False
        self._has_misplaced = False  # whether arguments came for an index without a call
        self._stop: str | None = None
        self._usage: Usage | None = None
        self._extra: dict[str, Any] = {}
        self._message: dict[str, Any] = {}  # unknown members of the message

    def run(self, payloads: list[bytes], out: list[CanonicalEvent]) -> None:
        """Process a run of event payloads, with a fast path for more text of a block that has begun."""
        by_index = self._by_index
        target: BlockState | None = None  # the block of the last fragment
        start = 0  # the number of its fragments before this run
        for data in payloads:
            try:
                event = s.decode_event(data)
            except UNFIT:
                event = None
            state = None
            text: str | None = None
            if event is not None and (piece := event.delta) is not None:
                text, kind = _fragment(piece.delta)
                if text and piece.index is not None:
                    state = by_index.get(piece.index)
                    if state is not None and state.kind != kind:
                        state = None
            if state is not target:
                if target is not None and self.emits:
                    out.append(merged_delta(0, target.key, target.parts, start))
                target, start = state, 0 if state is None else len(state.parts)
            if event is None:
                self.take(None, data, out)
            elif state is not None and text:
                state.parts.append(text)
                if extra := s.carry_event(event):
                    self._extra.update(extra)
            else:
                self._apply(event, data, out)
        if target is not None and self.emits:
            out.append(merged_delta(0, target.key, target.parts, start))

    def event(self, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        event = _reader.read(data, self._notes)
        if self._notes:
            self._context.report_notes(self._notes)
        self._apply(event, data, out)

    def _apply(self, event: s.Event, data: bytes, out: list[CanonicalEvent]) -> None:
        if event.delta is not None:
            self._delta(event.delta, out)
        elif event.start is not None:
            self._start(event.start, out)
        elif event.stop is not None:
            self._stop_block(event.stop.index, out)
        elif event.begin is not None:
            self._begin(event.begin)
        elif event.end is not None:
            self._end(event.end, out)
        elif event.metadata is not None:
            self._metadata(event.metadata, out)
        else:
            value = json_codec.decode_or_text(data)
            self._other(value if isinstance(value, dict) else {"message": value}, out)
            return
        self._extra.update(s.carry_event(event))

    def _begin(self, message: s.MessageStart) -> None:
        if self._begun:
            self._context.find("event-after-end", "a second messageStart")
        self._begun = True
        self._message.update(message.extra_ or {})

    def _start(self, event: s.BlockStart, out: list[CanonicalEvent]) -> None:
        if event.start is None:
            return
        if self._ended:
            self._context.find("event-after-end", "a content block after messageStop")
        kind, start = _started(event.start)
        index = len(self._blocks) if event.index is None else event.index
        held = self._by_index.get(index)
        if held is not None and held.implied and held.kind == kind and not held.stopped:
            held.start, held.implied = start, False
            return
        if held is not None and held.call is not None and type(start) is s.ToolUse and _is_same(held.call, start):
            self._context.find("duplicate-call", f"{start.name} ({start.id}) was started twice", 0)
            return
        if held is not None:
            self._context.find("index-reused", f"a second content block under index {index}")
        self._add(BlockState(kind, index, len(self._blocks), held, start=start), out)

    def _add(self, state: BlockState, out: list[CanonicalEvent]) -> BlockState:
        if len(self._blocks) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} content blocks", hint="the stream is not a valid response")
        self._blocks.append(state)
        self._by_index[state.index] = state
        call = state.call
        block_type = TYPES.get(state.kind, "opaque")
        if call is not None and is_server_call(call):
            block_type = "server_tool_call"
        id, name = (None, None) if call is None else (call.id, call.name)
        out.append(BlockStart(0, state.key, block_type, id, name))
        return state

    def _stop_block(self, index: int | None, out: list[CanonicalEvent]) -> None:
        state = self._at(index)
        if state is None:
            return
        state.stopped = True
        if state.call is not None and not state.parts and (text := input_text(state.call)):
            out.append(BlockDelta(0, state.key, text))  # the arguments came with the start (XLAT-03)
        out.append(BlockStop(0, state.key))

    def _delta(self, event: s.BlockDelta, out: list[CanonicalEvent]) -> None:
        delta = event.delta
        if delta is None:
            self._extra.setdefault("events", []).append({"contentBlockDelta": event.extra_ or {}})
            return
        if delta.tool_use is not None:
            respell_arguments(delta.tool_use, "input", self._context)
        text, kind = _fragment(delta)
        reasoning = delta.reasoning
        state = None
        if text:
            state = self._holder(event.index, kind, out)
            state.parts.append(text)
            out.append(BlockDelta(0, state.key, text))
        elif reasoning is not None and (reasoning.signature or reasoning.redacted):
            state = self._holder(event.index, kind, out)
            state.signature += [reasoning.signature] if reasoning.signature else []
            state.redacted += [reasoning.redacted] if reasoning.redacted else []
        elif delta.citation is not None:
            state = self._holder(event.index, "text", out)
            state.pieces.append(delta.citation)
        elif delta.tool_result is not None:
            state = self._holder(event.index, "toolResult", out)
            state.pieces += delta.tool_result if isinstance(delta.tool_result, list) else [delta.tool_result]
        elif delta.image is not None:
            state = self._holder(event.index, "image", out)
            state.pieces.append(delta.image)
        elif delta.extra_ and not kind:
            for unknown, value in delta.extra_.items():
                self._holder(event.index, unknown, out).pieces.append(value)
        if state is not None:
            for holder in (event, delta, reasoning, delta.tool_use):
                state.extra.update((holder and holder.extra_) or {})

    def _at(self, index: int | None) -> BlockState | None:
        """Return the last block of an index, or the last block of all if ``index`` is None; None if there is none."""
        if index is None:
            return self._blocks[-1] if self._blocks else None
        return self._by_index.get(index)

    def _holder(self, index: int | None, kind: str, out: list[CanonicalEvent]) -> BlockState:
        """Return the block that a delta belongs to: the last one of its index that has its kind, or a new one.

        Nothing shows which call the arguments under another index belong to. They become a call without a name, and
        the calls that may lack them do not run.
        """
        placed = earlier = self._at(index)
        while earlier is not None:
            if earlier.kind == kind:
                return earlier
            earlier = earlier.before
        if placed is not None or kind == "toolUse":
            where = "where no block was started" if placed is None else f"which is a {placed.kind} block"
            self._context.find_once("delta-misplaced", f"{kind} under index {index}, {where}")
            self._has_misplaced = self._has_misplaced or kind == "toolUse"
        number = len(self._blocks)
        return self._add(BlockState(kind, number if index is None else index, number, placed, True), out)

    def _end(self, event: s.MessageStop, out: list[CanonicalEvent]) -> None:
        self._ended = True
        raw = event.stop_reason
        if raw:
            if raw != self._stop:
                out.append(ChoiceStop(0, Stop(reason_of(raw), raw)))
            self._stop = raw
        self._extra.update(s.carry_end(event))

    def _metadata(self, event: s.Metadata, out: list[CanonicalEvent]) -> None:
        figures = usage(event.usage)
        if figures is not None:
            self._usage = figures
            out.append(UsageUpdate(figures))
        self._extra.update(s.carry_metadata(event))

    def _other(self, event: dict[str, Any], out: list[CanonicalEvent]) -> None:
        """Process an exception, or an event of an unknown type."""
        kind = next((kind for kind in event if kind in s.EXCEPTIONS), None)
        if kind is not None:
            members = event[kind] if isinstance(event[kind], dict) else {"message": event[kind]}
            self.fail({"error": {"type": kind, **members}}, out)
        elif event.get("error") is not None or "message" in event:
            self.fail(event, out)
        else:
            self._context.find("unknown-event", f"event {next(iter(event), '')!r}")
            self._extra.setdefault("events", []).append(event)

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without a messageStop event (TERM-01)."""
        context = self._context
        complete = self._ended and self._error is None
        self._report_incomplete(complete)
        raw = self._stop
        reason = reason_of(raw) if raw else None
        builder = CallBuilder.of(context, 0, None)
        # An index that has several blocks does not give their order.
        states = sorted(self._blocks, key=_by_index) if len(self._by_index) == len(self._blocks) else self._blocks
        blocks: list[Block] = []
        for number, state in enumerate(states):
            cut = (reason in CUTS and number == len(states) - 1) or (not complete and not state.stopped)
            block = self._convert(builder, state, len(blocks), cut)
            if block is not None:
                blocks.append(block)
        choices = [Choice(0, blocks, effective_stop(builder, reason, raw), self._message)]
        if not (blocks or complete or raw):
            choices = []
        return self._response(None, None, choices, self._usage, complete, self._extra)

    def _convert(self, builder: CallBuilder, state: BlockState, index: int, cut: bool) -> Block | None:
        text = None
        if state.kind == "toolUse":
            initial = "" if state.call is None else input_text(state.call)
            text = "".join(state.parts) or initial
            if initial not in _NO_INPUT and by_value(initial) != by_value(text):
                self._context.find("arguments-disagree", "the input at the start of a call differs from the deltas")
        block = convert(builder, state.complete(), index, cut, text)
        if self._has_misplaced and type(block) is ToolCall and not text and block.status == "complete":
            message = f"{block.name} ({block.id}): arguments have the index of another block"
            self._context.find("arguments-misplaced", message, 0, index)
            return replace(block, status="truncated", arguments=None)
        return block


def _fragment(delta: s.Delta | None) -> tuple[str | None, str]:
    """Return the text in a delta and the kind of the block that it belongs to; an empty kind for any other delta."""
    if delta is None:
        return None, ""
    if delta.text is not None:
        return delta.text, "text"
    if delta.tool_use is not None:
        return delta.tool_use.input, "toolUse"
    if delta.reasoning is not None:
        return delta.reasoning.text, "reasoningContent"
    return None, ""


def _started(start: s.Start) -> tuple[str, Any]:
    """Return the kind of a block and its start: a struct, or an object of the wire."""
    if start.tool_use is not None:
        return "toolUse", start.tool_use
    if start.tool_result is not None:
        return "toolResult", start.tool_result
    if start.image is not None:
        return "image", start.image
    return next(iter((start.extra_ or {}).items()), ("", None))


def _is_same(call: s.ToolUse, other: s.ToolUse) -> bool:
    return bool(call.id) and (call.id, call.name) == (other.id, other.name)
