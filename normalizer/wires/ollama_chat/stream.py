"""Decoder for streams of Ollama's chat API: canonical events as they arrive, and one response at the end.

Each event has the form of a response, with the next part of its message. The last one has ``done: true``.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, Event, UsageUpdate
from ...model import Response, Stop, Usage
from ..decode_context import Context
from ..schema import UNFIT, Reader
from ..stop_words import reason_of
from ..stream_base import StreamBase, merged_delta
from .blocks import argument_text, build_choice, call_builder, usage
from .schema import Body, Call, Message, carry_body, carry_message, decode_piece
from .stream_state import MessageState

_reader = Reader(Body)


class Stream(StreamBase):
    """Stream decoder for the events of a response, independent of their framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._message = MessageState()
        self._model: str | None = None
        self._usage: Usage | None = None
        self._extra: dict[str, Any] = {}
        self._logprobs: list[Any] = []
        self._stop: str | None = None
        self._ended = False

    def run(self, payloads: list[bytes], out: list[Event]) -> None:
        """Process a run of events, with a fast path for more text of a block that has begun."""
        state = self._message
        target: list[str] | None = None  # the fragments of the block of the last event
        start = key = 0  # the number of its fragments before this run, and its key
        created_at: Any = None
        for data in payloads:
            parts = None
            try:
                piece = decode_piece(data)
            except UNFIT:
                pass
            else:
                text, kind = piece.message.content, "text"
                if not text:
                    text, kind = piece.message.thinking, "reasoning"
                elif piece.message.thinking:
                    text = ""
                if text and kind in state.keys and not (piece.done or self._ended) and piece.model == self._model:
                    parts = state.parts(kind)
            if parts is not target:
                if target is not None and self.emits:
                    out.append(merged_delta(0, key, target, start))
                target = parts
                if parts is not None:
                    start, key = len(parts), state.keys[kind]
            if parts is not None:
                parts.append(text)
                created_at = created_at if piece.created_at is None else piece.created_at
            else:
                self._extra |= {} if created_at is None else {"created_at": created_at}
                created_at = None
                self.take(None, data, out)
        if created_at is not None:
            self._extra["created_at"] = created_at
        if target is not None and self.emits:
            out.append(merged_delta(0, key, target, start))

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        body = _reader.read(data, self._notes)
        if body.error is not None:
            self._notes.clear()  # the schema describes responses
            self.fail(json_codec.decode_or_text(data), out)
            return
        if self._notes:
            self._context.report_notes(self._notes)
        if body.message is None and body.done is None:
            self._context.find("unknown-event", "an event without a message")
            self._extra.setdefault("events", []).append(json_codec.decode_or_text(data))
            return
        if self._ended:
            self._context.find("event-after-end", "an event after the last one")
        self._model = body.model or self._model
        self._extra.update(carry_body(body))
        if body.logprobs:
            self._logprobs += body.logprobs
        if body.message is not None:
            self._extend(body.message, out)
        if body.done:
            self._end(body, out)

    def _extend(self, message: Message, out: list[Event]) -> None:
        """Add the next part of the message."""
        self._message.extra.update(carry_message(message))
        for kind, text in (("reasoning", message.thinking), ("text", message.content)):
            if text:
                key = self._message.keys.get(kind)
                if key is None:
                    key = self._message.begin(kind)
                    out.append(BlockStart(0, key, kind))
                self._message.parts(kind).append(text)
                out.append(BlockDelta(0, key, text))
        for call in message.tool_calls or ():
            self._add_call(call, out)

    def _add_call(self, call: Call, out: list[Event]) -> None:
        key = self._message.add_call(call)
        out.append(BlockStart(0, key, "tool_call", call.id, call.function.name if call.function else None))
        if text := argument_text(call):
            out.append(BlockDelta(0, key, text))
        out.append(BlockStop(0, key))

    def _end(self, body: Body, out: list[Event]) -> None:
        self._ended = True
        if body.done_reason:
            self._stop = body.done_reason
            out.append(ChoiceStop(0, Stop(reason_of(body.done_reason), body.done_reason)))
        self._usage = usage(body) or self._usage
        if self._usage is not None:
            out.append(UsageUpdate(self._usage))

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without its last event (TERM-01)."""
        complete = self._ended and self._error is None
        self._report_incomplete(complete)
        state, extra = self._message, self._extra
        if self._logprobs:
            extra["logprobs"] = self._logprobs
        choice = build_choice(
            call_builder(self._context, extra.get("created_at")),
            "".join(state.thinking),
            "".join(state.content),
            state.calls,
            self._stop,
            {"message": state.extra} if state.extra else {},
        )
        choices = [choice] if choice.blocks or complete or self._stop else []
        return self._response(None, self._model, choices, self._usage, complete, extra)
