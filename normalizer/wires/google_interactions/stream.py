"""Decoder for streams of interactions: canonical events as they arrive, and one response at the end.

The API streamed `content.start` events until June 2026, which begin an output without a step; they are read alike.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.structs import astuple

from ... import json_codec
from ...arguments import by_value
from ...events import BlockDelta, BlockStart, BlockStop
from ...events import Event as CanonicalEvent
from ...model import Block, Choice
from ..block_stream import NO_FRAGMENT, Fragment
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..schema import Reader, Unknown, Wire, raw_object
from . import schema as s
from .blocks import UNFINISHED, Conversion, answered_calls, choice_of, error_of_step, extra_of, is_cut, usage
from .routing import RoutedStream
from .stream_state import IMPLIED, MEDIA, StepState, arguments_of

#: Type of an event -> its type since June 2026.
_RENAMED = {
    "interaction.start": "interaction.created",
    "interaction.complete": "interaction.completed",
    "content.start": "step.start",
    "content.delta": "step.delta",
    "content.stop": "step.stop",
}


class Stream(RoutedStream):
    """Stream decoder for the payloads of the API's events, independent of their framing."""

    reader = Reader(s.Event)
    decode_event = staticmethod(s.decode_event)
    fragments = frozenset((s.Piece,))
    repeats_bytes = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._interaction = s.Interaction()
        self._keys = 0

    def fragment(self, event: Any) -> Fragment:
        """See `BlockStream.fragment`."""
        if type(event) is not s.Piece:
            return NO_FRAGMENT
        delta = event.delta
        return event.at, delta.kind, delta.text

    def terminate(self) -> None:
        """See `BlockStream.terminate`. A stream of a stored interaction can end with a status instead of it."""
        self.ended = self.ended or self._interaction.status not in (None, *UNFINISHED)

    def apply(self, event: s.EventMembers, name: str | None, data: bytes, out: list[CanonicalEvent]) -> None:
        """See `BlockStream.apply`."""
        kind = _RENAMED.get(event.event_type or "", event.event_type)
        if event.extra_:
            self.extra.update(event.extra_)
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
            if kind == "interaction.created":
                self.starts_again(kind, event.interaction.id)
            self._update(event.interaction, out)
            if kind == "interaction.completed":
                self.ends()
        else:
            self.unknown(f"event {kind!r}", json_codec.decode_or_text(data))
        if event.usage or event.metadata:
            self._update_usage(event.usage or _usage_in(event.metadata), out)

    # The interaction

    def _update(self, interaction: s.Interaction, out: list[CanonicalEvent]) -> None:
        """Take over the members of an interaction. Steps in it that were not streamed are added."""
        held = self._interaction
        if held.id and interaction.id and held.id != interaction.id and self.blocks:
            self._context.find("event-after-end", "events of a second interaction")
            return
        self._set_status(interaction.status, out)
        self._update_usage(interaction.usage, out)
        steps, interaction.steps = interaction.steps or interaction.outputs or [], None
        interaction.outputs = None
        for name, value in zip(interaction.__struct_fields__, astuple(interaction), strict=True):
            if value is not None:
                setattr(held, name, value)
        self.id, self.model = held.id, held.model
        if steps:
            self._add_unstreamed(steps, out)

    def _add_unstreamed(self, steps: list[Any], out: list[CanonicalEvent]) -> None:
        """Add the steps of an interaction that was sent whole, if none was streamed, else only further calls."""
        streamed = {state.start.id for state in self.blocks if type(state.start) is s.FunctionCall}
        all_new = not self.blocks
        for step in steps:
            if all_new or (type(step) is s.FunctionCall and step.id not in streamed):
                if not all_new:
                    self._context.find("output-disagrees", f"{step.name} ({step.id}) was not streamed")
                self._begin(step, len(self.blocks), out)
                self._stop(len(self.blocks) - 1, out)

    def _set_status(self, status: str | None, out: list[CanonicalEvent]) -> None:
        if status and status != self._interaction.status:
            self._interaction.status = status
            if status not in UNFINISHED:
                self.end(status, out)

    def _update_usage(self, figures: dict[str, Any] | None, out: list[CanonicalEvent]) -> None:
        """Update the usage. The wire's figures are cumulative, so new ones replace earlier ones."""
        self.count(usage(figures), out)

    # Steps

    def _start(self, event: s.EventMembers, out: list[CanonicalEvent]) -> None:
        step = event.step or event.content
        if step is None:
            return
        if self.ended:
            self._context.find("event-after-end", "a step after the end of the interaction")
        self._begin(step, event.index, out)

    def _begin(self, step: Wire, index: int | None, out: list[CanonicalEvent]) -> StepState:
        self.check_number()
        state = self.open(None, step, index, out)
        if state.start is not step:
            return state  # a repeated start
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
            self._key(state, out)
        return state

    def _key(self, state: StepState, out: list[CanonicalEvent]) -> int:
        """Return the key of the current block of a step, and start the block if it is new."""
        if state.key < 0:
            state.open_text(self._keys)
            self._keys += 1
            out.append(BlockStart(0, state.key, *state.header()))
        return state.key

    def _add_text(self, state: StepState, text: str, out: list[CanonicalEvent]) -> None:
        self._key(state, out)
        self.extend(state, text, out)

    def _add_content(self, state: StepState, content: Any, out: list[CanonicalEvent]) -> None:
        """Add a content to an output. A text continues the text before it."""
        if type(content) is s.TextContent:
            if content.text:
                self._add_text(state, content.text, out)
            state.annotations.extend(content.annotations or ())
            return
        if state.key >= 0:
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
        state = self.ended_by(index)
        if state is None:
            return
        if type(state.start) is s.UserInput:
            state.stopped = True
            return
        if state.key >= 0 or not state.contents:
            self._key(state, out)
            self.close(state, out)
        state.stopped = True

    # Deltas

    def _delta(self, index: int | None, delta: s.Delta, out: list[CanonicalEvent]) -> None:
        number = len(self.blocks)
        state = self.step_for(index, delta.type, out)
        is_known = delta.type is None or delta.type in IMPLIED
        if state is None or not (is_known or type(state.start) is Unknown):
            self.unknown(f"delta {delta.type!r}", raw_object(delta))
            return
        if len(self.blocks) > number and type(state.start) is not s.ModelOutput:
            self._key(state, out)
        if delta.signature is not None and type(state.start) is not Unknown:
            state.signature.append(delta.signature)
        if delta.extra_ and type(state.start) is not Unknown:
            state.start.extra_ = {**(state.start.extra_ or {}), **delta.extra_}
        step = type(state.start)
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
        step = state.start
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
        if text and isinstance(state.start, s.ServerCall):
            out.append(BlockDelta(0, self._key(state, out), text))

    # The response

    def is_complete(self) -> bool:
        """See `BlockStream.is_complete`. An interaction that has not ended is not complete."""
        if self.ended and self._interaction.status in UNFINISHED:
            self._context.find("response-unfinished", f"the interaction's status is {self._interaction.status!r}")
            return False
        return super().is_complete()

    @property
    def is_whole(self) -> bool:
        """See `StreamBase.is_whole`."""
        return super().is_whole and self._interaction.status not in UNFINISHED

    def choice(self, builder: CallBuilder, complete: bool) -> Choice:
        """See `BlockStream.choice`."""
        context, body = self._context, self._interaction
        conversion = self._conversion = Conversion(builder, answered_calls([state.start for state in self.blocks]))
        choice = choice_of(builder, self.converted(builder, complete, is_cut(body.status)), body.status)
        self.stop = None if body.status in UNFINISHED else body.status
        if self._error is None and (error := error_of_step(context, body, conversion)) is not None:
            self._error = error
        self.extra = {**extra_of(body, conversion), **self.extra}
        return choice

    def convert(self, builder: CallBuilder, state: StepState, blocks: list[Block], cut: bool) -> None:
        """See `BlockStream.convert`."""
        self._conversion.add(state.start, blocks, cut, self._assemble(state))
        if type(state.start) is s.FunctionCall:
            state.block = len(blocks) - 1

    def _assemble(self, state: StepState) -> str | None:
        """Complete a step, and return its streamed argument text, None if its arguments are in the step."""
        step = state.start
        state.complete()
        if not state.parts or not isinstance(step, (s.FunctionCall, s.ServerCall)):
            return None
        text = "".join(state.parts)
        if type(step) is not s.FunctionCall:
            step.arguments = Raw(text.encode("utf-8", "surrogatepass"))
            return None
        initial = state.initial()
        if initial and by_value(initial) != by_value(text):
            self._context.find("arguments-disagree", f"{step.name}: those at its start differ from the deltas")
        return text


def _usage_in(metadata: Any) -> dict[str, Any] | None:
    """Return the usage in the metadata of an event: ``total_usage`` in the SDK's types, ``usage`` as recorded."""
    figures = (metadata.get("total_usage") or metadata.get("usage")) if isinstance(metadata, dict) else None
    return figures if isinstance(figures, dict) else None
