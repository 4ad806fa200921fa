"""Decoder for streams of ConverseStream: canonical events as they arrive, and one response at the end.

An index has one block. Text and reasoning begin without a start event, and Nova models give each fragment of a text
another index.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...arguments import by_value
from ...events import Event as CanonicalEvent
from ...model import Block, ToolCall
from ..block_stream import NO_FRAGMENT, BlockStream, Fragment
from ..call_builder import CallBuilder, respell_arguments
from ..calls import NO_ARGUMENTS
from ..decode_context import Context
from ..schema import Reader
from . import schema as s
from .blocks import convert, usage
from .stream_state import ContentState


class Stream(BlockStream[ContentState]):
    """Stream decoder for events whose one member is named like their type."""

    reader = Reader(s.Event)
    decode_event = staticmethod(reader.strict)
    state_type = ContentState
    terminator = None

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._message: dict[str, Any] = {}  # unknown members of the message

    def fragment(self, event: s.Event) -> Fragment:
        """See `BlockStream.fragment`."""
        if event.delta is None:
            return NO_FRAGMENT
        if extra := s.carry_event(event):
            self.extra.update(extra)
        return _fragment(event.delta)

    def apply(self, event: s.Event, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """See `BlockStream.apply`."""
        if event.delta is not None:
            self._delta(event.delta, out)
        elif event.start is not None:
            self._start(event.start, out)
        elif event.stop is not None:
            self.close(self.ended_by(event.stop.index), out)
        elif event.begin is not None:
            self.starts_again("messageStart")
            self._message.update(event.begin.extra_ or {})
        elif event.end is not None:
            self.ends()
            self.end(event.end.stop_reason, out)
            self.extra.update(s.carry_end(event.end))
        elif event.metadata is not None:
            self.count(usage(event.metadata.usage), out)
            self.extra.update(s.carry_metadata(event.metadata))
        else:
            value = json_codec.decode_or_text(data)
            self._other(value if isinstance(value, dict) else {"message": value}, out)
            return
        self.extra.update(s.carry_event(event))

    def _start(self, event: s.BlockStart, out: list[CanonicalEvent]) -> None:
        if event.start is None:
            return
        if self.ended:
            self._context.find("event-after-end", "a content block after messageStop")
        self.open(*_started(event.start), event.index, out)

    def _delta(self, event: s.BlockDelta, out: list[CanonicalEvent]) -> None:
        delta = event.delta
        if delta is None:
            self.extra.setdefault("events", []).append({"contentBlockDelta": event.extra_ or {}})
            return
        if delta.tool_use is not None:
            respell_arguments(delta.tool_use, "input", self._context)
        index, kind, text = _fragment(event)
        reasoning = delta.reasoning
        pieces: list[Any] = []
        if text or (reasoning is not None and (reasoning.signature or reasoning.redacted)):
            pass
        elif delta.citation is not None:
            kind, pieces = "text", [delta.citation]
        elif delta.tool_result is not None:
            kind = "toolResult"
            pieces = delta.tool_result if isinstance(delta.tool_result, list) else [delta.tool_result]
        elif delta.image is not None:
            kind, pieces = "image", [delta.image]
        else:
            for unknown, value in (delta.extra_ or {}).items() if not kind else ():
                self.holder(unknown, index, unknown, out).pieces.append(value)
            return
        state = self.holder(kind, index, kind, out)
        self.extend(state, text, out)
        state.pieces += pieces
        if reasoning is not None and not text:
            state.signature += [reasoning.signature] if reasoning.signature else []
            state.redacted += [reasoning.redacted] if reasoning.redacted else []
        for holder in (event, delta, reasoning, delta.tool_use):
            if holder is not None and holder.extra_:
                state.extra.update(holder.extra_)

    def begins_with(self, kind: str) -> bool:
        """See `BlockStream.begins_with`. Only a call needs a start event."""
        return kind != "toolUse"

    def misplaced(
        self, kind: str, index: int | None, placed: ContentState | None, out: list[CanonicalEvent]
    ) -> ContentState:
        """See `BlockStream.misplaced`. Misplaced arguments become a call without a name."""
        self.has_misplaced = self.has_misplaced or kind == "toolUse"
        state = self.imply(kind, None, index, out, placed)
        self.by_index[state.index] = state
        return state

    def _other(self, event: dict[str, Any], out: list[CanonicalEvent]) -> None:
        """Process an exception, or an event of an unknown type."""
        kind = next((kind for kind in event if kind in s.EXCEPTIONS), None)
        if kind is not None:
            members = event[kind] if isinstance(event[kind], dict) else {"message": event[kind]}
            self.fail({"error": {"type": kind, **members}}, out)
        elif event.get("error") is not None or "message" in event:
            self.fail(event, out)
        else:
            self.unknown(f"event {next(iter(event), '')!r}", event)

    @property
    def is_over(self) -> bool:
        """See `StreamBase.is_over`. The usage follows messageStop."""
        return self.is_whole and self.usage is not None

    def beside(self) -> dict[str, Any]:
        """See `BlockStream.beside`."""
        return self._message

    def convert(self, builder: CallBuilder, state: ContentState, blocks: list[Block], cut: bool) -> None:
        """See `BlockStream.convert`."""
        text = None
        if state.kind == "toolUse":
            initial = state.initial()
            text = "".join(state.parts) or initial
            if initial not in NO_ARGUMENTS and by_value(initial) != by_value(text):
                self._context.find("arguments-disagree", "the input at the start of a call differs from the deltas")
        block = convert(builder, state.complete(), len(blocks), cut, text)
        if self.has_misplaced and type(block) is ToolCall and not text and block.status == "complete":
            block = self.truncated(block, len(blocks))
        if block is not None:
            state.block = len(blocks)
            blocks.append(block)


def _fragment(event: s.BlockDelta) -> Fragment:
    """Return the index, the kind and the text of a delta. Only texts, reasoning and arguments have a kind."""
    delta = event.delta
    if delta is None:
        return event.index, "", None
    if delta.text is not None:
        return event.index, "text", delta.text
    if delta.tool_use is not None:
        return event.index, "toolUse", delta.tool_use.input
    if delta.reasoning is not None:
        return event.index, "reasoningContent", delta.reasoning.text
    return event.index, "", None


def _started(start: s.Start) -> tuple[str, Any]:
    """Return the kind of a block and its start: a struct, or an object of the wire."""
    if start.tool_use is not None:
        return "toolUse", start.tool_use
    if start.tool_result is not None:
        return "toolResult", start.tool_result
    if start.image is not None:
        return "image", start.image
    return next(iter((start.extra_ or {}).items()), ("", None))
