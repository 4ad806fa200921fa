"""Decoder for streams of Cohere's Chat API: canonical events as they arrive, and one response at the end.

The stream collects the plan, the contents and the calls of version 2, and converts the finished message like that of a
body. The last event of version 1 contains the whole response; the earlier ones count only if it is missing.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...arguments import by_value
from ...events import BlockReset
from ...events import Event as CanonicalEvent
from ...model import Choice
from ..block_stream import NO_FRAGMENT, BlockStream, Fragment
from ..call_builder import CallBuilder, respell_arguments
from ..decode_context import Context
from ..schema import Reader
from . import schema as s
from .blocks import arguments_text, build_choice, build_choice_v1, usage
from .spec import EVENTS
from .stream_state import TEXTS, PartState, content_text


class Stream(BlockStream[PartState]):
    """Stream decoder for the payloads of events, independent of their framing.

    A content has its index on the wire, and a call ``("call", index)``.
    """

    reader = Reader(s.Event)
    decode_event = staticmethod(s.decode_event)
    fragments = frozenset((s.ContentFragment, s.CallFragment, s.PlanFragment, s.TextFragmentV1))
    state_type = PartState
    most = float("inf")
    repeats_bytes = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._citations: list[Any] = []
        self._message: dict[str, Any] = {}  # members of the message that no block represents
        self._body: s.Body | None = None  # of version 1
        self._is_v1 = False

    def fragment(self, event: Any) -> Fragment:
        """See `BlockStream.fragment`."""
        struct = type(event)
        if self.ended:
            return NO_FRAGMENT
        if struct is s.ContentFragment:
            content = event.delta.message.content
            if content.text is None:
                return event.at, "thinking", content.thinking
            return event.at, "text", content.text if content.thinking is None else None
        if struct is s.CallFragment:
            return ("call", event.at), "call", event.delta.message.tool_calls.function.arguments
        if struct is s.PlanFragment:
            return "plan", "plan", event.delta.message.tool_plan
        if struct is s.TextFragmentV1 and (state := self.by_index.get(0)) is not None:
            return 0, state.kind, event.text
        return NO_FRAGMENT

    def apply(self, event: Any, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """See `BlockStream.apply`."""
        kind = event.type
        if kind in EVENTS:
            self._apply(kind, event, out)
        elif kind is None and event.event_type is not None:
            self._is_v1 = True
            self.decode_event = s.decode_event_v1
            self._apply_v1(event, data, out)
        elif kind == "debug":
            self.extra["prompt"] = event.prompt
        elif kind is None or name == "error":
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self.unknown(f"event {kind!r}", json_codec.decode_or_text(data))

    def _apply(self, kind: str | None, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        """Process an event of a type in `spec.EVENTS`."""
        self.extra.update(s.carry_event(event))
        if event.logprobs is not None:
            self.extra.setdefault("logprobs", []).append(event.logprobs)
        delta = event.delta
        piece = None if delta is None else delta.message
        if piece is not None:
            self._message.update(s.carry_piece(piece))
        if self.ended and piece is not None:
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
                self.close(self.ended_by(event.index), out)
            case "tool-call-end":
                self.close(self.ended_by(("call", event.index)), out)

    def _begin(self, event: s.EventMembers, piece: s.MessagePiece | None, out: list[CanonicalEvent]) -> None:
        if self.starts_again("message-start", event.id) and self.blocks:
            return
        self.id = event.id
        if piece is None:
            return
        if piece.tool_plan:
            self._add_plan(piece.tool_plan, out)
        for index, content in enumerate(piece.content if isinstance(piece.content, list) else ()):
            self._close(self._start_content(index, content, out), out)
        for index, call in enumerate(piece.tool_calls if isinstance(piece.tool_calls, list) else ()):
            self._close(self._start_call(index, call, out), out)
        if isinstance(piece.citations, list):
            self._citations += piece.citations

    def _end(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        self.ends()
        delta = event.delta
        if delta is None:
            return
        self.extra.update(s.carry_delta(delta))
        self.end(delta.finish_reason, out)
        self.count(usage(delta.usage), out)
        if delta.error is not None:
            self.fail(delta.error, out)

    def _add(self, kind: str, start: Any, index: Any, out: list[CanonicalEvent], implied: bool = False) -> PartState:
        state = self.by_index[index] = self.add(kind, start, index, out, None, implied)
        return state

    def _close(self, state: PartState | None, out: list[CanonicalEvent]) -> None:
        if state is not None and not state.stopped:
            self.close(state, out)

    def _add_plan(self, text: str, out: list[CanonicalEvent]) -> None:
        state = self.by_index.get("plan") or self._add("plan", None, "plan", out)
        state.stopped = True  # a plan has no end event
        self.extend(state, text, out)

    def _start_content(self, index: int | None, piece: s.ContentPiece, out: list[CanonicalEvent]) -> PartState:
        member, text = content_text(piece)
        kind = piece.type or member
        if kind not in TEXTS:
            self._context.find_once("unknown-block", f"type {kind!r}")
        state = self._add(kind, piece, index, out) if index is None else self.open(kind, piece, index, out)
        if state.start is piece:
            self.extend(state, text, out)
        return state

    def _continue_content(self, index: int | None, piece: s.ContentPiece, out: list[CanonicalEvent]) -> None:
        member, text = content_text(piece)
        if not text:
            return
        state = self.by_index.get(index)
        if state is None or not state.takes(member):
            message = f"{member} with the index {index}, where no such content began"
            self._context.find_once("delta-misplaced", message)
            alike = [other for other in self.blocks if other.kind == member]
            state = alike[-1] if alike else self.add(member, s.ContentPiece(), index, out, implied=True)
            self.by_index.setdefault(index, state)
        self.extend(state, text, out)
        other = piece.thinking if member == "text" else None
        if other:
            self._continue_content(index, s.ContentPiece(thinking=other), out)

    def _arguments(self, call: s.Call) -> str | None:
        if call.function is None:
            return None
        respell_arguments(call.function, "arguments", self._context)
        return call.function.arguments

    def _start_call(self, index: int | None, call: s.Call, out: list[CanonicalEvent]) -> PartState:
        text = self._arguments(call)
        state = self.open("call", call, ("call", index), out)
        if state.start is call:
            self.extend(state, text, out)
        return state

    def label(self, index: Any) -> str:
        """See `BlockStream.label`."""
        return f"call {index[1]}" if isinstance(index, tuple) else super().label(index)

    def _continue_call(self, index: int | None, call: s.Call, out: list[CanonicalEvent]) -> None:
        text = self._arguments(call)
        state = self.by_index.get(("call", index))
        if state is not None and call.function is not None:
            held = state.start.function = state.start.function or s.Function()
            held.name = held.name or call.function.name
        if not text:
            return
        if state is None:
            if index is None and (begun := [other for other in self.blocks if other.kind == "call"]):
                self._context.find_once("index-missing")
                state = begun[-1]
            else:
                self._context.find("delta-misplaced", f"arguments with the index {index}, where no call began", 0)
                state = self._add("call", s.Call(), ("call", index), out, implied=True)
        self.extend(state, text, out)

    def _apply_v1(self, event: s.Event, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process an event of version 1."""
        match event.event_type:
            case "stream-start":
                self.starts_again("stream-start", event.generation_id)
                self.id = event.generation_id
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
                        self.extra[member] = value
            case "debug":
                self.extra["prompt"] = event.prompt
            case "stream-end":
                self._end_v1(event, out)
            case kind:
                self.unknown(f"event {str(kind)!r}", json_codec.decode_or_text(data))

    def _add_text_v1(self, text: str | None, out: list[CanonicalEvent]) -> None:
        if text:
            self.extend(self.by_index.get(0) or self._add("text", s.ContentPiece(), 0, out), text, out)

    def _add_chunk_v1(self, delta: s.CallDelta, text: str | None, out: list[CanonicalEvent]) -> None:
        self._add_text_v1(delta.text or text, out)
        index = None if delta.index is None else int(delta.index)
        if delta.name is not None:
            self._add("call", s.Call(function=s.Function(name=delta.name)), ("call", index), out)
        respell_arguments(delta, "parameters", self._context)
        if delta.parameters:
            self._continue_call(index, s.Call(function=s.Function(arguments=delta.parameters)), out)

    def _complete_v1(self, text: str | None, calls: list[s.CallV1] | None, out: list[CanonicalEvent]) -> None:
        """Add the text and the calls of an event with all of them, as far as they were not streamed."""
        if 0 not in self.by_index:
            self._add_text_v1(text, out)
        begun = [state for state in self.blocks if state.kind == "call"]
        for number, call in enumerate(calls or ()):
            arguments = arguments_text(call)
            if number == len(begun):
                start = s.Call(function=s.Function(name=call.name), extra_=call.extra_)
                begun.append(self.add("call", start, None, out))
                self.extend(begun[number], arguments, out)
            state = begun[number]
            if by_value("".join(state.parts)) != by_value(arguments):
                self._context.find("arguments-disagree", f"{call.name}: the call differs from its fragments")
                state.parts = [arguments]
                out.append(BlockReset(0, state.key, arguments))
            self._close(state, out)

    def _end_v1(self, event: s.Event, out: list[CanonicalEvent]) -> None:
        self.ends()
        self._body = body = event.response or s.Body()
        self._complete_v1(body.text, body.tool_calls, out)
        self.stop = None
        self.end(event.finish_reason or body.finish_reason, out)
        self.count(usage(body.meta), out)

    def choice(self, builder: CallBuilder, complete: bool) -> Choice:
        """See `BlockStream.choice`."""
        calls = [state for state in self.blocks if state.kind == "call"]
        unfinished = frozenset(
            number
            for number, state in enumerate(calls)
            if state.implied or state.contested or not (state.stopped or (complete and not self.lacks_arguments(state)))
        )
        if complete and not self._is_v1:
            self.report_missing()
        if self._is_v1:
            body = self._finished_v1(calls)
            builder.response_id = self.id = body.generation_id or self.id
            choice = build_choice_v1(builder, body, self.stop, unfinished)
            self.extra = {**self.extra, **s.carry_body(body)}
        else:
            choice = build_choice(builder, self._finished(calls), self.stop, unfinished)
        return choice

    def _finished(self, calls: list[PartState]) -> s.Message:
        """Return the message of version 2."""
        plan = self.by_index.get("plan")
        contents = [state.content() for state in self.blocks if state.kind not in ("plan", "call")]
        return s.Message(
            content=contents or None,
            tool_plan=None if plan is None else "".join(plan.parts),
            tool_calls=[state.call() for state in calls] or None,
            citations=self._citations or None,
            extra_=self._message or None,
        )

    def _finished_v1(self, calls: list[PartState]) -> s.Body:
        """Return the response of version 1: that of the last event, with the calls as they were streamed."""
        body = self._body or s.Body()
        text = self.by_index.get(0)
        streamed = "" if text is None else "".join(text.parts)
        if streamed and body.text is not None and body.text != streamed:
            self._context.find("output-disagrees")
        return replace(
            body,
            text=streamed if body.text is None else body.text,
            citations=body.citations or self._citations or None,
            tool_calls=[state.call_v1() for state in calls] or None,
        )
