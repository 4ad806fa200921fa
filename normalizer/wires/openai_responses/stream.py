"""Decode a stream of Responses events into canonical events and, at its end, one response.

`routing` assigns each event to its item. A `done` event takes precedence over its deltas. The output of the terminal
event takes precedence over the streamed items, unless it is empty (RSP-01).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...errors import MalformedBody
from ...events import BlockDelta, BlockStart, BlockStop
from ...events import Event as CanonicalEvent
from ...model import Reasoning, Refusal, Response, Text
from ..block_stream import NO_FRAGMENT, BlockState, BlockStream, Fragment
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..limits import Limits
from ..schema import Reader, Wire
from . import schema as s
from .blocks import Conversion, CustomTools, convert, is_hosted, reasoning
from .decode import UNFINISHED, build_response, custom_tools, merge_bodies, usage
from .output_merge import merge_output
from .routing import ItemRouter, ids_of
from .stream_events import (
    ADDED,
    BEGINNING,
    BLOCK_TYPES,
    DELTAS,
    DONE,
    DONES,
    KNOWN,
    PIECES,
    PROGRESS,
    TERMINAL,
    decode_event,
    takes,
)
from .stream_state import (
    ItemState,
    assemble,
    compare,
    has_other_call_id,
    is_same,
    is_silent,
    item_type,
    mark_incomplete,
)

_body_reader = Reader(s.Body)


class Stream(BlockStream[BlockState]):
    """Decoder for the payloads of one stream; the caller removes the framing.

    Items take the place of blocks. The table of blocks has only the block of the last delta.
    """

    reader = Reader(s.Event)
    decode_event = staticmethod(decode_event)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._items = ItemRouter(context)
        self._first_body: bytes | None = None
        self._custom_tools: CustomTools | None = None
        self._knows_custom_tools = False
        self._terminal: s.Body | None = None
        self._keys = 0
        self._alone = False  # whether the block of the last delta is of the only item without an end
        self._last_id: str | None = None  # the item id of the last delta, and the indexes of its part
        self._content_index: int | None = None
        self._summary_index: int | None = None

    def fragment(self, event: s.DeltaEvent) -> Fragment:
        """See `BlockStream.fragment`. An event whose id belongs to another item is not a fragment."""
        if event.content_index != self._content_index or event.summary_index != self._summary_index:
            return NO_FRAGMENT
        if self._alone or event.item_id == self._last_id or event.item_id not in self._items.by_id:
            return event.output_index, type(event), event.delta
        return NO_FRAGMENT

    def apply(self, event: Any, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """See `BlockStream.apply`."""
        kind = event.type or ""
        if kind in KNOWN:
            if kind == "response.created" and (
                self._first_body or self.failed or self.terminated or self._terminal is not None
            ):
                self.check_same(data)
            self._apply(event, out)
        elif kind in ("error", "response.error") or name == "error" or (not kind and (event.error or event.message)):
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self.unknown(f"event {kind!r}", json_codec.decode_or_text(data))

    def limits(self) -> Limits:
        """See `StreamBase.limits`."""
        body = self._read_first_body()
        ended = self.terminated or self._terminal is not None
        return Limits({body.id} if body.id else frozenset(), ended=ended, failed=self.failed)

    def _apply(self, event: Any, out: list[CanonicalEvent]) -> None:
        """Process an event of a type in `stream_events.KNOWN`: a delta, or one with the members of a regular event."""
        kind = event.type
        if kind in PROGRESS:
            return
        delta_of = DELTAS.get(kind)
        if delta_of is not None:
            if event.delta:
                self._add_delta(event, delta_of[0], delta_of[1], event.delta, out)
        elif kind in DONES:
            self._add_final_text(event, *DONES[kind])
        elif kind == ADDED:
            if event.item is not None:
                self._open(event, event.item, out)
        elif kind == DONE:
            if event.item is not None:
                self._close(event, event.item, out)
        elif kind in BEGINNING:
            if kind == "response.created":
                self.starts_again(kind)
            self._first_body = bytes(event.response) or self._first_body
            self._knows_custom_tools = False
        else:
            self._end(event, out)

    def _open(self, event: s.RegularEvent, item: Wire, out: list[CanonicalEvent]) -> ItemState:
        index = event.output_index
        placed = self._items.at(index)
        for known in self._items.with_id(item) if index is None else (placed,):
            if known is None or known.done:
                continue
            if known.implied and type(known.item) is type(item):
                known.item = item  # its deltas came first
                known.implied = False
                self._items.register(known, item)
                return known
            if is_same(known.item, item):
                self._report_repeated("start", known)
                return known
        self.by_index.clear()
        state = self._items.add(item, index)
        if placed is not None and index is not None:
            self._context.find("index-reused", f"a second output item under index {index}")
            self._items.shared[index] = state
        if type(item) is not s.MessageItem:
            self._key(state, ("", 0), out)
        return state

    def _key(self, state: ItemState, part: tuple[str, int], out: list[CanonicalEvent]) -> int:
        """Return the block key of an item, or of one content part of a message. Starts the block if it is new."""
        item = state.item
        is_message = type(item) is s.MessageItem
        part_key = part if is_message else ("", 0)
        key = state.keys.get(part_key)
        if key is None:
            key = state.keys[part_key] = self._keys
            self._keys += 1
            block_type = part[0] if is_message else self._block_type(item)
            id = getattr(item, "call_id", None) or getattr(item, "id", None) if block_type.endswith("call") else None
            name = getattr(item, "name", None)
            out.append(BlockStart(0, key, block_type, id, name if isinstance(name, str) else None))
        return key

    def _block_type(self, item: Wire) -> str:
        if type(item) in (s.CustomToolCall, s.ShellCall, s.ToolSearchCall):
            return "server_tool_call" if is_hosted(item, self._custom(item)) else "tool_call"
        return BLOCK_TYPES.get(type(item), "server_tool_result")

    def _custom(self, item: Wire) -> CustomTools | None:
        if type(item) is s.CustomToolCall and not self._knows_custom_tools:
            self._custom_tools = custom_tools(self._context, self._read_first_body())
            self._knows_custom_tools = True
        return self._custom_tools

    def _label(self, state: ItemState) -> str:
        """Return an item in findings."""
        return f"{item_type(state.item)} {next((id for id in ids_of(state.item) if id), None)}"

    def _report_repeated(self, event: str, state: ItemState) -> None:
        self.report_repeated(f"{event} of {self._label(state)}", self._block_type(state.item) == "tool_call")

    def _emit_whole(self, state: ItemState, out: list[CanonicalEvent]) -> None:
        """Emit the blocks of an item that came without deltas, with the text they have in the response."""
        scratch = CallBuilder.of(Context(self._context.wire), 0, None)
        for number, block in enumerate(convert(Conversion(scratch, self._custom(state.item)), [state.item], False)):
            text = block.text if isinstance(block, (Text, Reasoning, Refusal)) else getattr(block, "arguments_text", "")
            if text:
                part = "refusal" if isinstance(block, Refusal) else "text"
                out.append(BlockDelta(0, self._key(state, (part, number), out), text))

    def _add_delta(
        self, event: s.DeltaEvent, part: str, implied: type[Wire], delta: str, out: list[CanonicalEvent]
    ) -> None:
        index, id = event.output_index, event.item_id
        state = self._items.all.get(index)  # type: ignore[arg-type]
        if (
            state is None
            or self._items.shared
            or self._items.by_id.get(id, state) is not state
            or event.call_id
            or not takes(state.item, part)
        ):
            self.by_index.clear()
            state = self._items.item_of(event, part, implied)
        part_key = (part, event.content_index or event.summary_index or 0)
        pieces = state.fragments.get(part_key)
        if pieces is None:
            pieces = state.fragments[part_key] = []
        pieces.append(delta)
        if state.done:
            state.late = True  # its blocks have ended
            return
        key = state.keys.get(part_key)
        if key is None:
            key = self._key(state, part_key, out)
        out.append(BlockDelta(0, key, delta))
        if index is not None and not self._items.shared and self._items.all.get(index) is state:
            self._alone, self._last_id = self._items.unended == 1 and type(state.item) is implied, id
            self._content_index, self._summary_index = event.content_index, event.summary_index
            self.by_index.clear()
            self.by_index[index] = BlockState(PIECES[event.type or ""], index, key, parts=pieces)

    def _add_final_text(self, event: s.RegularEvent, part: str, member: str, implied: type[Wire]) -> None:
        text = getattr(event, member)
        if text is None:
            return
        self.by_index.clear()
        state = self._items.item_of(event, part, implied)
        part_key = (part, event.content_index or event.summary_index or 0)
        if state.final_texts.get(part_key) == text:
            self._report_repeated(f"end of the {part}", state)
        state.final_texts[part_key] = text
        state.late = state.done
        if event.name and not getattr(state.item, "name", event.name):
            state.item.name = event.name

    def _close(self, event: s.RegularEvent, item: Wire, out: list[CanonicalEvent]) -> None:
        state = self._items.regularly_ended_by(event.output_index, item)
        changed = state is None
        if state is None:
            state = self._items.ended_by(event.output_index, item)
        if state is None:
            state = self._open(event, item, out)
            self._context.find_once("event-missing", f"{self._label(state)} has an end and no start")
        self.by_index.clear()
        state.filled = False
        compare(state, item, self._context.find)
        if changed and ids_of(item) != ids_of(state.item):
            self._items.register(state, item)
            if has_other_call_id(state.item, item):
                ids = f"{ids_of(state.item)[0]} at its start, {ids_of(item)[0]} at its end"
                self._context.find("id-changed", f"{item_type(item)}: {ids}")
        state.implied = False
        state.item = item
        if state.done:
            self._report_repeated("end", state)
            return
        state.done = True
        self._items.unended -= 1
        if not state.fragments and self.emits and not is_silent(item):
            self._emit_whole(state, out)
        sealed = None
        if isinstance(item, (s.ReasoningItem, s.Compaction)) and item.encrypted_content:
            sealed = replace(reasoning(item), text="", extra={})
        for key in state.keys.values():
            out.append(BlockStop(0, key, sealed))

    def _end(self, event: s.TerminalEvent | s.Event, out: list[CanonicalEvent]) -> None:
        if self._terminal is not None:
            has_call = any(self._block_type(state.item) == "tool_call" for state in self._items.all.values())
            self.report_repeated("terminal event", has_call)
        status = TERMINAL[event.type or ""]
        if isinstance(event, s.TerminalEvent):
            body = event.response
        elif memoryview(event.response):
            body = _body_reader.read(bytes(event.response), self._notes)
            if self._notes:
                self._context.report_notes(self._notes)
        else:
            if self._terminal is None:
                self._terminal = self._read_first_body()
                self._terminal.status = status
            return
        if event.type == "response.done" and body.status in UNFINISHED:
            return  # it ends the stream, but not the response
        body.status = body.status or status
        if body.id is None or body.model is None or body.tools is None:
            begun = self._read_first_body()
            body.id, body.model = body.id or begun.id, body.model or begun.model
            body.tools = begun.tools if body.tools is None else body.tools
        self._terminal = body if self._terminal is None else merge_bodies(self._terminal, body)
        self.count(usage(body.usage), out)

    @property
    def is_whole(self) -> bool:
        """See `StreamBase.is_whole`."""
        return self._terminal is not None and self._error is None

    def finish(self) -> Response:
        """Return the response; it is incomplete if no terminal event arrived (failures TERM-01, TERM-05)."""
        context = self._context
        body = self._terminal
        ended = None if body is None else body.status
        states = [self._items.all[index] for index in sorted(self._items.all)]
        streamed = [assemble(each, ended, each is states[-1], context.find) for each in states]
        complete = self.is_whole
        self._report_incomplete(complete)
        if complete and ended == "completed":
            if states and not self._first_body:
                context.find("event-missing", "the response has no start")
            for state in states:
                if state.done or state.implied:
                    continue
                # OpenAI leaves out the end of some lists of tools, and announces messages without any text.
                if state.fragments or self._block_type(state.item) == "tool_call":
                    context.find("event-missing", f"{self._label(state)} has a start and no end")
        if body is None:
            body = self._read_first_body()
        if self._error is not None:
            body.error = body.error or self._error.raw
        items = body.output or []
        if items:
            items = merge_output(items, streamed, context.find)
        elif streamed:
            items = streamed
            if self._terminal is not None:
                context.find("output-empty", f"{len(streamed)} items were streamed")
        items = mark_incomplete(items, self._items.has_misplaced, self._items.has_unplaced, context.find)
        if self.extra:
            body.extra_ = {**(body.extra_ or {}), **self.extra}
        return build_response(context, body, items, self.usage, complete)

    def _read_first_body(self) -> s.Body:
        if self._first_body:
            try:
                body = _body_reader.read(self._first_body, self._notes)
            except MalformedBody:
                return s.Body()
            if self._notes:
                self._context.report_notes(self._notes)
            body.usage = None
            body.output = None
            return body
        return s.Body()
