"""Decoder for streams of GetChatCompletionChunk messages: canonical events as they arrive, and one response at the end.

It does not use the SDK's accumulator, which overwrites set fields with unset ones and extends lists, so that calls are
lost or duplicated (XAI-09, XAI-10).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...events import BlockDelta, BlockReset, BlockStart, ChoiceStop, Event, UsageUpdate
from ...model import Response, Stop
from ..decode_context import Context
from ..stream_base import StreamBase
from . import schema as s
from .blocks import Output, build_choices, is_complete, usage
from .decode import keep_unknown, read_call
from .stream_state import CompleteCall, StreamedCall


class _OutputState(Struct, eq=False):
    """An output of a stream in progress.

    ``end``: the output of the last chunk with a finish reason, and the usage in it. xAI repeats the reason with usage.
    """

    index: int
    role: int = 0
    finish: int = 0
    end: Any = None
    content: list[str] = []
    reasoning: list[str] = []
    encrypted: list[str] = []
    citations: list[Any] = []
    calls: list[StreamedCall] = []
    by_id: dict[str, StreamedCall] = {}
    extra: dict[str, Any] = {}
    keys: dict[str, int] = {}


class Stream(StreamBase):
    """Stream decoder that takes one serialized message (or its protobuf JSON) per event."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._outputs: dict[int, _OutputState] = {}
        self._by_id: dict[tuple[int, str], StreamedCall] = {}  # by choice and id: the outputs of a choice share calls
        self._unfinished: list[StreamedCall] = []  # calls that may be unfinished and are not yet rivals
        self._id = ""
        self._model = ""
        self._usage: Any = None
        self._extra: dict[str, Any] = {}
        self._keys = 0

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Process one message, or the status of a failed RPC (the JSON ``{"code", "details"}``).

        Raises MalformedBody if the bytes are neither.
        """
        ended = s.status_from(data)
        if ended is not None:
            if self.is_whole:
                self._context.find("event-after-end", f"the status {ended['code']} after the last finish reason")
            else:
                self.fail(ended, out)
            return
        chunk = s.chunk_from(data)
        self._id = self._id or chunk.id
        self._model = self._model or chunk.model
        for delta in chunk.outputs:
            state = self._outputs.get(delta.index)
            if state is None:
                state = self._outputs[delta.index] = _OutputState(delta.index)
            self._delta(state, delta, chunk.usage, out)
        figures = usage(chunk.usage)
        if figures is not None:
            self._usage = figures
            out.append(UsageUpdate(figures))
        extra = s.fields_except(chunk, "id", "model", "outputs", "usage")
        citations = extra.pop("citations", None)
        if citations:
            self._extra.setdefault("citations", []).extend(citations)
        self._extra.update(extra)
        keep_unknown(self._context, chunk, self._extra)

    def _delta(self, state: _OutputState, output: Any, figures: Any, out: list[Event]) -> None:
        delta = output.delta
        # An unset enum never overwrites a set one.
        state.role = delta.role or state.role
        if delta.reasoning_content:
            state.reasoning.append(delta.reasoning_content)
            self._emit_text(state, "reasoning", delta.reasoning_content, out)
        if delta.encrypted_content:
            state.encrypted.append(delta.encrypted_content)
        if delta.content:
            state.content.append(delta.content)
            if state.role != s.ROLE_TOOL:
                self._emit_text(state, "text", delta.content, out)
        state.citations.extend(s.as_dict(citation) for citation in delta.citations)
        for call in delta.tool_calls:
            self._call(state, read_call(self._context, call), out)
        if output.finish_reason:
            end = output, figures
            if end == state.end:
                has_call = any(not call_state.call.is_server_call for call_state in state.calls)
                self.report_repeated(f"end of output {state.index}", has_call)
            elif output.finish_reason != state.finish:
                reason = s.STOPS.get(output.finish_reason, "unknown")
                out.append(ChoiceStop(self._choice(state), Stop(reason, s.finish_name(output.finish_reason))))
            state.finish, state.end = output.finish_reason, end
        extra = s.fields_except(output, "finish_reason", "index", "delta")
        if (probabilities := extra.pop("logprobs", None)) is not None:  # of the tokens of this chunk alone
            held = state.extra.setdefault("logprobs", {"content": []})
            held["content"] = [*held["content"], *probabilities.get("content", ())]
        state.extra.update(extra)
        keep_unknown(self._context, output, state.extra)
        keep_unknown(self._context, delta, state.extra)

    def _key(
        self, state: _OutputState, block: str, out: list[Event], id: str | None = None, name: str | None = None
    ) -> int:
        label = f"{block}:{id}" if id else block
        key = state.keys.get(label)
        if key is None:
            key = state.keys[label] = self._keys
            self._keys += 1
            out.append(BlockStart(self._choice(state), key, block, id, name))
        return key

    def _choice(self, state: _OutputState) -> int:
        return state.index if self._context.declared.n > 1 else 0

    def _emit_text(self, state: _OutputState, block: str, text: str, out: list[Event]) -> None:
        key = self._key(state, block, out)
        out.append(BlockDelta(self._choice(state), key, text))

    def _call(self, state: _OutputState, call: CompleteCall, out: list[Event]) -> None:
        """Process a call. A repeated id means the same call; no id and no name means a continuation (XAI-10)."""
        known = self._find_call(state, call)
        if known is None:
            state.calls.append(call_state := StreamedCall(call, state))
            self._unfinished.append(call_state)
            if call.id:
                state.by_id[call.id] = self._by_id[self._choice(state), call.id] = call_state
            if state.role != s.ROLE_TOOL:
                key = self._key(state, _block_type(call), out, call.id or f"#{len(state.calls)}", call.name)
                if call.text:
                    out.append(BlockDelta(self._choice(state), key, call.text))
            return
        more = known.take(call, state)
        if more is None:
            return
        known_call, home = known.call, known.home
        key = self._key(home, _block_type(known_call), out, known_call.id or f"#{len(home.calls)}", known_call.name)
        if more:
            out.append(BlockDelta(self._choice(home), key, call.text))
        else:
            out.append(BlockReset(self._choice(home), key, call.text))

    def _find_call(self, state: _OutputState, call: CompleteCall) -> StreamedCall | None:
        if not call.id:
            if not state.calls or (call.name and (call.text or state.calls[-1].call.name)):
                return None
            return self._last_call(state, call)
        known = state.by_id.get(call.id)
        if known is None:
            known = self._by_id.get((self._choice(state), call.id))
            if known is not None and not known.differs(call):
                known.call.occurrences += 1
                state.calls.append(known)
                state.by_id[call.id] = known
                return known
        return None if known is None or known.differs(call) else known

    def _last_call(self, state: _OutputState, call: CompleteCall) -> StreamedCall:
        """Return the output's last call for a fragment without id and name, and mark the calls it may belong to."""
        taker = state.calls[-1]
        if call.text:
            taker.call.stray = True
            for call_state in self._unfinished:
                call_state.call.rival = call_state.call.rival or (call_state is not taker and not call_state.is_closed)
            self._unfinished = [taker]
        return taker

    @property
    def is_whole(self) -> bool:
        """See `StreamBase.is_whole`. Another output follows one that ends with calls of xAI's tools."""
        if self._error is not None or not self._has_finished:
            return False
        last = self._outputs[max(self._outputs)]
        client_calls = any(not call_state.call.is_server_call for call_state in last.calls)
        return client_calls or s.STOPS.get(last.finish) != "tool_calls"

    @property
    def _has_finished(self) -> bool:
        return is_complete(self._context, [self._outputs[index].finish for index in sorted(self._outputs)])

    @property
    def is_over(self) -> bool:
        """See `StreamBase.is_over`. No event shows that no output follows."""
        return False

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without finish reasons (see `is_complete`)."""
        context = self._context
        outputs = [
            Output(
                state.index,
                state.role,
                "".join(state.content),
                "".join(state.reasoning),
                "".join(state.encrypted),
                [call_state.finished() for call_state in state.calls],
                state.citations,
                state.finish,
                state.extra,
            )
            for state in sorted(self._outputs.values(), key=lambda o: o.index)
        ]
        complete = self._has_finished and self._error is None
        self._report_incomplete(complete)
        context.provider = context.provider or "xai"
        built = build_choices(context, outputs, self._id, complete)
        return self._response(self._id or None, self._model or None, built, self._usage, complete, self._extra)


def _block_type(call: CompleteCall) -> str:
    return "server_tool_call" if call.is_server_call else "tool_call"
