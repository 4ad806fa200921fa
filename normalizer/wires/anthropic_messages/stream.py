"""A stream of Anthropic message events into canonical events and, at its end, one response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import jsontext
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as Told
from ...model import Block, Choice, Response, Stop
from ..common import CUTS, CallSite, Context, StreamBase, failed, settle
from ..schema import Reader, Unknown, Wire, run_reader
from ..stop_words import reason_of
from .assembly import Open, add_members, spelled, words
from .blocks import convert, usage
from .schema import (
    BETWEEN,
    Compaction,
    Delta,
    Event,
    McpToolUseBlock,
    Message,
    Piece,
    RedactedThinkingBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    carry_delta,
    carry_event,
    carry_message,
)

_SHOWN: dict[type[Wire], str] = {
    TextBlock: "text",
    ThinkingBlock: "reasoning",
    RedactedThinkingBlock: "reasoning",
    Compaction: "reasoning",
    ToolUseBlock: "tool_call",
    ServerToolUseBlock: "server_tool_call",
    McpToolUseBlock: "server_tool_call",
    Unknown: "opaque",
}
_USES = (ToolUseBlock, ServerToolUseBlock, McpToolUseBlock)
#: What an orphaned delta belongs to, where its block never started.
_IMPLIED: dict[str, type[Wire]] = {
    "text_delta": TextBlock,
    "citations_delta": TextBlock,
    "thinking_delta": ThinkingBlock,
    "signature_delta": ThinkingBlock,
    "input_json_delta": ToolUseBlock,
    "compaction_delta": Compaction,
}

_read_run = run_reader(Piece, *BETWEEN)
#: No block: an index that none has, a stream key, and where more of its text would go.
_NOWHERE: list[str] = []
_NOTHING: tuple[Any, int, Callable[[str], None]] = ("none", -1, _NOWHERE.append)


class Stream(StreamBase):
    """Feed it the payload of each event; it never looks at framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = Reader(Event)
        self._message = Message()
        self._blocks: list[Open] = []
        self._by_index: dict[int, Open] = {}
        self._usage: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}
        self._stop: str | None = None
        self._ended = False

    def run(self, payloads: list[bytes], out: list[Told]) -> None:
        """The short path: more pieces of a block that has begun."""
        pieces = _read_run(payloads)
        if not pieces:
            super().run(payloads, out)
            return
        blocks = self._by_index
        index, key, add = _NOTHING
        for piece, data in zip(pieces, payloads, strict=False):
            at = piece.at
            if at != index:
                opened = blocks.get(at)
                if opened is None:
                    self.take(None, data, out)
                    index = _NOTHING[0]
                    continue
                if type(opened.block) is Unknown:  # each piece goes to the member it is of
                    self.take(None, data, out)
                    index = _NOTHING[0]
                    continue
                index, key, add = at, opened.key, opened.parts.append
            text = piece.delta.text
            if text:
                add(text)
                out.append(BlockDelta(0, key, text))
            else:
                self.take(None, data, out)

    def event(self, name: str | None, data: bytes, out: list[Told]) -> None:
        """Take one event. Raises MalformedBody where its data is no JSON object."""
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
            block = self._at(event.index)
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
            self._extra.update(carry_event(event))  # Bedrock's invocation metrics
        elif kind == "error" or name == "error" or kind is None:
            self.fail(jsontext.decode(data), out)
        elif kind != "ping":
            self._context.find("unknown-event", f"event {kind!r}")
            self._extra.setdefault("events", []).append(jsontext.decode(data))

    def _begin(self, message: Message | None, out: list[Told]) -> None:
        if message is None:
            return
        if self._message.id is not None and self._blocks:
            self._context.find("event-after-end", "a second message_start")
            return
        self._message = message
        self._extra.update(carry_message(message))
        self._stop = message.stop_reason or self._stop
        self._count(message.usage, out)
        for number, block in enumerate(message.content or ()):
            self._open(block, number, out).stopped = True

    def _count(self, figures: dict[str, Any] | None, out: list[Told]) -> None:
        """Figures at the end are cumulative: what is given replaces what was."""
        if figures:
            self._usage.update({key: value for key, value in figures.items() if value is not None})
            told = usage(self._usage)
            if told is not None:
                out.append(UsageUpdate(told))

    def _start(self, event: Event, out: list[Told]) -> None:
        block = event.content_block
        if block is None:
            return
        if self._ended:
            self._context.find("event-after-end", "a content block after message_stop")
        index = len(self._blocks) if event.index is None else event.index
        if index in self._by_index:
            self._context.find("index-reused", f"a second content block under index {index}")
        self._open(block, index, out)

    def _open(self, block: Wire, index: int, out: list[Told]) -> Open:
        opened = Open(block, index, len(self._blocks))
        self._blocks.append(opened)
        self._by_index[index] = opened
        shown = _SHOWN.get(type(block), "server_tool_result")
        id = getattr(block, "id", None) if shown.endswith("call") else None
        out.append(BlockStart(0, opened.key, shown, id, getattr(block, "name", None)))
        said = getattr(block, "text", None) or getattr(block, "thinking", None)
        if isinstance(said, str) and said:
            opened.parts.append(said)
            out.append(BlockDelta(0, opened.key, said))
        return opened

    def _show_input(self, opened: Open, out: list[Told]) -> None:
        """Arguments that came whole with their block's start, and in no delta (XLAT-03)."""
        block = opened.block
        if not opened.parts and isinstance(block, _USES):
            text = spelled(block.input)
            if text:
                out.append(BlockDelta(0, opened.key, text))

    def _at(self, index: int | None) -> Open | None:
        if index is None:
            return self._blocks[-1] if self._blocks else None
        return self._by_index.get(index)

    def _delta(self, event: Event, delta: Delta, out: list[Told]) -> None:
        opened = self._at(event.index)
        if opened is None:
            implied = _IMPLIED.get(delta.type or "")
            if implied is None:
                self._unknown_delta(delta)
                return
            self._context.find("index-changed", f"a {delta.type} for index {event.index}, where no block began")
            opened = self._open(implied(), len(self._blocks) if event.index is None else event.index, out)
        block = opened.block
        member, text = words(delta)
        if delta.signature is not None:
            opened.signature.append(delta.signature)
        if text:
            if type(block) is Unknown:
                opened.keep(member, text)
            else:
                opened.parts.append(text)
            out.append(BlockDelta(0, opened.key, text))
        elif delta.citation is not None:
            opened.keep("citations", delta.citation)
        elif delta.type == "compaction_delta":
            if delta.content:
                if type(block) is Compaction:
                    opened.parts.append(delta.content)
                else:
                    opened.keep("content", delta.content)
                out.append(BlockDelta(0, opened.key, delta.content))
            if delta.encrypted_content:
                opened.keep("encrypted_content", delta.encrypted_content)
        elif delta.type not in _IMPLIED and delta.signature is None:
            self._unknown_delta(delta)

    def _unknown_delta(self, delta: Delta) -> None:
        self._context.find("unknown-event", f"delta {delta.type!r}")
        self._extra.setdefault("events", []).append({"type": delta.type, **(delta.extra_ or {})})

    def _end(self, event: Event, out: list[Told]) -> None:
        delta = event.delta
        if delta is not None:
            if delta.stop_reason:
                if delta.stop_reason != self._stop:
                    out.append(ChoiceStop(0, Stop(reason_of(delta.stop_reason), delta.stop_reason)))
                self._stop = delta.stop_reason
            self._extra.update(carry_delta(delta))
        self._extra.update(carry_event(event))
        self._count(event.usage, out)

    def finish(self) -> Response:
        """The response; incomplete where no message_stop came (failure TERM-01)."""
        context = self._context
        complete = self._ended and self._error is None
        if not complete and self._error is None:
            context.find("stream-incomplete")
        raw = self._stop
        reason = reason_of(raw) if raw else None
        site = CallSite.of(context, 0, self._message.id)
        opened = sorted(self._blocks, key=lambda b: b.index) if self._in_place() else self._blocks
        blocks: list[Block] = []
        for number, one in enumerate(opened):
            cut = (reason in CUTS and number == len(opened) - 1) or (not complete and not one.stopped)
            block = self._close(site, one, len(blocks), cut)
            if block is not None:
                blocks.append(block)
        choices = [Choice(0, blocks, settle(site, reason, raw))]
        return Response(
            context.wire,
            context.provider,
            self._message.id,
            self._message.model,
            (choices if self._error is None else failed(choices)) if blocks or complete or self._stop else [],
            usage(self._usage),
            self._error,
            complete,
            self._extra,
        ).with_findings(context.findings)

    def _in_place(self) -> bool:
        """Indexes are places, as long as no two blocks claim the same one."""
        return len(self._by_index) == len(self._blocks)

    def _close(self, site: CallSite, one: Open, place: int, cut: bool) -> Block | None:
        block = one.block
        said = "".join(one.parts)
        text: str | None = None
        if one.signature:
            one.keep("signature", "".join(one.signature))
        if type(block) is TextBlock:
            block.text = said
        elif type(block) is ThinkingBlock:
            block.thinking = said
        elif type(block) is Compaction:
            block.content = said or block.content
        elif isinstance(block, _USES):
            # Some servers put the whole input into the start and send no delta, or send it twice (XLAT-03).
            text = said if said else spelled(block.input)
        if one.members:
            add_members(block, one.members)
        return convert(site, block, place, cut, text)
