"""Decoder for streams of Ollama's chat API: canonical events as they arrive, and one response at the end.

Each event has the form of a response, with the next part of its message. The last one has ``done: true``.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...errors import TooManyCalls
from ...events import Event
from ...model import Choice
from ..block_stream import NO_FRAGMENT, BlockStream, Fragment
from ..call_builder import MAX_CALLS, CallBuilder
from ..decode_context import Context
from ..schema import Reader
from . import schema as s
from .blocks import build_choice, call_builder, usage
from .stream_state import MessageBlockState


class Stream(BlockStream[MessageBlockState]):
    """Stream decoder for the events of a response, independent of their framing."""

    reader = Reader(s.Body)
    decode_event = staticmethod(s.decode_piece)
    fragments = frozenset((s.Piece,))
    state_type = MessageBlockState
    terminator = None
    most = float("inf")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._message: dict[str, Any] = {}  # members of the message that have no canonical field
        self._logprobs: list[Any] = []
        self._end: bytes | None = None  # the last event, whose repetition adds no calls

    def fragment(self, event: s.Piece) -> Fragment:
        """See `BlockStream.fragment`. The time of the last event counts."""
        if event.done or self.ended or event.model != self.model:
            return NO_FRAGMENT
        if event.created_at is not None:
            self.extra["created_at"] = event.created_at
        message = event.message
        if not message.content:
            return "reasoning", "reasoning", message.thinking
        return ("text", "text", message.content) if not message.thinking else NO_FRAGMENT

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """See `BlockStream.event`. The schema describes responses, and not errors."""
        body = self.reader.read(data, self._notes)
        if body.error is not None:
            self._notes.clear()
        elif self._notes:
            self._context.report_notes(self._notes)
        self.apply(body, name, data, out)

    def apply(self, event: s.Body, name: str | None, data: bytes, out: list[Event]) -> None:
        """See `BlockStream.apply`."""
        if event.error is not None:
            self.fail(json_codec.decode_or_text(data), out)
            return
        if event.message is None and event.done is None:
            self.unknown("an event without a message", json_codec.decode_or_text(data))
            return
        if self.ended:
            self.check_same(data)
        if self.ended and not event.done:
            self._context.find("event-after-end", "an event after the last one")
        self.model = event.model or self.model
        self.extra.update(s.carry_body(event))
        if event.logprobs:
            self._logprobs += event.logprobs
        if event.message is not None and data != self._end:
            self._extend(event.message, out)
        if event.done:
            self._end = data
            self.ends()
            self.end(event.done_reason, out)
            self.count(usage(event) or self.usage, out)

    def _extend(self, message: s.Message, out: list[Event]) -> None:
        """Add the next part of the message."""
        self._message.update(s.carry_message(message))
        for kind, text in (("reasoning", message.thinking), ("text", message.content)):
            if text:
                state = self.by_index.get(kind)
                if state is None:
                    state = self.by_index[kind] = self.add(kind, None, kind, out)
                self.extend(state, text, out)
        for call in message.tool_calls or ():
            if len(self.blocks) - len(self.by_index) >= MAX_CALLS:
                raise TooManyCalls(f"more than {MAX_CALLS} calls", hint="the stream is not a valid response")
            self.close(self.add("tool_call", call, None, out), out)

    def _text(self, kind: str) -> str:
        return "".join(self.by_index[kind].parts) if kind in self.by_index else ""

    def choice(self, builder: CallBuilder, complete: bool) -> Choice:
        """See `BlockStream.choice`."""
        if self._logprobs:
            self.extra["logprobs"] = self._logprobs
        return build_choice(
            call_builder(self._context, self.extra.get("created_at")),
            self._text("reasoning"),
            self._text("text"),
            [state.call for state in self.blocks if state.call is not None],
            self.stop,
            {"message": self._message} if self._message else {},
        )
