"""A stream of Responses events into canonical events and, at its end, one response.

Events are correlated by output_index first, item id second (RSP-02: ids rotate; RSP-03: they are missing). What an
event calls `done` outweighs its deltas; the terminal event's output outweighs the items, unless it is empty (RSP-01).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ... import jsontext
from ...errors import MalformedBody
from ...events import BlockDelta, BlockStart, BlockStop, UsageUpdate
from ...events import Event as Told
from ...model import Reasoning, Refusal, Response, Text
from ..common import CallSite, Context, StreamBase
from ..schema import Reader, Unknown, Wire, passed_over, run_reader, tagged
from . import schema as s
from .decode import custom_tools, respond, usage
from .items import Reading, convert, is_hosted

_body_reader = Reader(s.Body)

#: Canonical types of the blocks to come; who runs the others is told by `is_hosted`.
_SHOWN: dict[type[Wire], str] = {
    s.ReasoningItem: "reasoning",
    s.Compaction: "reasoning",
    s.FunctionCall: "tool_call",
    s.ComputerCall: "tool_call",
    s.LocalShellCall: "tool_call",
    s.ApplyPatchCall: "tool_call",
    s.McpApprovalRequest: "approval_request",
    s.WebSearchCall: "server_tool_call",
    s.XSearchCall: "server_tool_call",
    s.FileSearchCall: "server_tool_call",
    s.CodeInterpreterCall: "server_tool_call",
    s.ImageGenerationCall: "server_tool_call",
    s.McpCall: "server_tool_call",
    s.Program: "server_tool_call",
    s.MultiAgentCall: "server_tool_call",
    Unknown: "opaque",
}

#: Deltas: event type -> (the part of the item it grows, the item that it implies where none began).
DELTAS: dict[str, tuple[str, type[Wire]]] = {
    "response.output_text.delta": ("text", s.MessageItem),
    "response.refusal.delta": ("refusal", s.MessageItem),
    "response.reasoning_text.delta": ("content", s.ReasoningItem),
    "response.reasoning_summary_text.delta": ("summary", s.ReasoningItem),
    "response.function_call_arguments.delta": ("arguments", s.FunctionCall),
    "response.custom_tool_call_input.delta": ("input", s.CustomToolCall),
    "response.mcp_call_arguments.delta": ("arguments", s.McpCall),
    "response.code_interpreter_call_code.delta": ("code", s.CodeInterpreterCall),
}
#: The same parts, whole: event type -> (part, the event's member that holds it, implied item).
DONES: dict[str, tuple[str, str, type[Wire]]] = {
    "response.output_text.done": ("text", "text", s.MessageItem),
    "response.refusal.done": ("refusal", "refusal", s.MessageItem),
    "response.reasoning_text.done": ("content", "text", s.ReasoningItem),
    "response.reasoning_summary_text.done": ("summary", "text", s.ReasoningItem),
    "response.function_call_arguments.done": ("arguments", "arguments", s.FunctionCall),
    "response.custom_tool_call_input.done": ("input", "input", s.CustomToolCall),
    "response.mcp_call_arguments.done": ("arguments", "arguments", s.McpCall),
    "response.code_interpreter_call_code.done": ("code", "code", s.CodeInterpreterCall),
}
TERMINAL = frozenset(("response.completed", "response.incomplete", "response.failed"))
BEGINNING = frozenset(("response.created", "response.in_progress", "response.queued"))
#: Progress notes: what they tell comes again, whole, in the item.
PROGRESS = frozenset(
    (
        "keepalive",
        "ping",
        "response.content_part.added",
        "response.content_part.done",
        "response.reasoning_part.added",
        "response.reasoning_part.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.output_text.annotation.added",
        "response.audio.delta",
        "response.audio.done",
        "response.audio.transcript.delta",
        "response.audio.transcript.done",
        "response.code_interpreter_call.in_progress",
        "response.code_interpreter_call.interpreting",
        "response.code_interpreter_call.completed",
        "response.compaction.compacting",
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
        "response.image_generation_call.in_progress",
        "response.image_generation_call.generating",
        "response.image_generation_call.partial_image",
        "response.image_generation_call.completed",
        "response.mcp_call.in_progress",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_list_tools.failed",
        "response.shell_call_command.added",
        "response.shell_call_command.delta",
        "response.shell_call_command.done",
        "response.shell_call_output_content.delta",
        "response.shell_call_output_content.done",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
        # over a WebSocket: what became of input that was sent into a running answer
        "response.inject.created",
        "response.inject.failed",
        "response.steer.accepted",
        "response.steer.failed",
        "response.steer.pending",
        # xAI
        "response.x_search_call.in_progress",
        "response.x_search_call.searching",
        "response.x_search_call.completed",
    )
)

_PIECES: dict[str, type[s.Piece]] = {kind: tagged(s.Piece, kind) for kind in DELTAS}
_known = DONES.keys() | TERMINAL | BEGINNING | PROGRESS | {"response.output_item.added", "response.output_item.done"}
_read_run = run_reader(*_PIECES.values(), *passed_over(*sorted(_known)))

#: What the last piece belonged to: the struct of its events, their indexes (output, content, summary), its stream key,
#: and how to add one more piece.
_Growing = tuple[Any, int | None, int | None, int | None, int, Callable[[str], None]]
_NOWHERE: list[str] = []
_NOTHING: _Growing = (None, None, None, None, -1, _NOWHERE.append)


class _Open:
    """One output item while it arrives. ``grown``: pieces by (part, index of the part)."""

    __slots__ = ("done", "grown", "index", "item", "keys", "whole")

    def __init__(self, item: Wire, index: int) -> None:
        self.item: Any = item
        self.index = index
        self.grown: dict[tuple[str, int], list[str]] = {}
        self.whole: dict[tuple[str, int], str] = {}
        self.keys: dict[tuple[str, int], int] = {}
        self.done = False


class Stream(StreamBase):
    """Feed it the payload of each event; it never looks at framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = Reader(s.Event)
        self._items: dict[int, _Open] = {}
        self._by_id: dict[str, _Open] = {}
        self._shared: dict[int, _Open] = {}  # output indexes that several items claim: the last of them
        self._begun: bytes | None = None
        self._terminal: s.Body | None = None
        self._keys = 0
        self._growing = _NOTHING
        self._odd: list[Any] = []

    def run(self, payloads: list[bytes], out: list[Told]) -> None:
        """The short path: more pieces of what the last piece belonged to."""
        pieces = _read_run(payloads)
        if not pieces:
            super().run(payloads, out)
            return
        kind, index, content, summary, key, add = self._growing
        for piece, data in zip(pieces, payloads, strict=False):
            if (
                type(piece) is kind
                and piece.output_index == index
                and piece.content_index == content
                and piece.summary_index == summary
            ):
                delta = piece.delta
                if delta:
                    add(delta)
                    out.append(BlockDelta(0, key, delta))
                    continue
            self.take(None, data, out)
            kind, index, content, summary, key, add = self._growing

    def event(self, name: str | None, data: bytes, out: list[Told]) -> None:
        """Take one event. Raises MalformedBody where its data is no JSON object."""
        if data == b"[DONE]":
            return
        event = self._reader.read(data, self._notes)
        if self._notes:
            self._context.take(self._notes)
        kind = event.type or ""
        grows = DELTAS.get(kind)
        if grows is not None:
            if event.delta:
                self._grow(event, grows[0], grows[1], event.delta, out)
        elif kind in DONES:
            self._whole(event, *DONES[kind])
        elif kind == "response.output_item.added":
            if event.item is not None:
                self._open(event, event.item, out)
        elif kind == "response.output_item.done":
            if event.item is not None:
                self._close(event, event.item, out)
        elif kind in BEGINNING:
            self._begun = bytes(event.response) or self._begun
        elif kind in TERMINAL:
            self._end(event, out)
        elif kind == "error" or name == "error" or (not kind and (event.error or event.message)):
            self.fail(jsontext.decode(data), out)
        elif kind not in PROGRESS:
            self._context.find("unknown-event", f"event {kind!r}")
            self._odd.append(jsontext.decode(data))

    def _at(self, event: s.Event, implied: type[Wire], out: list[Told]) -> _Open:
        index = event.output_index
        opened = self._owner(index, event.item_id)
        if opened is None and event.item_id:
            opened = self._by_id.get(event.item_id)
        if opened is None and index is None:
            # Neither index nor a known id: the last item of the kind that is still open (RSP-03).
            candidates = (o for o in reversed(self._items.values()) if type(o.item) is implied and not o.done)
            opened = next(candidates, None)
        if opened is None:
            self._context.find("index-changed", f"{event.type} for index {index}, where no item began")
            opened = self._new(implied(), self._next() if index is None else index)
            if event.item_id:
                opened.item.id = event.item_id
        return opened

    def _owner(self, index: int | None, id: Any) -> _Open | None:
        """The item under an index; where several claim it, the one of that id, else the last."""
        if index in self._shared:
            return self._by_id.get(id) or self._shared[index]
        return self._items.get(index) if index is not None else None

    def _next(self) -> int:
        return max(self._items, default=-1) + 1

    def _new(self, item: Wire, index: int) -> _Open:
        self._growing = _NOTHING
        opened = _Open(item, index)
        self._items[index] = opened
        for name in ("id", "call_id"):
            id = getattr(item, name, None)
            if isinstance(id, str) and id:
                self._by_id.setdefault(id, opened)
        return opened

    def _open(self, event: s.Event, item: Wire, out: list[Told]) -> None:
        index = event.output_index
        if index is None:
            opened = self._new(item, self._next())
        elif index in self._items:
            self._context.find("index-reused", f"a second output item under index {index}")
            opened = self._shared[index] = self._new(item, self._next())
        else:
            opened = self._new(item, index)
        if type(item) is not s.MessageItem:
            self._key(opened, ("", 0), out)

    def _key(self, opened: _Open, part: tuple[str, int], out: list[Told]) -> int:
        """The stream key of a block: one an item, except that each content part of a message is one."""
        item = opened.item
        is_message = type(item) is s.MessageItem
        place = part if is_message else ("", 0)
        key = opened.keys.get(place)
        if key is None:
            key = opened.keys[place] = self._keys
            self._keys += 1
            shown = part[0] if is_message else self._shown(item)
            id = getattr(item, "call_id", None) or getattr(item, "id", None) if shown.endswith("call") else None
            name = getattr(item, "name", None)
            out.append(BlockStart(0, key, shown, id, name if isinstance(name, str) else None))
        return key

    def _shown(self, item: Wire) -> str:
        if type(item) in (s.CustomToolCall, s.ShellCall, s.ToolSearchCall):
            return "server_tool_call" if is_hosted(item, self._custom(item)) else "tool_call"
        return _SHOWN.get(type(item), "server_tool_result")

    def _custom(self, item: Wire) -> frozenset[str] | None:
        return custom_tools(self._context, self._beginning()) if type(item) is s.CustomToolCall else None

    def _show_whole(self, opened: _Open, out: list[Told]) -> None:
        """An item that came without deltas is shown at its end, as it will stand in the response."""
        scratch = CallSite.of(Context(self._context.wire), 0, None)
        for number, block in enumerate(convert(Reading(scratch, self._custom(opened.item)), [opened.item], False)):
            text = block.text if isinstance(block, (Text, Reasoning, Refusal)) else getattr(block, "arguments_text", "")
            if text:
                part = "refusal" if isinstance(block, Refusal) else "text"
                out.append(BlockDelta(0, self._key(opened, (part, number), out), text))

    def _grow(self, event: s.Event, part: str, implied: type[Wire], delta: str, out: list[Told]) -> None:
        opened = self._items.get(event.output_index)  # type: ignore[arg-type]
        if opened is None or self._shared:
            opened = self._at(event, implied, out)
        index = event.content_index or event.summary_index or 0
        place = (part, index)
        pieces = opened.grown.get(place)
        if pieces is None:
            pieces = opened.grown[place] = []
        pieces.append(delta)
        key = opened.keys.get(place)
        if key is None:
            key = self._key(opened, place, out)
        out.append(BlockDelta(0, key, delta))
        if event.output_index is not None and not self._shared:
            kind = _PIECES[event.type or ""]
            indexes = (event.output_index, event.content_index, event.summary_index)
            self._growing = (kind, *indexes, key, pieces.append)

    def _whole(self, event: s.Event, part: str, member: str, implied: type[Wire]) -> None:
        text = getattr(event, member)
        if text is None:
            return
        opened = self._at(event, implied, [])
        opened.whole[(part, event.content_index or event.summary_index or 0)] = text
        if event.name and getattr(opened.item, "name", "") is None:
            opened.item.name = event.name

    def _close(self, event: s.Event, item: Wire, out: list[Told]) -> None:
        index = event.output_index
        id = getattr(item, "id", None) or getattr(item, "call_id", None)
        opened = self._owner(index, id)
        if opened is None and isinstance(id, str):
            known = self._by_id.get(id)
            opened = known if known is not None and (index is None or not known.done) else None
        if opened is None:
            self._open(event, item, out)
            opened = next(reversed(self._items.values()))
        opened.done = True
        self._compare(opened, item)
        opened.item = item
        if not opened.grown:
            self._show_whole(opened, out)
        for key in opened.keys.values():
            out.append(BlockStop(0, key))

    def _compare(self, opened: _Open, item: Wire) -> None:
        """Arguments may not change between their deltas and the item's end; what the item says last counts."""
        for part in ("arguments", "input"):
            final = getattr(item, part, None)
            place = (part, 0)
            streamed = opened.whole.get(place)
            if streamed is None and place in opened.grown:
                streamed = "".join(opened.grown[place])
            if not isinstance(final, str) or streamed is None:
                continue
            if not final and streamed:
                setattr(item, part, streamed)
            elif final != streamed:
                name = getattr(item, "name", None)
                self._context.find(
                    "arguments-disagree", f"{name}: {len(streamed)} characters streamed, {len(final)} final"
                )

    def _end(self, event: s.Event, out: list[Told]) -> None:
        if self._terminal is not None:
            self._context.find("event-after-end", "a second terminal event")
        raw = bytes(event.response)
        if not raw:
            self._terminal = s.Body(status=(event.type or "").removeprefix("response."))
            return
        body = _body_reader.read(raw, self._notes)
        if self._notes:
            self._context.take(self._notes)
        if body.status is None:
            body.status = (event.type or "").removeprefix("response.")
        self._terminal = body
        figures = usage(body.usage)
        if figures is not None:
            out.append(UsageUpdate(figures))

    def finish(self) -> Response:
        """The response; incomplete where no terminal event came (failures TERM-01, TERM-05)."""
        context = self._context
        streamed = [self._assembled(self._items[index]) for index in sorted(self._items)]
        body = self._terminal
        complete = body is not None and self._error is None
        if not complete and self._error is None:
            context.find("stream-incomplete")
        if body is None:
            body = self._beginning()
        if self._error is not None:
            body.error = body.error or self._error.raw
        items = self._settled(body.output or [], streamed)
        if self._odd:
            body.extra_ = {**(body.extra_ or {}), "events": self._odd}
        return respond(context, body, items, complete)

    def _beginning(self) -> s.Body:
        if self._begun:
            try:
                body = _body_reader.read(self._begun, self._notes)
            except MalformedBody:
                return s.Body()
            body.usage = None
            body.output = None
            return body
        return s.Body()

    def _settled(self, final: list[Any], streamed: list[Any]) -> list[Any]:
        """The terminal output, plus any streamed call it lacks; the streamed items where it is empty."""
        if not final:
            if streamed and self._terminal is not None:
                self._context.find("output-empty", f"{len(streamed)} items were streamed")
            return streamed
        known = {(type(item), getattr(item, "call_id", None) or item.id) for item in final if isinstance(item, s.Item)}
        lost = [
            item
            for item in streamed
            if isinstance(item, (s.FunctionCall, s.CustomToolCall))
            and item.name
            and (type(item), item.call_id or item.id) not in known
        ]
        if lost and len(lost) + len(final) > len(streamed):
            calls = [i for i in final if isinstance(i, (s.FunctionCall, s.CustomToolCall))]
            told = {(type(i), i.name, _said(i)) for i in calls}
            lost = [i for i in lost if (type(i), i.name, _said(i)) not in told]
        if lost:
            names = ", ".join(str(item.name) for item in lost)
            self._context.find("output-disagrees", f"streamed but not in the final output: {names}")
            return [*final, *lost]
        return final

    def _assembled(self, opened: _Open) -> Any:
        """An item from its pieces, where its own end did not come."""
        item = opened.item
        if opened.done:
            return item
        said = {place: "".join(pieces) for place, pieces in opened.grown.items()}
        said.update(opened.whole)
        item = msgspec.structs.replace(item)
        if type(item) is s.MessageItem:
            if not item.content or said:
                parts = [
                    s.Part(type="refusal", refusal=text) if part == "refusal" else s.Part(type="output_text", text=text)
                    for (part, _), text in sorted(said.items(), key=lambda entry: entry[0][1])
                ]
                item.content = parts or item.content
        elif type(item) is s.ReasoningItem:
            for part, kind in (("content", "reasoning_text"), ("summary", "summary_text")):
                texts = [text for (p, _), text in sorted(said.items(), key=lambda e: e[0][1]) if p == part]
                if texts:
                    setattr(item, part, [{"type": kind, "text": text} for text in texts])
        else:
            for (part, _), text in said.items():
                if hasattr(item, part):
                    setattr(item, part, text)
            if type(item) in (s.FunctionCall, s.CustomToolCall) and not said:
                item.status = item.status if self._terminal is not None else "incomplete"
        return item


def _said(item: Any) -> str:
    text: str = (item.arguments if isinstance(item, s.FunctionCall) else item.input) or ""
    return text
