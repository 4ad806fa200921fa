"""Decoder for streams of the Messages API: canonical events as they arrive, and one response at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...arguments import by_value
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as Told
from ...model import Block, Choice, Response, Stop, ToolCall
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..schema import Reader, Unknown, Wire, run_reader
from ..stop_reason import CUTS, settle
from ..stop_words import reason_of
from ..stream_base import StreamBase
from . import schema as s
from .blocks import convert, usage
from .routing import WORDLESS, BlockRouter
from .stream_state import NO_INPUT, USES, WORDS, BlockState, add_members, spelled, words

_SHOWN: dict[type[Wire], str] = {
    s.TextBlock: "text",
    s.ThinkingBlock: "reasoning",
    s.RedactedThinkingBlock: "reasoning",
    s.Compaction: "reasoning",
    s.ToolUseBlock: "tool_call",
    s.ServerToolUseBlock: "server_tool_call",
    s.McpToolUseBlock: "server_tool_call",
    Unknown: "opaque",
}
_read_run = run_reader(s.Piece, *s.BETWEEN)
#: The fast path's state without a current block: index, fragment struct, stream key and function that adds text.
_NOWHERE: list[str] = []
_NOTHING: tuple[Any, Any, int, Callable[[str], None]] = ("none", None, -1, _NOWHERE.append)


class Stream(StreamBase):
    """Stream decoder for the payloads of Messages API events, independent of their framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = Reader(s.Event)
        self._message = s.Message()
        self._blocks = BlockRouter(context)
        self._usage: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}
        self._stop: str | None = None
        self._ended = False

    def run(self, payloads: list[bytes], out: list[Told]) -> None:
        """Process a run of event payloads, with a fast path for more text of a block that has begun."""
        pieces = _read_run(payloads)
        if not pieces:
            super().run(payloads, out)
            return
        under = self._blocks.under
        index, kind, key, add = _NOTHING
        for piece, data in zip(pieces, payloads, strict=False):
            at = piece.at
            if at != index or type(piece.delta) is not kind:
                opened = under.get(at)
                if opened is None or opened.piece is not type(piece.delta):
                    self.take(None, data, out)
                    index = _NOTHING[0]
                    continue
                index, kind, key, add = at, opened.piece, opened.key, opened.parts.append
            text = piece.delta.text
            if text:
                add(text)
                out.append(BlockDelta(0, key, text))
            else:
                self.take(None, data, out)

    def event(self, name: str | None, data: bytes, out: list[Told]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        if data == b"[DONE]":
            return
        event = self._reader.read(data, self._notes)
        if self._notes:
            self._context.take(self._notes)
        kind = event.type
        if kind == "content_block_delta":
            if event.delta is not None:
                self._delta(event, event.delta, out)
        elif kind == "content_block_start":
            self._start(event, out)
        elif kind == "content_block_stop":
            block = self._blocks.at(event.index)
            if block is not None:
                block.stopped = True
                self._show_input(block, out)
                out.append(BlockStop(0, block.key))
        elif kind == "message_start":
            self._begin(event.message, out)
        elif kind == "message_delta":
            self._end(event, out)
        elif kind == "message_stop":
            self._ended = True
            self._extra.update(s.carry_event(event))  # Bedrock's invocation metrics
        elif kind == "error" or name == "error" or kind is None:
            self.fail(json_codec.decode(data), out)
        elif kind != "ping":
            self._context.find("unknown-event", f"event {kind!r}")
            self._extra.setdefault("events", []).append(json_codec.decode(data))

    def _begin(self, message: s.Message | None, out: list[Told]) -> None:
        if message is None:
            return
        if self._message.id is not None and self._blocks.all:
            self._context.find("event-after-end", "a second message_start")
            return
        self._message = message
        self._extra.update(s.carry_message(message))
        self._stop = message.stop_reason or self._stop
        self._count(message.usage, out)
        for number, block in enumerate(message.content or ()):
            self._begin_block(block, number, out).stopped = True

    def _count(self, figures: dict[str, Any] | None, out: list[Told]) -> None:
        """Update the usage. The wire's figures are cumulative, so new ones replace earlier ones."""
        if figures:
            self._usage.update({key: value for key, value in figures.items() if value is not None})
            told = usage(self._usage)
            if told is not None:
                out.append(UsageUpdate(told))

    def _start(self, event: s.Event, out: list[Told]) -> None:
        block = event.content_block
        if block is None:
            return
        if self._ended:
            self._context.find("event-after-end", "a content block after message_stop")
        self._begin_block(block, event.index, out)

    def _begin_block(self, block: Wire, index: int | None, out: list[Told]) -> BlockState:
        number = len(self._blocks.all)
        opened = self._blocks.begin(block, index)
        self._show_new(number, out)
        said = getattr(block, "text", None) or getattr(block, "thinking", None)
        if isinstance(said, str) and said:
            opened.parts.append(said)
            out.append(BlockDelta(0, opened.key, said))
        return opened

    def _show_new(self, number: int, out: list[Told]) -> None:
        """Emit start events for the blocks from index ``number`` on."""
        for opened in self._blocks.all[number:]:
            block = opened.block
            shown = _SHOWN.get(type(block), "server_tool_result")
            id = getattr(block, "id", None) if shown.endswith("call") else None
            out.append(BlockStart(0, opened.key, shown, id, getattr(block, "name", None)))

    def _show_input(self, opened: BlockState, out: list[Told]) -> None:
        """Emit the arguments of a call that came with the start of its block and not in deltas (XLAT-03)."""
        block = opened.block
        if not opened.parts and isinstance(block, USES):
            text = spelled(block.input)
            if text:
                out.append(BlockDelta(0, opened.key, text))

    def _delta(self, event: s.Event, delta: s.Delta, out: list[Told]) -> None:
        member, text = words(delta)
        beside = delta.type in WORDLESS or delta.signature is not None or delta.citation is not None
        if not (text or delta.encrypted_content or beside):
            if delta.type not in WORDS:
                self._unknown_delta(delta)
            return
        number = len(self._blocks.all)
        opened = self._holder(event.index, delta, member, text)
        if opened is None:
            self._unknown_delta(delta)
            return
        self._show_new(number, out)
        if delta.signature is not None:
            opened.signature.append(delta.signature)
        if text:
            if opened.takes == member:
                opened.parts.append(text)
            else:
                opened.keep(member, text)
            out.append(BlockDelta(0, opened.key, text))
        elif delta.citation is not None:
            opened.keep("citations", delta.citation)
        if delta.encrypted_content:
            opened.keep("encrypted_content", delta.encrypted_content)

    def _holder(self, index: int | None, delta: s.Delta, member: str, text: str | None) -> BlockState | None:
        """Return the block that a delta belongs to, or None for a delta of an unknown type without a block."""
        if text or delta.encrypted_content:
            self._blocks.unplaced = self._blocks.unplaced or (index is None and member == "partial_json")
            opened = self._blocks.at(index)
            return (
                opened if opened is not None and opened.fits(member) else self._blocks.holder(index, delta.type, member)
            )
        return self._blocks.beside(index, delta.type)

    def _unknown_delta(self, delta: s.Delta) -> None:
        self._context.find("unknown-event", f"delta {delta.type!r}")
        self._extra.setdefault("events", []).append({"type": delta.type, **(delta.extra_ or {})})

    def _end(self, event: s.Event, out: list[Told]) -> None:
        delta = event.delta
        if delta is not None:
            if delta.stop_reason:
                if delta.stop_reason != self._stop:
                    out.append(ChoiceStop(0, Stop(reason_of(delta.stop_reason), delta.stop_reason)))
                self._stop = delta.stop_reason
            self._extra.update(s.carry_delta(delta))
        self._extra.update(s.carry_event(event))
        self._count(event.usage, out)

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without a message_stop event (TERM-01)."""
        context = self._context
        complete = self._ended and self._error is None
        self._report_incomplete(complete)
        raw = self._stop
        reason = reason_of(raw) if raw else None
        builder = CallBuilder.of(context, 0, self._message.id)
        opened = self._blocks.in_order()
        built: list[tuple[BlockState, Block]] = []
        for number, one in enumerate(opened):
            cut = (reason in CUTS and number == len(opened) - 1) or (not complete and not one.stopped)
            block = self._close(builder, one, len(built), cut)
            if block is not None:
                built.append((one, block))
        blocks = self._without_doubt(built)
        choices = [Choice(0, blocks, settle(builder, reason, raw))]
        if not (blocks or complete or self._stop):
            choices = []
        return self._response(self._message.id, self._message.model, choices, usage(self._usage), complete, self._extra)

    def _without_doubt(self, built: list[tuple[BlockState, Block]]) -> list[Block]:
        """Return the blocks, and mark calls that may lack their arguments as truncated, so that they do not run."""
        doubted = self._blocks.doubted(built)
        blocks: list[Block] = []
        for one, block in built:
            if one.key in doubted and type(block) is ToolCall and block.status == "complete":
                message = f"{block.name} ({block.id}): arguments have the index of another block"
                self._context.find("arguments-misplaced", message, 0, len(blocks))
                blocks.append(replace(block, status="truncated", arguments=None))
            else:
                blocks.append(block)
        return blocks

    def _close(self, builder: CallBuilder, one: BlockState, place: int, cut: bool) -> Block | None:
        block = one.block
        said = "".join(one.parts)
        text: str | None = None
        if one.signature:
            one.keep("signature", "".join(one.signature))
        if type(block) is s.TextBlock:
            block.text = said
        elif type(block) is s.ThinkingBlock:
            block.thinking = said
        elif type(block) is s.Compaction:
            block.content = said or block.content
        elif isinstance(block, USES):
            # Some servers send the whole input in the start event, with or without deltas that repeat it (XLAT-03).
            given = spelled(block.input)
            text = said if said else given
            if given not in NO_INPUT and by_value(given) != by_value(text):
                self._context.find(
                    "arguments-disagree", f"{block.name}: the input at its start differs from the deltas"
                )
        if one.members:
            add_members(block, one.members)
        return convert(builder, block, place, cut, text)
