"""Decoder for streams of interactions: canonical events as they arrive, and one response at the end.

The API streamed `content.start` events until June 2026, which begin an output without a step; they are read alike.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from ... import json_codec
from ...arguments import by_value
from ...errors import TooManyCalls
from ...events import BlockDelta, BlockStart, BlockStop, ChoiceStop, UsageUpdate
from ...events import Event as CanonicalEvent
from ...model import Block, Response, Stop, ToolCall, Usage
from ..call_builder import MAX_CALLS, CallBuilder
from ..decode_context import Context
from ..schema import UNFIT, Reader, Unknown, Wire, raw_object, strict_decoder
from ..stop_words import reason_of
from ..stream_base import StreamBase, merged_delta
from . import schema as s
from .blocks import UNFINISHED, Conversion, answered_calls, choice_of, error_of_step, extra_of, is_cut, usage
from .routing import StepRouter
from .stream_state import MEDIA, NO_ARGUMENTS, StepState, arguments_of

_reader = Reader(s.Event)
_regular = strict_decoder(s.Event)
#: Type of an event -> its type since June 2026.
_RENAMED = {
    "interaction.start": "interaction.created",
    "interaction.complete": "interaction.completed",
    "content.start": "step.start",
    "content.delta": "step.delta",
    "content.stop": "step.stop",
}
_BLOCK_TYPES: dict[type[Wire], str] = {
    s.ModelOutput: "text",
    s.TextContent: "text",
    s.Thought: "reasoning",
    s.FunctionCall: "tool_call",
    Unknown: "opaque",
}


class Stream(StreamBase):
    """Stream decoder for the payloads of the API's events, independent of their framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._interaction = s.Interaction()
        self._steps = StepRouter(context)
        self._usage: Usage | None = None
        self._extra: dict[str, Any] = {}
        self._keys = 0
        self._ended = False

    def run(self, payloads: list[bytes], out: list[CanonicalEvent]) -> None:
        """Process a run of event payloads, with a fast path for more text of a step that has begun."""
        by_index = self._steps.by_index
        target: StepState | None = None  # the step of the last fragment
        start = 0  # the number of its fragments before this run
        for data in payloads:
            state = None
            text = ""
            try:
                event: s.Piece = s.decode_piece(data)
            except UNFIT:
                pass
            else:
                text = event.delta.text
                state = by_index.get(event.at)
                if state is not None and not (text and state.piece is type(event.delta)):
                    state = None
            if state is not target:
                if target is not None and self.emits:
                    out.append(merged_delta(0, target.key or 0, target.parts, start))
                target, start = state, 0 if state is None else len(state.parts)
            if state is None:
                try:
                    regular: s.Event = _regular(data)
                except UNFIT:
                    self.take(None, data, out)
                else:
                    self._apply(None, regular, data, out)
            else:
                state.parts.append(text)
        if target is not None and self.emits:
            out.append(merged_delta(0, target.key or 0, target.parts, start))

    def event(self, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        if data == b"[DONE]":
            # A stream of a stored interaction can end with a status instead of the interaction.
            self._ended = self._ended or self._interaction.status not in (None, *UNFINISHED)
            return
        event = _reader.read(data, self._notes)
        if self._notes:
            self._context.report_notes(self._notes)
        self._apply(name, event, data, out)

    def _apply(self, name: str | None, event: s.Event, data: bytes, out: list[CanonicalEvent]) -> None:
        """Process an event. ``data``: its JSON."""
        kind = _RENAMED.get(event.event_type or "", event.event_type)
        if event.extra_:
            self._extra.update(event.extra_)
        if kind == "step.delta":
            if event.delta is not None:
                self._delta(event.index, event.delta, out)
        elif kind == "step.start":
            self._start(event, out)
        elif kind == "step.stop":
            self._stop(event.index, out)
        elif kind == "error" or name == "error" or kind is None:
            self.fail(json_codec.decode_or_text(data), out)
            return
        elif kind == "interaction.status_update":
            self._set_status(event.status, out)
        elif kind.startswith("interaction.") and event.interaction is not None:
            self._update(event.interaction, out)
            self._ended = self._ended or kind == "interaction.completed"
        else:
            self._context.find("unknown-event", f"event {kind!r}")
            self._extra.setdefault("events", []).append(json_codec.decode_or_text(data))
        self._update_usage(event.usage or _usage_in(event.metadata), out)

    # The interaction

    def _update(self, interaction: s.Interaction, out: list[CanonicalEvent]) -> None:
        """Take over the members of an interaction. Steps in it that were not streamed are added."""
        held = self._interaction
        if held.id and interaction.id and held.id != interaction.id and self._steps.all:
            self._context.find("event-after-end", "events of a second interaction")
            return
        self._set_status(interaction.status, out)
        self._update_usage(interaction.usage, out)
        steps, interaction.steps = interaction.steps or interaction.outputs or [], None
        interaction.outputs = None
        for name in interaction.__struct_fields__:
            if (value := getattr(interaction, name)) is not None:
                setattr(held, name, value)
        self._add_unstreamed(steps, out)

    def _add_unstreamed(self, steps: list[Any], out: list[CanonicalEvent]) -> None:
        """Add the steps of an interaction that was sent whole, if none was streamed, else only further calls."""
        streamed = {state.step.id for state in self._steps.all if type(state.step) is s.FunctionCall}
        all_new = not self._steps.all
        for step in steps:
            if all_new or (type(step) is s.FunctionCall and step.id not in streamed):
                if not all_new:
                    self._context.find("output-disagrees", f"{step.name} ({step.id}) was not streamed")
                self._begin(step, len(self._steps.all), out)
                self._stop(len(self._steps.all) - 1, out)

    def _set_status(self, status: str | None, out: list[CanonicalEvent]) -> None:
        if status and status != self._interaction.status:
            self._interaction.status = status
            if status not in UNFINISHED:
                out.append(ChoiceStop(0, Stop(reason_of(status), status)))

    def _update_usage(self, figures: dict[str, Any] | None, out: list[CanonicalEvent]) -> None:
        """Update the usage. The wire's figures are cumulative, so new ones replace earlier ones."""
        if figures and (new := usage(figures)) is not None:
            self._usage = new
            out.append(UsageUpdate(new))

    # Steps

    def _start(self, event: s.Event, out: list[CanonicalEvent]) -> None:
        step = event.step or event.content
        if step is None:
            return
        if self._ended:
            self._context.find("event-after-end", "a step after the end of the interaction")
        self._begin(step, event.index, out)

    def _begin(self, step: Wire, index: int | None, out: list[CanonicalEvent]) -> StepState:
        if len(self._steps.all) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} steps", hint="the stream is not a valid response")
        state = self._steps.begin(step, index)
        if type(step) is s.ModelOutput:
            contents, step.content = step.content or [], None
            for content in contents:
                self._add_content(state, content, out)
        elif type(step) is s.Thought:
            summary, step.summary = step.summary or [], None
            for content in summary:
                self._add_summary(state, content, out)
        if isinstance(signature := getattr(step, "signature", None), str):
            state.signature.append(signature)
        if type(step) is s.TextContent and step.text:
            self._add_text(state, step.text, out)
        elif type(step) not in (s.ModelOutput, s.TextContent, s.UserInput):
            self._open(state, out)
        return state

    def _open(self, state: StepState, out: list[CanonicalEvent]) -> int:
        """Return the key of the current block of a step, and start the block if it is new."""
        if state.key is None:
            step = state.step
            block_type = _BLOCK_TYPES.get(type(step))
            if block_type is None:
                block_type = "server_tool_call" if isinstance(step, s.ServerCall) else "server_tool_result"
            is_call = block_type.endswith("_call")
            id, name = (step.id, getattr(step, "name", None)) if is_call else (None, None)
            state.open_text(self._keys)
            self._keys += 1
            out.append(BlockStart(0, self._keys - 1, block_type, id, name))
        return state.key or 0

    def _add_text(self, state: StepState, text: str, out: list[CanonicalEvent]) -> None:
        key = self._open(state, out)
        state.parts.append(text)
        out.append(BlockDelta(0, key, text))

    def _add_content(self, state: StepState, content: Any, out: list[CanonicalEvent]) -> None:
        """Add a content to an output. A text continues the text before it."""
        if type(content) is s.TextContent:
            if content.text:
                self._add_text(state, content.text, out)
            state.annotations.extend(content.annotations or ())
            return
        if state.key is not None:
            out.append(BlockStop(0, state.key))
        state.close_text()
        state.contents.append(content)
        out.append(BlockStart(0, self._keys, "opaque" if type(content) is Unknown else "server_tool_result"))
        out.append(BlockStop(0, self._keys))
        self._keys += 1

    def _add_summary(self, state: StepState, content: Any, out: list[CanonicalEvent]) -> None:
        """Add a content to the summary of a thought. A text continues the text before it, with its other members."""
        if isinstance(content, dict) and content.get("type") == "text" and isinstance(content.get("text"), str):
            more = {
                name: value for name, value in content.items() if name not in ("type", "text") and value is not None
            }
            state.text_members |= more
            if content["text"]:
                self._add_text(state, content["text"], out)
            return
        key = state.key
        state.close_text()
        state.key = key  # a thought is one block
        state.contents.append(content)

    def _stop(self, index: int | None, out: list[CanonicalEvent]) -> None:
        state = self._steps.at(index)
        if state is None or type(state.step) is s.UserInput:
            return
        state.stopped = True
        if state.key is not None or not state.contents:
            key = self._open(state, out)
            if type(state.step) is s.FunctionCall and not state.parts and state.initial() not in NO_ARGUMENTS:
                out.append(BlockDelta(0, key, state.initial()))
            out.append(BlockStop(0, key))

    # Deltas

    def _delta(self, index: int | None, delta: s.Delta, out: list[CanonicalEvent]) -> None:
        number = len(self._steps.all)
        state = self._steps.step_for(index, delta.type)
        if state is None:
            self._context.find("unknown-event", f"delta {delta.type!r}")
            self._extra.setdefault("events", []).append(raw_object(delta))
            return
        if len(self._steps.all) > number and type(state.step) is not s.ModelOutput:
            self._open(state, out)
        if delta.signature is not None and type(state.step) is not Unknown:
            state.signature.append(delta.signature)
        if delta.extra_ and type(state.step) is not Unknown:
            state.step.extra_ = {**(state.step.extra_ or {}), **delta.extra_}
        step = type(state.step)
        if step is s.ModelOutput or step is s.TextContent:
            self._output_delta(state, delta, out)
        elif step is s.Thought:
            content = {"type": "text", "text": delta.text} if delta.text else delta.content
            if content is not None:
                self._add_summary(state, content, out)
        elif step is s.FunctionCall:
            self._call_delta(state, delta, out)
        else:
            self._server_delta(state, delta, out)

    def _output_delta(self, state: StepState, delta: s.Delta, out: list[CanonicalEvent]) -> None:
        if delta.text:
            self._add_text(state, delta.text, out)
        if delta.annotations:
            state.annotations.extend(delta.annotations)
        if (media := MEDIA.get(delta.type)) is not None:
            members = {name: getattr(delta, name, None) for name in media.__struct_fields__ if name != "extra_"}
            self._add_content(state, media(**members), out)

    def _call_delta(self, state: StepState, delta: s.Delta, out: list[CanonicalEvent]) -> None:
        step = state.step
        step.id, step.name = delta.id or step.id, delta.name or step.name
        text, is_fragment = arguments_of(delta)
        if text and is_fragment:
            self._add_text(state, text, out)
        elif text:
            step.arguments = delta.arguments

    def _server_delta(self, state: StepState, delta: s.Delta, out: list[CanonicalEvent]) -> None:
        text, is_fragment = arguments_of(delta)
        if is_fragment:  # no documented server call has such deltas
            state.parts.append(text)
            delta.arguments = s.NOTHING
        state.merge(delta)
        if text and isinstance(state.step, s.ServerCall):
            out.append(BlockDelta(0, self._open(state, out), text))

    # The response

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without a terminal event (TERM-01)."""
        context, body = self._context, self._interaction
        unfinished = self._ended and body.status in UNFINISHED
        complete = self._ended and self._error is None and not unfinished
        if unfinished:
            context.find("response-unfinished", f"the interaction's status is {body.status!r}")
        else:
            self._report_incomplete(complete)
        states = self._steps.in_order()
        builder = CallBuilder.of(context, 0, body.id)
        conversion = Conversion(builder, answered_calls([state.step for state in states]))
        cut_last = is_cut(body.status)
        blocks: list[Block] = []
        calls: list[tuple[StepState, int]] = []
        for number, state in enumerate(states):
            cut = (cut_last and number == len(states) - 1) or (not complete and not state.stopped)
            text = self._assemble(state)
            conversion.add(state.step, blocks, cut, text)
            if type(state.step) is s.FunctionCall and blocks and type(blocks[-1]) is ToolCall:
                calls.append((state, len(blocks) - 1))
        self._mark_doubtful(calls, blocks)
        choices = [choice_of(builder, blocks, body.status)]
        if not (blocks or complete or body.status not in (None, *UNFINISHED)):
            choices = []
        if self._error is None and (error := error_of_step(context, body, conversion)) is not None:
            self._error = error
        extra = {**extra_of(body, conversion), **self._extra}
        return self._response(body.id, body.model, choices, self._usage, complete, extra)

    def _mark_doubtful(self, calls: list[tuple[StepState, int]], blocks: list[Block]) -> None:
        """Mark calls that may lack their arguments as truncated, so that they do not run."""
        for state, index in calls:
            block = blocks[index]
            if state.doubtful and isinstance(block, ToolCall) and block.status == "complete":
                message = f"{block.name} ({block.id}): arguments have the index of another step"
                self._context.find("arguments-misplaced", message, 0, index)
                blocks[index] = replace(block, status="truncated", arguments=None)

    def _assemble(self, state: StepState) -> str | None:
        """Complete a step, and return its streamed argument text, None if its arguments are in the step."""
        step = state.step
        state.complete()
        if not state.parts or not isinstance(step, (s.FunctionCall, s.ServerCall)):
            return None
        text = "".join(state.parts)
        if type(step) is not s.FunctionCall:
            step.arguments = Raw(text.encode("utf-8", "surrogatepass"))
            return None
        initial = state.initial()
        if initial not in NO_ARGUMENTS and by_value(initial) != by_value(text):
            self._context.find("arguments-disagree", f"{step.name}: those at its start differ from the deltas")
        return text


def _usage_in(metadata: Any) -> dict[str, Any] | None:
    """Return the usage in the metadata of an event: ``total_usage`` in the SDK's types, ``usage`` as recorded."""
    figures = (metadata.get("total_usage") or metadata.get("usage")) if isinstance(metadata, dict) else None
    return figures if isinstance(figures, dict) else None
