"""Decode a stream of Chat Completions chunks into canonical events and, at its end, one response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ... import json_codec, model
from ...errors import TooManyCalls
from ...events import ChoiceStop, Event, UsageUpdate
from ...model import Response, Stop, Usage
from ..call_builder import MAX_CALLS, CallBuilder
from ..decode_context import Context
from ..delta_template import ATTEMPTS, DeltaTemplate
from ..limits import Limits
from ..schema import UNFIT, Reader
from ..stream_base import merged_delta
from . import schema as s
from .blocks import build_choice, stop_reason, usage, usage_beside
from .decode_fast import regular_choice
from .routing import CallRouter, Doubts, StreamedCall
from .stream_deltas import DeltaStream
from .stream_state import ChoiceState

DONE = b"[DONE]"
_reader = Reader(s.Body)
#: After this many chunks that do not fit the fast path, the server uses a dialect and the fast path is turned off.
_PATIENCE = 8
#: What a chunk appends to a block: the fragments so far, the index of the choice, the key of the block, and the text.
_More = tuple[list[str], int, int, str]
_NOTHING = None, None


def _carries(choice: s.ChoicePiece) -> bool:
    """Return whether the response keeps a member of the choice in ``extra``."""
    return not (
        choice.logprobs is None
        and choice.native_finish_reason is None
        and choice.content_filter_results is None
        and choice.matched_stop is None
    )


def _more_text(state: ChoiceState, delta: s.DeltaPiece) -> _More | None:
    """Return what a delta without calls appends if it only continues text or reasoning; None for any other."""
    content, details = delta.content, delta.reasoning_details
    thought = delta.reasoning_content or delta.reasoning
    if delta.channel is not None and state.extra.get("message", {}).get("channel") != delta.channel:
        return None
    if thought:
        key = state.keys.get("reasoning")
        member = "reasoning_content" if delta.reasoning_content else "reasoning"
        if content or key is None or state.member != member:
            return None
        if details:
            state.details.add(details)
        return state.reasoning, state.index, key, thought
    key = state.keys.get("text")
    if details or key is None or not content or type(content) is not str:
        return None
    return state.content, state.index, key, content


def _more_arguments(state: ChoiceState, delta: s.DeltaPiece) -> tuple[_More | None, StreamedCall | None]:
    """Return what a delta with calls appends, and its call, if it only continues the arguments of an announced call."""
    calls = delta.tool_calls
    if calls is None or len(calls) != 1 or delta.content or delta.reasoning_content or delta.reasoning:
        return _NOTHING
    call = calls[0]
    function = call.function
    if function is None or call.id is not None or function.name is not None or call.type not in (None, "function"):
        return _NOTHING
    text = function.arguments
    owner = state.calls.owner(call.index)
    if not text or text[0] == "{" or owner is None or owner.key < 0 or owner.kind == "custom":
        return _NOTHING
    if delta.reasoning_details or delta.channel is not None:
        return _NOTHING
    owner.length += len(text)
    return (owner.parts, state.index, owner.key, text), owner


class Stream(DeltaStream):
    """Decoder for the payloads of one stream; the caller removes the framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._lenient = False  # whether the server uses a dialect that the strict schema rejects
        self._choices: dict[int, ChoiceState] = {}
        self._misses = 0  # chunks that did not fit the fast path
        self._template: DeltaTemplate | None = None  # the form of the last chunk, if it only continued a block
        self._id: str | None = None
        self._ids: set[str] = set()  # of the first chunk, and of those with a stop reason
        self._model: str | None = None
        self._extra: dict[str, Any] = {}
        self._figures: Usage | None = None
        self._has_usage = False  # whether usage came in the documented member
        self._done = False

    def run(self, payloads: list[bytes], out: list[Event]) -> DeltaTemplate | None:
        """See `StreamBase.run`.

        The fast path handles chunks that only continue text, reasoning or arguments. `_add_piece` handles the other
        regular chunks, and `take` all others.
        """
        if self._misses >= _PATIENCE:
            return super().run(payloads, out)
        self._run_of_several(payloads, out)
        return self._template

    def _run_of_several(self, payloads: list[bytes], out: list[Event]) -> None:
        """See `run`."""
        pieces: list[s.Piece] = []
        target: list[str] | None = None  # the fragments of the block that the last chunk continued
        start = index = key = 0  # their number before these chunks, and the block
        for data in payloads:
            template = self._template
            more: _More | None = None
            piece: s.Piece | None = None
            if template is not None and (text := template.text(data)) is not None:
                self.attempts = ATTEMPTS
                if not text:
                    continue
                more = template.parts, template.choice, template.key, text
            elif data != DONE:
                self._template = None
                try:
                    piece = s.decode_piece(data)
                except UNFIT:
                    self._misses += 1
                else:
                    pieces.append(piece)
                    more = self._continued(piece, data)
            if more is None:
                if target is not None and self.emits:
                    out.append(merged_delta(index, key, target, start))
                target = None
                if piece is not None:
                    self._add_piece(piece, data, out)
                else:
                    self._carry(pieces)
                    pieces = []
                    self.take(None, data, out)
                continue
            if more[0] is not target:
                if target is not None and self.emits:
                    out.append(merged_delta(index, key, target, start))
                target, index, key, _ = more
                start = len(target)
            target.append(more[3])
        if target is not None and self.emits:
            out.append(merged_delta(index, key, target, start))
        self._carry(pieces)

    def _continued(self, piece: s.Piece, data: bytes) -> _More | None:
        """Return what a chunk appends if it only continues a block, and learn its form; None for any other chunk."""
        choices = piece.choices
        if len(choices) != 1 or piece.usage is not None:
            return None
        choice = choices[0]
        state = self._choices.get(choice.index)
        if state is None or state.stop or choice.finish_reason is not None or _carries(choice):
            return None
        if self._done or self.failed:
            return None  # the chunk can be of another response
        delta = choice.delta
        call = None
        if delta.tool_calls is None:
            more = _more_text(state, delta)
        else:
            more, call = _more_arguments(state, delta)
        if more is not None:
            parts, index, key, text = more
            copies = state.details.texts if delta.reasoning_details else None
            if not delta.reasoning_details or (len(delta.reasoning_details) == 1 and copies is not None):
                self._template = self.learn(data, text, parts, index, key, call, copies)
        return more

    def _add_piece(self, piece: s.Piece, data: bytes, out: list[Event]) -> None:
        """Add a regular chunk, except the members that `_carry` adds."""
        for choice in piece.choices:
            state = self._choices.get(choice.index)
            if state is None:
                state = self._begin(choice.index, piece.id)
            self._check(state, piece.id, data)
            delta, begun = choice.delta, len(state.keys)
            calls = None if delta.tool_calls is None else [call.call() for call in delta.tool_calls]
            self._add_content(state, delta.content, calls, delta.reasoning_content, out)
            if delta.reasoning or delta.reasoning_details:
                self._add_reasoning(state, delta, out)
            if delta.channel is not None:
                state.extra.setdefault("message", {})["channel"] = delta.channel
            if _carries(choice):
                state.extra.update(s.carry_choice_piece(choice))
            if choice.finish_reason:
                self._end(state, choice, piece.usage, piece.id, out)
            elif len(state.keys) > begun and calls is None and not delta.reasoning_details:
                self._continued(piece, data)  # the next chunk often has the form of the one that began the block
        if piece.usage is not None:
            self._count(piece.usage, out)
            self._has_usage = True

    def _carry(self, pieces: list[s.Piece]) -> None:
        """Keep the members of chunks that do not belong to a choice. The last value of each counts."""
        if not pieces:
            return
        if self._id is None or self._model is None:
            self._identify(pieces)
        if len(pieces) == 1:
            self._extra.update(s.carry_piece(pieces[0]))
            return
        for member in s.CARRIED:
            for piece in reversed(pieces):
                if (value := getattr(piece, member)) is not None:
                    self._extra[member] = value
                    break

    def _identify(self, chunks: Iterable[s.Piece | s.Body]) -> None:
        """Set id and model from the first chunk that has them."""
        for chunk in chunks:
            self._id = self._id or chunk.id or None
            self._model = self._model or chunk.model or None

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Decode one payload and append its events to ``out``. Raises MalformedBody if it is not a JSON object."""
        if data == DONE:
            self._done = True
            self._template = None
            return
        self._template = None
        chunk = (_reader.read_leniently if self._lenient else _reader.read)(data, self._notes)
        if self._notes:
            self._lenient = True
            self._context.report_notes(self._notes)
        choices = chunk.choices
        more = chunk.x_groq is not None  # `x_groq` or a choice may hold usage
        if choices:
            for choice in choices:
                index = choice.index
                if index is None:
                    index = next(number for number, other in enumerate(choices) if other is choice)
                state = self._choices.get(index)
                if state is None:
                    state = self._begin(index, chunk.id)
                self._check(state, chunk.id, data)
                if choice.delta is not None:
                    self._add_message(state, choice.delta, out)
                if choice.message is not None:
                    self._add_whole(state, choice.message, out)
                carried = s.carry_choice(choice)
                if carried:
                    more = True
                    state.extra.update(carried)
                if choice.finish_reason:
                    self._end(state, choice, chunk.usage, chunk.id, out)
                if choice.error:
                    self.fail(choice.error, out)
        if chunk.usage is not None:
            self._count(chunk.usage, out)
            self._has_usage = True
        elif more and not self._has_usage:
            self._count(usage_beside(chunk), out)
        if chunk.error or (choices is None and chunk.usage is None):
            self._handle_unusual(name, chunk, data, out)
        if self._id is None or self._model is None:
            self._identify((chunk,))
        self._extra.update(s.carry_body(chunk))

    def limits(self) -> Limits:
        """See `StreamBase.limits`."""
        finished = frozenset(index for index, state in self._choices.items() if state.stop)
        return Limits(self._ids, ended=self._done, failed=self.failed, finished=finished)

    def _check(self, state: ChoiceState, id: str | None, data: bytes) -> None:
        """Raise SeveralBodies if a chunk belongs to another response. Before the end, one with a known id does not."""
        if self._done or ((state.stop or self.failed) and id not in self._ids):
            self.check_same(data)

    def _begin(self, index: int, id: str | None) -> ChoiceState:
        if id and not self._choices:
            self._ids.add(id)
        if len(self._choices) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} choices", hint="the stream is not a valid response")
        state = self._choices[index] = ChoiceState(index, CallRouter(self._context))
        return state

    def _count(self, raw: dict[str, Any] | None, out: list[Event]) -> None:
        if raw is not None:
            self._figures = usage(raw)
            if self._figures is not None:
                out.append(UsageUpdate(self._figures))

    def _end(self, state: ChoiceState, choice: Any, figures: Any, id: str | None, out: list[Event]) -> None:
        """Record the stop reason. The last one counts, and a repeated one emits no event (FIN-01, XAI-04).

        Several providers send it in a separate chunk and again with the usage. Only a chunk that adds nothing to the
        last one with a stop reason is reported.
        """
        if id:
            self._ids.add(id)
        raw, end, last = choice.finish_reason, (msgspec.to_builtins(choice), figures), state.end
        if last is not None and figures == last[1] and _set(end[0]) == _set(last[0]):
            calls = state.calls.all or state.functions is not None
            self.report_repeated(f"end of choice {state.index}", bool(calls))
        state.end = end
        if raw != state.stop:
            state.stop = raw
            out.append(ChoiceStop(state.index, Stop(stop_reason(raw, state.extra) or "unknown", raw)))

    def _handle_unusual(self, name: str | None, chunk: s.Body, data: bytes, out: list[Event]) -> None:
        """Handle a chunk with an error, or without choices and usage. Fail if it is an error in mid-stream (SSE-07)."""
        if chunk.error or name == "error" or (chunk.extra_ and not chunk.id):
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self.check_known(json_codec.decode_or_text(data))

    @property
    def is_whole(self) -> bool:
        """See `StreamBase.is_whole`."""
        states = self._choices.values()
        return self._error is None and bool(states) and (self._done or all(state.stop for state in states))

    @property
    def is_over(self) -> bool:
        """See `StreamBase.is_over`. The usage can follow the stop reasons."""
        return self._done and self.is_whole

    def finish(self) -> Response:
        """Return the response; it is incomplete if neither stop reasons nor [DONE] arrived (failure TERM-01)."""
        complete = self.is_whole
        self._report_incomplete(complete)
        states = [self._choices[index] for index in sorted(self._choices)]
        choices = [self._choice(state, not complete and not state.stop) for state in states]
        return self._response(self._id, self._model, choices, self._figures, complete, s.in_order(self._extra))

    def _choice(self, state: ChoiceState, broken_off: bool) -> model.Choice:
        builder = CallBuilder.of(self._context, state.index, self._id)
        if state.stop and state.is_regular and not state.calls.is_unusual:
            text = "".join(state.content)
            calls = [(call.id, call.name, call.text) for call in state.calls.all]
            choice = regular_choice(builder, state.stop, state.extra, state.thoughts(), text, calls)
            if choice is not None:
                return choice
        builder = CallBuilder.of(self._context, state.index, self._id)
        doubts = Doubts()
        message = state.message(doubts)
        return build_choice(builder, message, state.stop, state.extra, broken_off, state.function_calls(), doubts)


def _set(value: Any) -> Any:
    """Return JSON without the members that are not set, which depend on the type by which a chunk was decoded."""
    if isinstance(value, dict):
        return {name: kept for name, each in value.items() if (kept := _set(each)) not in (None, "", [], {})}
    return value
