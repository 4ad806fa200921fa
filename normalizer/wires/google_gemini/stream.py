"""Decoder for streams of streamGenerateContent: canonical events as they arrive, and one response at the end.

Each event is a response with the next parts. Consecutive texts are fragments of one part, up to a signature: the
service sends it with the last fragment, or in an empty one. A call is one part; only streamed arguments
(``willContinue``) continue in the next event.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...errors import SeveralBodies, TooManyCalls
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as CanonicalEvent
from ...model import Choice, Response, Stop
from ..call_builder import MAX_CALLS
from ..decode_context import Context
from ..misplaced_arguments import mark_beside_nameless
from ..registry import has_grown
from ..schema import UNFIT, Reader
from ..stream_base import StreamBase, merged_delta
from . import schema as s
from .blocks import text_of, usage
from .decode import blocked, choice_of
from .spec import counted
from .spelling import camel_bytes
from .stream_state import CandidateState, PartState, continues, extend_call, is_text

_reader = Reader(s.GenerateContent)


class Stream(StreamBase):
    """Stream decoder for the events of streamGenerateContent, independent of their framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._id: str | None = None
        self._model: str | None = None
        self._candidates: dict[int, CandidateState] = {}
        self._figures: dict[str, Any] = {}
        self._feedback: dict[str, Any] | None = None
        self._extra: dict[str, Any] = {}

    def run(self, payloads: list[bytes], out: list[CanonicalEvent]) -> None:
        """Process a run of event payloads, with a fast path for more text of a part that has begun."""
        target: PartState | None = None  # the part of the last fragment
        index = start = 0  # its candidate, and the number of its fragments before this run
        for data in payloads:
            try:
                event = _reader.strict(data)
            except UNFIT:
                event = None
            state = None if event is None else self._fragment(event)
            if state is not target or state is None:
                if target is not None and self.emits:
                    out.append(merged_delta(index, target.key, target.texts, start))
                target, start = state, 0 if state is None else len(state.texts)
            if event is None:
                self.take(None, data, out)
            elif state is None:
                self._apply(event, data, out)
            else:
                candidate = event.candidates[0]  # type: ignore[index]
                index = candidate.index or 0
                state.texts.append(candidate.content.parts[0].text)  # type: ignore[union-attr, index, arg-type]
                if extra := s.carry_response(event):
                    self._extra.update(extra)
                if event.usage_metadata is not None:
                    self._take_figures(event.usage_metadata)
        if target is not None and self.emits:
            out.append(merged_delta(index, target.key, target.texts, start))

    def _fragment(self, event: s.GenerateContent) -> PartState | None:
        """Return the part that an event of strict form continues if it has nothing but more text; otherwise None."""
        candidates = event.candidates
        if candidates is None or len(candidates) != 1 or self._id != event.response_id:
            return None
        if self._model != event.model_version or event.error is not None or event.prompt_feedback is not None:
            return None
        candidate = candidates[0]
        content = candidate.content
        state = self._candidates.get(candidate.index or 0)
        if content is None or content.parts is None or len(content.parts) != 1 or state is None or not state.parts:
            return None
        part, last = content.parts[0], state.parts[-1]
        if not (last.open and last.texts and part.text) or last.part.thought is not part.thought:
            return None
        return None if s.carry_members(part) or s.carry_beside(candidate) else last

    def event(self, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        if data == b"[DONE]":
            return
        spelled = camel_bytes(data)
        self._context.respelled = self._context.respelled or spelled is not data
        event = _reader.read(spelled, self._notes)
        if event.error is None and name != "error" and self._notes:
            self._context.report_notes(self._notes)
        self._notes.clear()
        if name == "error":
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self._apply(event, data, out)

    def _apply(self, event: s.GenerateContent, data: bytes, out: list[CanonicalEvent]) -> None:
        if event.error is not None:
            self.fail(json_codec.decode_or_text(data), out)
        self._id = self._id or event.response_id
        self._model = self._model or event.model_version
        if event.prompt_feedback is not None:
            self._feedback = event.prompt_feedback
        extra = s.carry_response(event)
        if extra:
            self._extra.update(extra)
        for number, candidate in enumerate(event.candidates or ()):
            index = number if candidate.index is None else candidate.index
            state = self._candidates.get(index)
            if state is None:
                if len(self._candidates) >= MAX_CALLS:
                    raise TooManyCalls(f"the stream has more than {MAX_CALLS} candidates")
                state = self._candidates[index] = CandidateState(index, s.Candidate())
            self._take_candidate(state, candidate, event, out)
        if event.usage_metadata is not None:
            self._take_figures(event.usage_metadata)
            figures = usage(self._figures)
            if figures is not None and self.emits:
                out.append(UsageUpdate(figures))

    def _take_figures(self, figures: dict[str, Any]) -> None:
        """Take the figures of an event. They are cumulative, so new ones replace earlier ones."""
        self._figures = figures if self._figures.keys() <= figures.keys() else {**self._figures, **figures}

    def _take_candidate(
        self, state: CandidateState, candidate: s.Candidate, event: s.GenerateContent, out: list[CanonicalEvent]
    ) -> None:
        content = candidate.content
        if content is not None:
            if content.parts and state.candidate.finish_reason is not None:
                if candidate.finish_reason is None:
                    self._context.find_once("event-after-end", "content after the finish reason")
                elif not self._is_continued(event):
                    raise SeveralBodies("a second response after a complete one")
            for part in content.parts or ():
                self._take_part(state, part, out)
            if content.extra_ is not None:
                state.candidate.extra_ = {**(state.candidate.extra_ or {}), "content": content.extra_}
        if candidate.finish_reason is not None and candidate.finish_reason != state.candidate.finish_reason:
            reason, raw = s.finish_reason(candidate.finish_reason)
            out.append(ChoiceStop(state.index, Stop(reason or "unknown", raw)))
        state.merge(candidate)

    def _is_continued(self, event: s.GenerateContent) -> bool:
        """Return whether an event after a finish reason belongs to the same response although it has one as well.

        Servers of 2024 and some gateways send one in every event (one-api issue 1408, new-api issue 378).
        """
        grown = has_grown(counted(self._figures), counted(event.usage_metadata))
        return grown and event.response_id in (None, self._id)

    def _take_part(self, state: CandidateState, part: s.Part, out: list[CanonicalEvent]) -> None:
        if is_text(part):
            self._take_text(state, part, out)
        elif part.function_call is not None and part.text is None:
            self._take_call(state, part, part.function_call, out)
        else:
            self._begin(state, part, False, out)

    def _take_text(self, state: CandidateState, part: s.Part, out: list[CanonicalEvent]) -> None:
        text, last = part.text or "", state.last
        if last is None or not last.texts or bool(last.part.thought) != bool(part.thought):
            if not text and part.thought_signature is None:
                return  # the last event often has an empty text
            last = self._begin(state, part, True, out)
        else:
            last.part.thought_signature = part.thought_signature
        last.texts.append(text)
        if text:
            out.append(BlockDelta(state.index, last.key, text))
        if part.thought_signature is not None:
            last.open = False
            out.append(BlockStop(state.index, last.key))

    def _take_call(self, state: CandidateState, part: s.Part, call: s.FunctionCall, out: list[CanonicalEvent]) -> None:
        last = state.last
        held = None if last is None else last.part.function_call
        if last is None or held is None or not continues(held, call):
            last = self._begin(state, part, call.will_continue is True, out)
        else:
            extend_call(held, call)
            last.part.thought_signature = last.part.thought_signature or part.thought_signature
            last.open = call.will_continue is True
        if not last.open and last.part.function_call is not None:
            out.append(BlockDelta(state.index, last.key, text_of(last.part.function_call)))
            out.append(BlockStop(state.index, last.key))

    def _begin(self, state: CandidateState, part: s.Part, is_open: bool, out: list[CanonicalEvent]) -> PartState:
        begun = state.begin(part, is_open)
        if begun.key >= MAX_CALLS and part.function_call is not None:
            raise TooManyCalls(f"candidate {state.index} has more than {MAX_CALLS} parts")
        call = part.function_call
        id, name = (None, None) if call is None else (call.id, call.name)
        out.append(BlockStart(state.index, begun.key, begun.kind, id, name))
        return begun

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or if a candidate has no finish reason (TERM-01)."""
        states = sorted(self._candidates.values(), key=lambda state: state.index)
        ended = all(state.candidate.finish_reason is not None for state in states)
        was_blocked = self._feedback is not None and self._feedback.get("blockReason") is not None
        complete = self._error is None and ended and (bool(states) or was_blocked)
        self._report_incomplete(complete)
        choices: list[Choice] = [
            choice_of(self._context, self._id, state.finished(), state.index)
            for state in states
            if state.parts or complete or state.candidate.finish_reason is not None
        ]
        for choice in choices:
            mark_beside_nameless(self._context, choice.index, choice.blocks)
        choices = blocked(self._context, self._feedback, choices)
        return self._response(self._id, self._model, choices, usage(self._figures), complete, self._extra)
