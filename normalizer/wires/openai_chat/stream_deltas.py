"""Adding of deltas and messages to the choices of a stream."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from ... import json_codec
from ...events import BlockDelta, BlockReset, BlockStart, Event
from ..stream_base import StreamBase
from . import schema as s
from .blocks import arguments_text, read_call, unwrapped
from .routing import CallRouter, StreamedCall, add_name, add_text
from .stream_state import ChoiceState, RepeatedCall, differs, matched

_MEMBERS = len(s.ChatMessage.__struct_fields__)


class DeltaStream(StreamBase):
    """The part of a stream's decoder that adds content to a choice and emits its events."""

    def _add_whole(self, state: ChoiceState, message: s.ChatMessage, out: list[Event]) -> None:
        """Handle a `message` in a chunk: as a delta, or after deltas only for the content that they did not contain."""
        silent = state.block_count == 0
        if state.sends_messages or silent:
            self._add_message(state, message, out)
            state.sends_messages = state.sends_messages or state.block_count > 0
            return
        self._add_message(state, state.without_streamed(message), out)
        if message.tool_calls:
            self._merge_repeated(state, state.calls, message.tool_calls, out)
        if message.function_call is not None and state.functions is None:
            self._add_function(state, message.function_call, out)
        elif message.function_call is not None and state.functions is not None:
            self._merge_repeated(state, state.functions, [s.Call(function=message.function_call)], out)

    def _merge_repeated(self, state: ChoiceState, slots: CallRouter, calls: list[s.Call], out: list[Event]) -> None:
        """Merge the calls of a `message` that follows deltas into the streamed calls.

        The message takes precedence over the deltas if their arguments differ. Calls that only the message contains
        are added.
        """
        repeated = [self._repeated(call) for call in calls]
        for call, known in zip(repeated, matched(slots.all, repeated), strict=True):
            if known is None and not (call.name or call.text):
                continue
            call_state = slots.add(call.id) if known is None else known
            if known is None or not call_state.has_arguments:
                call_state.keep(call.extra)
                call_state.kind = call.kind
                call_state.name = call_state.name or call.name
                self._extend(state, call_state, call.text, out)
            elif differs(call_state, call.text):
                self._context.find("arguments-disagree", f"{call_state.name}: the message and the deltas differ")
                call_state.set(call.text)
                out.append(BlockReset(state.index, call_state.key, call.text))
            call_state.stray = call_state.rival = False

    def _repeated(self, call: s.Call) -> RepeatedCall:
        call = unwrapped(call, self._context)
        name, text, kind, extra = read_call(call, self._context)
        return RepeatedCall(call.id, name, text, kind, extra)

    def _add_message(self, state: ChoiceState, message: s.ChatMessage, out: list[Event]) -> None:
        content, reasoning = message.content, message.reasoning_content
        self._add_content(state, content, message.tool_calls, reasoning, out)
        # Nearly every delta has only these members. If it has any other, `_add_rest` handles it.
        usual = (
            (content is not None)
            + (message.role is not None)
            + (message.tool_calls is not None)
            + (reasoning is not None)
        )
        if astuple(message).count(None) + usual < _MEMBERS:
            self._add_rest(state, message, out)

    def _add_content(
        self, state: ChoiceState, content: Any, calls: list[s.Call] | None, reasoning: str | None, out: list[Event]
    ) -> None:
        if content:
            if type(content) is str:
                state.content.append(content)
                self._emit_text(state, "text", content, out)
            else:
                self._add_parts(state, content, out)
        if calls:
            for call in calls:
                self._add_call(state, call, out)
        if reasoning:
            state.reasoning.append(reasoning)
            self._emit_text(state, "reasoning", reasoning, out)

    def _add_reasoning(self, state: ChoiceState, message: s.ChatMessage | s.DeltaPiece, out: list[Event]) -> None:
        """Add the reasoning of the dialects of OpenRouter and Groq."""
        reasoning = message.reasoning
        if reasoning and not message.reasoning_content:
            state.member = "reasoning"
            state.reasoning.append(reasoning)
            self._emit_text(state, "reasoning", reasoning, out)
        if message.reasoning_details:
            state.details.add(message.reasoning_details)

    def _add_rest(self, state: ChoiceState, message: s.ChatMessage, out: list[Event]) -> None:
        self._add_reasoning(state, message, out)
        if message.refusal:
            state.refusal.append(message.refusal)
            self._emit_text(state, "refusal", message.refusal, out)
        if message.function_call is not None:
            self._add_function(state, message.function_call, out)
        if message.executed_tools:
            for number, tool in enumerate(message.executed_tools):
                key = tool.get("index", number) if isinstance(tool, dict) else number
                state.executed[str(key)] = tool
        if message.annotations:
            state.annotations += message.annotations
        carried = s.carry_message(message)
        if carried:
            state.extra.setdefault("message", {}).update(carried)

    def _emit_text(self, state: ChoiceState, block: str, text: str, out: list[Event]) -> None:
        key = state.keys.get(block)
        if key is None:
            key = state.keys[block] = state.block_count
            state.block_count += 1
            out.append(BlockStart(state.index, key, block))
        out.append(BlockDelta(state.index, key, text))

    def _add_parts(self, state: ChoiceState, content: Any, out: list[Event]) -> None:
        """Handle content that is a list of parts; Mistral streams text and thinking this way."""
        parts: list[Any] = content if isinstance(content, list) else [json_codec.text(content)]
        for part in parts:
            kind = part.get("type") if isinstance(part, dict) else "text"
            text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
            if kind == "text" and isinstance(text, str):
                state.content.append(text)
                self._emit_text(state, "text", text, out)
            elif kind == "thinking":
                state.thinking.update(part)
                thoughts = part.get("thinking")
                for thought in thoughts if isinstance(thoughts, list) else [thoughts]:
                    words = thought.get("text") if isinstance(thought, dict) else thought
                    if isinstance(words, str) and words:
                        state.reasoning.append(words)
                        state.member = "content"
                        self._emit_text(state, "reasoning", words, out)
            else:
                state.parts.append(part)

    def _add_call(self, state: ChoiceState, call: s.Call, out: list[Event]) -> None:
        if call.extra_ is not None:
            call = unwrapped(call, self._context)
        function = call.function
        custom = False
        rest = None
        if function is None:
            name, text = None, ""
            if call.custom is not None:
                custom = True
                name, text, rest = call.custom.name, call.custom.input or "", call.custom.extra_
        else:
            name, text = function.name, function.arguments or ""
            if function.extra_ is not None or function.call_id is not None:
                text, rest = arguments_text(function, self._context)
        if not name:
            name = None
        call_state = state.calls.route(call, name, text)
        if rest or call.extra_ is not None:
            call_state.keep(call.extra_, rest)
        if custom:
            call_state.kind = "custom"
        elif call.type and call.type != "function":
            call_state.kind = call.type
        if name is not None:
            add_name(call_state, name, self._context)
        self._extend(state, call_state, text, out)

    def _extend(self, state: ChoiceState, call_state: StreamedCall, text: str, out: list[Event]) -> None:
        """Append an argument fragment, which may be empty, and announce the call if it is due."""
        if call_state.key < 0 and (
            text or (call_state.name is not None and call_state.id and call_state.repeated is None)
        ):
            self._announce(state, call_state, out)
        if not text:
            return
        if call_state.kind == "custom":
            call_state.add(text)
        elif add_text(call_state, text):
            out.append(BlockReset(state.index, call_state.key, text))
            return
        out.append(BlockDelta(state.index, call_state.key, text))

    def _announce(self, state: ChoiceState, call_state: StreamedCall, out: list[Event]) -> None:
        """Emit the start of a call, with id and name as far as they are known by now (ID-05)."""
        call_state.key = state.block_count
        state.block_count += 1
        out.append(BlockStart(state.index, call_state.key, "tool_call", call_state.id, call_state.name))

    def _add_function(self, state: ChoiceState, function: s.Function, out: list[Event]) -> None:
        """Handle `function_call`, the predecessor of `tool_calls`; without name and arguments it is not a call.

        Some servers send several in sequence. They are separated by the rules for calls that share one index.
        """
        text, rest = arguments_text(function, self._context)
        if not function.name and not text:
            return
        if state.functions is None:
            state.functions = CallRouter(self._context)
        call_state = state.functions.route(s.Call(index=0), function.name or None, text)
        if function.name:
            add_name(call_state, function.name, self._context)
        call_state.keep(rest)
        if call_state.key < 0 and call_state.repeated is None:
            self._announce(state, call_state, out)
        self._extend(state, call_state, text, out)
