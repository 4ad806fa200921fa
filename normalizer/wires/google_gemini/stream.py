"""Decoder for streams of streamGenerateContent: canonical events as they arrive, and one response at the end.

Each event is a response with the next parts. Consecutive texts are fragments of one part, up to a signature: the
service sends it with the last fragment, or in an empty one. A call is one part; only streamed arguments
(``willContinue``) continue in the next event.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...errors import TooManyCalls
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as CanonicalEvent
from ...model import Choice, Reasoning, Response, Stop
from ..block_stream import NO_FRAGMENT, BlockStream, Fragment
from ..call_builder import MAX_CALLS
from ..decode_context import Context
from ..limits import Limits
from ..schema import Reader
from . import schema as s
from .blocks import text_of, usage
from .decode import blocked, choice_of
from .spec import counted
from .spelling import camel_bytes
from .stream_state import CandidateState, PartState, continues, extend_call, is_text


class Stream(BlockStream[PartState]):
    """Stream decoder for the events of streamGenerateContent, independent of their framing.

    The table of blocks has the last part of each candidate.
    """

    reader = Reader(s.GenerateContent)
    decode_event = staticmethod(reader.strict)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._candidates: dict[int, CandidateState] = {}
        self._figures: dict[str, Any] = {}
        self._ids: set[str] = set()  # of the events with a finish reason
        self._feedback: dict[str, Any] | None = None

    def fragment(self, event: s.GenerateContent) -> Fragment:
        """See `BlockStream.fragment`. Keep the members beside the text and the usage."""
        candidates = event.candidates
        if candidates is None or len(candidates) != 1 or self.id != event.response_id:
            return NO_FRAGMENT
        if self.model != event.model_version or event.error is not None or event.prompt_feedback is not None:
            return NO_FRAGMENT
        candidate = candidates[0]
        content = candidate.content
        last = self.by_index.get(candidate.index or 0)
        if content is None or content.parts is None or len(content.parts) != 1 or last is None:
            return NO_FRAGMENT
        part = content.parts[0]
        if not (last.open and last.parts and part.text) or last.start.thought is not part.thought:
            return NO_FRAGMENT
        if s.carry_members(part) or s.carry_beside(candidate):
            return NO_FRAGMENT
        if extra := s.carry_response(event):
            self.extra.update(extra)
        if event.usage_metadata is not None:
            self._take_figures(event.usage_metadata)
        return last.index, last.kind, part.text

    def event(self, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        if data == b"[DONE]":
            self.terminated = bool(self._candidates)
            self.by_index.clear()  # further text can be of another response
            return
        spelled = camel_bytes(data)
        self._context.respelled = self._context.respelled or spelled is not data
        event = self.reader.read(spelled, self._notes)
        if event.error is None and name != "error" and self._notes:
            self._context.report_notes(self._notes)
        self._notes.clear()
        if name == "error":
            self.fail(json_codec.decode_or_text(data), out)
        else:
            self.apply(event, name, data, out)

    def apply(self, event: s.GenerateContent, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """See `BlockStream.apply`."""
        if event.error is not None:
            self.fail(json_codec.decode_or_text(data), out)
        elif event.candidates is None and event.usage_metadata is None and event.prompt_feedback is None:
            self.check_known(json_codec.decode_or_text(data))
        self.model = self.model or event.model_version
        if event.prompt_feedback is not None:
            self._feedback = event.prompt_feedback
        extra = s.carry_response(event)
        if extra:
            self.extra.update(extra)
        for number, candidate in enumerate(event.candidates or ()):
            index = number if candidate.index is None else candidate.index
            state = self._candidates.get(index)
            if state is None:
                if len(self._candidates) >= MAX_CALLS:
                    raise TooManyCalls(f"the stream has more than {MAX_CALLS} candidates")
                state = self._candidates[index] = CandidateState(index, s.Candidate())
            self._take_candidate(state, candidate, event, data, out)
            if candidate.finish_reason is not None:
                self.by_index.pop(index, None)  # further text can be of another response
                if event.response_id:
                    self._ids.add(event.response_id)
        self.id = self.id or event.response_id  # not before `check_same`: a first id can be that of another response
        if event.usage_metadata is not None:
            self._take_figures(event.usage_metadata)
            figures = usage(self._figures)
            if figures is not None and self.emits:
                out.append(UsageUpdate(figures))

    def _take_figures(self, figures: dict[str, Any]) -> None:
        """Take the figures of an event. They are cumulative, so new ones replace earlier ones."""
        self._figures = figures if self._figures.keys() <= figures.keys() else {**self._figures, **figures}

    def _take_candidate(
        self,
        state: CandidateState,
        candidate: s.Candidate,
        event: s.GenerateContent,
        data: bytes,
        out: list[CanonicalEvent],
    ) -> None:
        content = candidate.content
        if content is not None:
            if content.parts and (state.candidate.finish_reason is not None or self.failed or self.terminated):
                self.check_same(data)
                if candidate.finish_reason is None and state.parts:
                    self._context.find_once("event-after-end", "content after the finish reason")
            for part in content.parts or ():
                self._take_part(state, part, out)
            if content.extra_ is not None:
                state.candidate.extra_ = {**(state.candidate.extra_ or {}), "content": content.extra_}
        if candidate.finish_reason is not None:
            end = candidate, event.usage_metadata
            if end == state.end:
                has_call = any(part.is_client_call for part in state.parts)
                self.report_repeated(f"end of candidate {state.index}", has_call)
            elif candidate.finish_reason != state.candidate.finish_reason:
                reason, raw = s.finish_reason(candidate.finish_reason)
                out.append(ChoiceStop(state.index, Stop(reason or "unknown", raw)))
            state.end = end
        state.merge(candidate)

    def limits(self) -> Limits:
        """See `StreamBase.limits`.

        Servers of 2024 and some gateways send a finish reason in every event (one-api issue 1408, new-api issue 378).
        """
        return Limits(
            self._ids | ({self.id} if self.id else set()),
            failed=self.failed or self.terminated,
            finished=frozenset(i for i, state in self._candidates.items() if state.candidate.finish_reason is not None),
            counted=counted(self._figures),
            empty=not any(state.parts for state in self._candidates.values()),
        )

    def _take_part(self, state: CandidateState, part: s.Part, out: list[CanonicalEvent]) -> None:
        if is_text(part):
            self._take_text(state, part, out)
        elif part.function_call is not None and part.text is None:
            self._take_call(state, part, part.function_call, out)
        else:
            self._begin(state, part, False, out)

    def _take_text(self, state: CandidateState, part: s.Part, out: list[CanonicalEvent]) -> None:
        text, last = part.text or "", state.last
        if last is None or not last.parts or bool(last.start.thought) != bool(part.thought):
            if not text and part.thought_signature is None:
                return  # the last event often has an empty text
            last = self._begin(state, part, True, out)
        else:
            last.start.thought_signature = part.thought_signature
        last.parts.append(text)
        if text:
            out.append(BlockDelta(state.index, last.key, text))
        if part.thought_signature is not None:
            last.open = False
            sealed = Reasoning(signature=part.thought_signature) if part.thought else None
            out.append(BlockStop(state.index, last.key, sealed))

    def _take_call(self, state: CandidateState, part: s.Part, call: s.FunctionCall, out: list[CanonicalEvent]) -> None:
        last = state.last
        held = None if last is None else last.start.function_call
        if last is None or held is None or not continues(held, call):
            last = self._begin(state, part, call.will_continue is True, out)
        else:
            extend_call(held, call)
            last.start.thought_signature = last.start.thought_signature or part.thought_signature
            last.open = call.will_continue is True
        if not last.open and last.start.function_call is not None:
            out.append(BlockDelta(state.index, last.key, text_of(last.start.function_call)))
            out.append(BlockStop(state.index, last.key))

    def _begin(self, state: CandidateState, part: s.Part, is_open: bool, out: list[CanonicalEvent]) -> PartState:
        begun = state.begin(part, is_open)
        if begun.key >= MAX_CALLS and part.function_call is not None:
            raise TooManyCalls(f"candidate {state.index} has more than {MAX_CALLS} parts")
        self.by_index[state.index] = begun
        out.append(BlockStart(state.index, begun.key, *begun.header()))
        return begun

    @property
    def is_whole(self) -> bool:
        """See `StreamBase.is_whole`."""
        states = self._candidates.values()
        ended = all(state.candidate.finish_reason is not None for state in states)
        was_blocked = self._feedback is not None and self._feedback.get("blockReason") is not None
        return self._error is None and ended and (bool(states) or was_blocked)

    @property
    def is_over(self) -> bool:
        """See `StreamBase.is_over`. Only some servers send an event after which no candidate continues."""
        return self.terminated and self.is_whole

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or if a candidate has no finish reason (TERM-01)."""
        states = sorted(self._candidates.values(), key=lambda state: state.index)
        complete = self.is_whole
        self._report_incomplete(complete)
        choices: list[Choice] = [
            choice_of(self._context, self.id, state.finished(), state.index)
            for state in states
            if state.parts or complete or state.candidate.finish_reason is not None
        ]
        choices = blocked(self._context, self._feedback, choices)
        return self._response(self.id, self.model, choices, usage(self._figures), complete, self.extra)
