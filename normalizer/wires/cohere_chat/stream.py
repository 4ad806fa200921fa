"""Decoder for streams of Cohere's Chat API: canonical events as they arrive, and one response at the end.

The stream collects the plan, the contents and the calls of version 2, and converts the finished message like that of a
body. The last event of version 1 contains the whole response; the earlier ones count only if it is missing.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...arguments import by_value
from ...events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as CanonicalEvent
from ...model import Response, Stop, Usage
from ..call_builder import CallBuilder, respell_arguments
from ..decode_context import Context
from ..misplaced_arguments import mark_beside_nameless
from ..schema import UNFIT, Reader
from ..stop_words import reason_of
from ..stream_base import StreamBase, merged_delta
from . import schema as s
from .blocks import arguments_text, build_choice, build_choice_v1, usage
from .stream_state import BlockState, content_text

_reader = Reader(s.Event)


class Stream(StreamBase):
    """Stream decoder for the payloads of events, independent of their framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._id: str | None = None
        self._all: list[BlockState] = []  # in order of appearance
        self._plan: BlockState | None = None
        self._contents: dict[int | None, BlockState] = {}  # the last content and the last call with each index
        self._calls: dict[int | None, BlockState] = {}
        self._citations: list[Any] = []
        self._message: dict[str, Any] = {}  # members of the message that no block represents
        self._extra: dict[str, Any] = {}
        self._usage: Usage | None = None
        self._stop: str | None = None
        self._ended = False
        self._body: s.Body | None = None  # of version 1
        self._is_v1 = False

    def run(self, payloads: list[bytes], out: list[CanonicalEvent]) -> None:
        """Process a run of event payloads, with a fast path for more text of a block that has begun."""
        target: BlockState | None = None  # the block of the last fragment
        start = 0  # the number of its fragments before this run
        for data in payloads:
            event, state, text = self._fragment(data)
            if state is not target:
                if target is not None and self.emits:
                    out.append(merged_delta(0, target.key, target.parts, start))
                target, start = state, 0 if state is None else len(state.parts)
            if state is not None:
                state.parts.append(text)
            elif event is None:
                self.take(None, data, out)
            else:
                self._apply(event.type, event, out)
        if target is not None and self.emits:
            out.append(merged_delta(0, target.key, target.parts, start))

    def _fragment(self, data: bytes) -> tuple[Any, BlockState | None, str]:
        """Return block and text of an event with more text of a block that has begun.

        For any other event, return the event if it is well-formed, else None, and no block.
        """
        try:
            event = s.decode_event_v1(data) if self._is_v1 else s.decode_event(data)
        except UNFIT:
            return None, None, ""
        state: BlockState | None
        text: str | None
        if type(event) is s.ContentFragment:
            state, content = self._contents.get(event.at), event.delta.message.content
            kind = None if state is None else state.kind
            text = content.text if kind == "text" else content.thinking if kind == "thinking" else None
            if (content.text if kind == "thinking" else content.thinking) is not None and kind is not None:
                text = None  # it has both members
        elif type(event) is s.CallFragment:
            state, text = self._calls.get(event.at), event.delta.message.tool_calls.function.arguments
        elif type(event) is s.PlanFragment:
            state, text = self._plan, event.delta.message.tool_plan
        elif type(event) is s.TextFragmentV1:
            state, text = self._contents.get(0), event.text
        else:
            return event, None, ""
        if state is None or not text or self._ended:
            return None, None, ""
        return event, state, text

    def event(self, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        if data == b"[DONE]":
            return
        event = _reader.read(data, self._notes)
        if self._notes:
            self._context.report_notes(self._notes)
        kind = event.type
        if kind in s.EVENTS:
            self._apply(kind, event, out)
        elif kind is None and event.event_type is not None:
            self._is_v1 = True
            self._apply_v1(event, data, out)
        elif kind == "debug":
            self._extra["prompt"] = event.prompt
        elif kind is None or name == "error":
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self._report_unknown(kind, data)

    def _report_unknown(self, kind: str, data: bytes) -> None:
        self._context.find("unknown-event", f"event {kind!r}")
        self._extra.setdefault("events", []).append(json_codec.decode_or_text(data))

    def _apply(self, kind: str | None, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        """Process an event of a type in `schema.EVENTS`."""
        self._extra.update(s.carry_event(event))
        if event.logprobs is not None:
            self._extra.setdefault("logprobs", []).append(event.logprobs)
        delta = event.delta
        piece = None if delta is None else delta.message
        if piece is not None:
            self._message.update(s.carry_piece(piece))
        if self._ended and piece is not None:
            self._context.find_once("event-after-end", f"{kind} after message-end")
        match kind:
            case "message-start":
                self._begin(event, piece, out)
            case "message-end":
                self._end(event, out)
            case "content-start" | "content-delta" if piece is not None and isinstance(piece.content, s.ContentPiece):
                if kind == "content-start":
                    self._start_content(event.index, piece.content, out)
                else:
                    self._continue_content(event.index, piece.content, out)
            case "tool-call-start" | "tool-call-delta" if piece is not None and isinstance(piece.tool_calls, s.Call):
                if kind == "tool-call-start":
                    self._start_call(event.index, piece.tool_calls, out)
                else:
                    self._continue_call(event.index, piece.tool_calls, out)
            case "tool-plan-delta" if piece is not None and piece.tool_plan:
                self._add_plan(piece.tool_plan, out)
            case "citation-start" if piece is not None and piece.citations:
                cited = piece.citations
                self._citations += cited if isinstance(cited, list) else [cited]
            case "content-end":
                self._stop_block(self._contents.get(event.index), out)
            case "tool-call-end":
                self._stop_block(self._calls.get(event.index), out)

    def _begin(self, event: s.EventMembers, piece: s.MessagePiece | None, out: list[CanonicalEvent]) -> None:
        if self._id is not None and self._all:
            self._context.find("event-after-end", "a second message-start")
            return
        self._id = event.id
        if piece is None:
            return
        if piece.tool_plan:
            self._add_plan(piece.tool_plan, out)
        for index, content in enumerate(piece.content if isinstance(piece.content, list) else ()):
            self._stop_block(self._start_content(index, content, out), out)
        for index, call in enumerate(piece.tool_calls if isinstance(piece.tool_calls, list) else ()):
            self._stop_block(self._start_call(index, call, out), out)
        if isinstance(piece.citations, list):
            self._citations += piece.citations

    def _end(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        self._ended = True
        delta = event.delta
        if delta is None:
            return
        self._extra.update(s.carry_delta(delta))
        if delta.finish_reason:
            self._stop = delta.finish_reason
            out.append(ChoiceStop(0, Stop(reason_of(delta.finish_reason), delta.finish_reason)))
        self._update_usage(delta.usage, out)
        if delta.error is not None:
            self.fail(delta.error, out)

    def _update_usage(self, figures: dict[str, Any] | None, out: list[CanonicalEvent]) -> None:
        found = usage(figures)
        if found is not None:
            self._usage = found
            out.append(UsageUpdate(found))

    def _add(self, kind: str, start: Any, out: list[CanonicalEvent], implied: bool = False) -> BlockState:
        """Begin a block."""
        state = BlockState(kind, len(self._all), start, implied)
        self._all.append(state)
        id = name = None
        if isinstance(start, s.Call):
            id, name = start.id, None if start.function is None else start.function.name
        out.append(BlockStart(0, state.key, state.block_type, id, name))
        return state

    @staticmethod
    def _extend(state: BlockState, text: str | None, out: list[CanonicalEvent]) -> None:
        if text:
            state.parts.append(text)
            out.append(BlockDelta(0, state.key, text))

    @staticmethod
    def _stop_block(state: BlockState | None, out: list[CanonicalEvent]) -> None:
        if state is not None and not state.stopped:
            state.stopped = True
            out.append(BlockStop(0, state.key))

    def _add_plan(self, text: str, out: list[CanonicalEvent]) -> None:
        if self._plan is None:
            self._plan = self._add("plan", None, out)
        self._extend(self._plan, text, out)

    def _start_content(self, index: int | None, piece: s.ContentPiece, out: list[CanonicalEvent]) -> BlockState:
        member, text = content_text(piece)
        state = self._contents[index] = self._add(piece.type or member, piece, out)
        self._extend(state, text, out)
        return state

    def _continue_content(self, index: int | None, piece: s.ContentPiece, out: list[CanonicalEvent]) -> None:
        member, text = content_text(piece)
        if not text:
            return
        state = self._contents.get(index)
        if state is None or not state.takes(member):
            message = f"{member} with the index {index}, where no such content began"
            self._context.find_once("delta-misplaced", message)
            alike = [other for other in self._all if other.kind == member]
            state = alike[-1] if alike else self._add(member, s.ContentPiece(), out, implied=True)
            if index not in self._contents:
                self._contents[index] = state
        self._extend(state, text, out)
        other = piece.thinking if member == "text" else None
        if other:
            self._continue_content(index, s.ContentPiece(thinking=other), out)

    def _arguments(self, call: s.Call) -> str | None:
        if call.function is None:
            return None
        respell_arguments(call.function, "arguments", self._context)
        return call.function.arguments

    def _start_call(self, index: int | None, call: s.Call, out: list[CanonicalEvent]) -> BlockState:
        text = self._arguments(call)
        state = self._calls.get(index)
        if state is not None and not state.stopped:
            held: s.Call = state.start
            if state.implied:  # its fragments came before its start
                state.start, state.implied = call, False
                self._extend(state, text, out)
                return state
            if call.id is not None and call.id == held.id and _name(call) == _name(held):
                self._context.find_once("duplicate-call", f"{_name(call)} ({call.id}) began twice")
                return state
        if state is not None:
            message = f"{_name(call)} ({call.id}) has the index {index} of an earlier call"
            self._context.find("index-reused", message, 0)
        state = self._calls[index] = self._add("call", call, out)
        self._extend(state, text, out)
        return state

    def _continue_call(self, index: int | None, call: s.Call, out: list[CanonicalEvent]) -> None:
        text = self._arguments(call)
        if not text:
            return
        state = self._calls.get(index)
        if state is None:
            if index is None and (begun := [other for other in self._all if other.kind == "call"]):
                self._context.find_once("index-missing")
                state = begun[-1]
            else:
                self._context.find("delta-misplaced", f"arguments with the index {index}, where no call began", 0)
                state = self._calls[index] = self._add("call", s.Call(), out, implied=True)
        self._extend(state, text, out)

    def _apply_v1(self, event: s.Event, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process an event of version 1."""
        match event.event_type:
            case "stream-start":
                self._id = event.generation_id
            case "text-generation":
                self._add_text_v1(event.text, out)
            case "tool-calls-chunk":
                self._add_chunk_v1(event.tool_call_delta or s.CallDelta(), event.text, out)
            case "tool-calls-generation":
                self._complete_v1(event.text, event.tool_calls, out)
            case "citation-generation":
                self._citations += event.citations or ()
            case "search-queries-generation" | "search-results":
                for member in ("search_queries", "search_results", "documents"):
                    if (value := getattr(event, member)) is not None:
                        self._extra[member] = value
            case "debug":
                self._extra["prompt"] = event.prompt
            case "stream-end":
                self._end_v1(event, out)
            case kind:
                self._report_unknown(str(kind), data)

    def _add_text_v1(self, text: str | None, out: list[CanonicalEvent]) -> None:
        if text:
            state = self._contents.get(0)
            if state is None:
                state = self._contents[0] = self._add("text", s.ContentPiece(), out)
            self._extend(state, text, out)

    def _add_chunk_v1(self, delta: s.CallDelta, text: str | None, out: list[CanonicalEvent]) -> None:
        self._add_text_v1(delta.text or text, out)
        index = None if delta.index is None else int(delta.index)
        if delta.name is not None:
            self._calls[index] = self._add("call", s.Call(function=s.Function(name=delta.name)), out)
        respell_arguments(delta, "parameters", self._context)
        if delta.parameters:
            self._continue_call(index, s.Call(function=s.Function(arguments=delta.parameters)), out)

    def _complete_v1(self, text: str | None, calls: list[s.CallV1] | None, out: list[CanonicalEvent]) -> None:
        """Add the text and the calls of an event with all of them, as far as they were not streamed."""
        if 0 not in self._contents:
            self._add_text_v1(text, out)
        begun = [state for state in self._all if state.kind == "call"]
        for number, call in enumerate(calls or ()):
            arguments = arguments_text(call)
            if number == len(begun):
                start = s.Call(function=s.Function(name=call.name), extra_=call.extra_)
                begun.append(self._add("call", start, out))
                self._extend(begun[number], arguments, out)
            state = begun[number]
            if by_value("".join(state.parts)) != by_value(arguments):
                self._context.find("arguments-disagree", f"{call.name}: the call differs from its fragments")
                state.parts = [arguments]
                out.append(BlockReset(0, state.key, arguments))
            self._stop_block(state, out)

    def _end_v1(self, event: s.Event, out: list[CanonicalEvent]) -> None:
        self._ended = True
        self._body = body = event.response or s.Body()
        self._complete_v1(body.text, body.tool_calls, out)
        self._stop = event.finish_reason or body.finish_reason
        if self._stop:
            out.append(ChoiceStop(0, Stop(reason_of(self._stop), self._stop)))
        self._update_usage(body.meta, out)

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without its last event (TERM-01)."""
        complete = self._ended and self._error is None
        self._report_incomplete(complete)
        builder = CallBuilder(self._context, 0, self._id, {}, self._context.declared.names)
        calls = [state for state in self._all if state.kind == "call"]
        unfinished = frozenset(
            number for number, state in enumerate(calls) if state.implied or not (complete or state.stopped)
        )
        extra = self._extra
        if self._is_v1:
            body = self._finished_v1(calls)
            builder.response_id = self._id = body.generation_id or self._id
            choice = build_choice_v1(builder, body, self._stop, unfinished)
            extra = {**extra, **s.carry_body(body)}
        else:
            choice = build_choice(builder, self._finished(calls), self._stop, unfinished)
        mark_beside_nameless(self._context, 0, choice.blocks)
        choices = [choice] if choice.blocks or complete or self._stop else []
        return self._response(self._id, None, choices, self._usage, complete, extra)

    def _finished(self, calls: list[BlockState]) -> s.Message:
        """Return the message of version 2."""
        contents = [state.content() for state in self._all if state.kind not in ("plan", "call")]
        return s.Message(
            content=contents or None,
            tool_plan=None if self._plan is None else "".join(self._plan.parts),
            tool_calls=[state.call() for state in calls] or None,
            citations=self._citations or None,
            extra_=self._message or None,
        )

    def _finished_v1(self, calls: list[BlockState]) -> s.Body:
        """Return the response of version 1: that of the last event, with the calls as they were streamed."""
        body = self._body or s.Body()
        text = self._contents.get(0)
        streamed = "" if text is None else "".join(text.parts)
        if streamed and body.text is not None and body.text != streamed:
            self._context.find("output-disagrees")
        return replace(
            body,
            text=streamed if body.text is None else body.text,
            citations=body.citations or self._citations or None,
            tool_calls=[state.call_v1() for state in calls] or None,
        )


def _name(call: s.Call) -> str | None:
    return None if call.function is None else call.function.name
