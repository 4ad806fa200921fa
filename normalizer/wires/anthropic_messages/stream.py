"""Decoder for streams of the Messages API: canonical events as they arrive, and one response at the end."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...arguments import by_value
from ...events import BlockDelta
from ...events import Event as CanonicalEvent
from ...model import Block
from ..block_stream import NO_FRAGMENT, Fragment
from ..call_builder import CallBuilder, respell_arguments
from ..calls import NO_ARGUMENTS
from ..decode_context import Context
from ..schema import Reader, Wire
from . import schema as s
from .blocks import convert, usage
from .routing import WORDLESS, RoutedStream
from .stream_state import TEXT_MEMBERS, USES, ContentBlockState, add_members, delta_text


class Stream(RoutedStream):
    """Stream decoder for the payloads of Messages API events, independent of their framing."""

    reader = Reader(s.Event)
    decode_event = staticmethod(s.decode_event)
    fragments = frozenset((s.Piece,))
    repeats_bytes = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._figures: dict[str, Any] = {}

    def fragment(self, event: Any) -> Fragment:
        """See `BlockStream.fragment`."""
        if type(event) is not s.Piece:
            return NO_FRAGMENT
        delta = event.delta
        return event.at, delta.kind, delta.text

    def apply(self, event: Any, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """See `BlockStream.apply`."""
        kind = event.type
        if kind == "content_block_delta":
            if event.delta is not None:
                self._delta(event.index, event.delta, out)
        elif kind == "content_block_start":
            self._start(event, out)
        elif kind == "content_block_stop":
            self.close(self.ended_by(event.index), out)
        elif kind == "message_start":
            self._begin(event.message, out)
        elif kind == "message_delta":
            self._end(event, out)
        elif kind == "message_stop":
            self.ends()
            self.extra.update(s.carry_event(event))  # Bedrock's invocation metrics
        elif kind == "ping":
            pass
        elif kind == "error" or name == "error" or kind is None:
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self.unknown(f"event {kind!r}", json_codec.decode_or_text(data))

    def _begin(self, message: s.Message | None, out: list[CanonicalEvent]) -> None:
        if message is None:
            return
        if self.starts_again("message_start", message.id) and self.blocks:
            return
        self.id, self.model = message.id, message.model
        if extra := s.carry_message(message):
            self.extra.update(extra)
        self.stop = message.stop_reason or self.stop
        self._count(message.usage, out)
        for number, block in enumerate(message.content or ()):
            self._begin_block(block, number, out).stopped = True

    def _count(self, figures: dict[str, Any] | None, out: list[CanonicalEvent]) -> None:
        """Update the usage. The wire's figures are cumulative, so new ones replace earlier ones."""
        if figures:
            if None in figures.values():
                figures = {key: value for key, value in figures.items() if value is not None}
            self._figures.update(figures)
            self.count(usage(self._figures), out)

    def _start(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        block = event.content_block
        if block is None:
            return
        if self.ended:
            self._context.find("event-after-end", "a content block after message_stop")
        self._begin_block(block, event.index, out)

    def _begin_block(self, block: Wire, index: int | None, out: list[CanonicalEvent]) -> ContentBlockState:
        state = self.begin(block, index, out)
        if state.start is not block:
            return state  # a repeated start
        text = block.text if type(block) is s.TextBlock else block.thinking if type(block) is s.ThinkingBlock else None
        if text:
            self.extend(state, text, out)
        return state

    def _delta(self, index: int | None, delta: s.Delta, out: list[CanonicalEvent]) -> None:
        respell_arguments(delta, "partial_json", self._context)
        member, text = delta_text(delta)
        beside = delta.type in WORDLESS or delta.signature is not None or delta.citation is not None
        if not (text or delta.encrypted_content or beside):
            if delta.type not in TEXT_MEMBERS:
                self._unknown_delta(delta)
            return
        state: ContentBlockState | None
        if text or delta.encrypted_content:
            self.has_unplaced = self.has_unplaced or (index is None and member == "partial_json")
            state = self.holder(member, index, delta.type, out)
        else:
            state = self.holder_of_wordless(index, delta.type, out)
        if state is None:
            self._unknown_delta(delta)
            return
        if delta.signature is not None:
            state.signature.append(delta.signature)
        if text and state.kind == member:
            self.extend(state, text, out)
        elif text:
            state.keep(member, text)
            out.append(BlockDelta(0, state.key, text))
        elif delta.citation is not None:
            state.keep("citations", delta.citation)
        if delta.encrypted_content:
            state.keep("encrypted_content", delta.encrypted_content)

    def _unknown_delta(self, delta: s.Delta) -> None:
        self.unknown(f"delta {delta.type!r}", {"type": delta.type, **(delta.extra_ or {})})

    def _end(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        delta = event.delta
        if delta is not None:
            self.end(delta.stop_reason, out)
            self.extra.update(s.carry_delta(delta))
        self.extra.update(s.carry_event(event))
        self._count(event.usage, out)

    def convert(self, builder: CallBuilder, state: ContentBlockState, blocks: list[Block], cut: bool) -> None:
        """See `BlockStream.convert`."""
        block = state.start
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
            initial = state.initial()
            text = streamed if streamed else initial
            if initial not in NO_ARGUMENTS and by_value(initial) != by_value(text):
                self._context.find(
                    "arguments-disagree", f"{block.name}: the input at its start differs from the deltas"
                )
        if state.members:
            add_members(block, state.members)
        converted = convert(builder, block, len(blocks), cut, text)
        if converted is not None:
            state.block = len(blocks)
            blocks.append(converted)
