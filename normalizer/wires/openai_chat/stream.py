"""Decode a stream of Chat Completions chunks into canonical events and, at its end, one response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import astuple

from ... import json_codec, model
from ...errors import TooManyCalls
from ...events import BlockDelta, BlockReset, BlockStart, ChoiceStop, Event, UsageUpdate
from ...model import Response, Stop
from ..call_builder import MAX_CALLS, CallBuilder
from ..decode_context import Context
from ..schema import Reader, run_reader
from ..stop_reason import failed
from ..stream_base import StreamBase
from .blocks import arguments_text, finish, read_call, stop_reason, unwrapped, usage, usage_beside
from .repeats import Said, matched, says_other
from .routing import CallRouter, CallState, Doubts, add_name, add_text
from .schema import (
    CARRIED,
    Body,
    Call,
    CallPiece,
    ChatMessage,
    Choice,
    DeltaPiece,
    Function,
    Piece,
    carry_body,
    carry_choice,
    carry_message,
)
from .stream_state import ChoiceState

DONE = b"[DONE]"
_read_run = run_reader(Piece)
#: After this many runs that do not fit the fast path, the server uses a dialect and the fast path is turned off.
_PATIENCE = 8
_MEMBERS = len(ChatMessage.__struct_fields__)


def _more_arguments(slot: CallState | None, call: CallPiece) -> str | None:
    """Return the text of a fragment that only continues the arguments of an announced call; None for any other."""
    function = call.function
    if slot is None or slot.key < 0 or function is None or call.id is not None or function.name is not None:
        return None
    text = function.arguments
    if not text or text[0] == "{" or call.type is not None or slot.kind == "custom":
        return None
    return text


class Stream(StreamBase):
    """Decoder for the payloads of one stream; the caller removes the framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = Reader(Body)
        self._answers: dict[int, ChoiceState] = {}
        self._usual = True
        self._misses = 0
        self._id: str | None = None
        self._model: str | None = None
        self._extra: dict[str, Any] = {}
        self._usage: dict[str, Any] | None = None
        self._figured = False  # whether usage came in the documented member
        self._done = False

    def run(self, payloads: list[bytes], out: list[Event]) -> None:
        """Decode several payloads and append their events to ``out``.

        The fast path handles chunks that only continue text, reasoning or arguments. It passes all others to `take`.
        """
        pieces = _read_run(payloads) if self._usual else []
        if not pieces:
            self._misses += 1
            self._usual = self._misses < _PATIENCE
            super().run(payloads, out)
            return
        if self._id is None or self._model is None:
            self._identify(pieces)
        answer: ChoiceState | None = None  # the choice of the previous chunk; `slot` is its call
        slot: CallState | None = None
        owned = -1
        for piece, data in zip(pieces, payloads, strict=False):
            choices = piece.choices
            if len(choices) == 1 and piece.usage is None:
                choice = choices[0]
                index = choice.index
                if answer is None or index != answer.index:
                    answer = self._answers.get(index)
                    slot = None
                if answer is not None and choice.finish_reason is None:
                    delta = choice.delta
                    calls = delta.tool_calls
                    if calls is None:
                        if self._say_more(answer, delta, out):
                            continue
                    elif len(calls) == 1 and not delta.content and not delta.reasoning_content:
                        call = calls[0]
                        if slot is None or call.index != owned:
                            owned = call.index
                            slot = answer.slots.owner(owned)
                        text = _more_arguments(slot, call)
                        if slot is not None and text:
                            slot.parts.append(text)
                            slot.length += len(text)
                            out.append(BlockDelta(index, slot.key, text))
                            continue
            self.take(None, data, out)
            answer = None
        for member in CARRIED:
            for piece in reversed(pieces):
                if (value := getattr(piece, member)) is not None:
                    self._extra[member] = value
                    break

    def _identify(self, said: Iterable[Piece | Body]) -> None:
        """Set id and model from the first chunk that has them."""
        self._id = self._id or next((one.id for one in said if one.id), None)
        self._model = self._model or next((one.model for one in said if one.model), None)

    def _say_more(self, answer: ChoiceState, delta: DeltaPiece, out: list[Event]) -> bool:
        """Handle a delta that only continues text or reasoning; return False without any effect for any other."""
        text, thought = delta.content, delta.reasoning_content
        if text and thought is None:
            key = answer.keys.get("text")
            if key is None:
                return False
            answer.content.append(text)
            out.append(BlockDelta(answer.index, key, text))
            return True
        if thought and not text:
            key = answer.keys.get("reasoning")
            if key is None or answer.member != "reasoning_content":
                return False
            answer.reasoning.append(thought)
            out.append(BlockDelta(answer.index, key, thought))
            return True
        return False

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Decode one payload and append its events to ``out``. Raises MalformedBody if it is not a JSON object."""
        if data == DONE:
            self._done = True
            return
        chunk = self._reader.read(data, self._notes)
        if self._notes:
            self._reader.lenient = True  # the server uses a dialect: skip the strict schema from now on
            self._context.take(self._notes)
        choices = chunk.choices
        more = chunk.x_groq is not None  # `x_groq` or a choice may hold usage
        if choices:
            for choice in choices:
                index = choice.index
                if index is None:
                    index = next(place for place, other in enumerate(choices) if other is choice)
                answer = self._answers.get(index)
                if answer is None:
                    answer = self._begin(index)
                if choice.delta is not None:
                    self._message(answer, choice.delta, out)
                if choice.message is not None:
                    self._whole(answer, choice.message, out)
                carried = carry_choice(choice)
                if carried:
                    more = True
                    answer.extra.update(carried)
                if choice.finish_reason or choice.error:
                    self._end(answer, choice, out)
        if chunk.usage is not None:
            self._count(chunk.usage, out)
            self._figured = True
        elif more and not self._figured:
            self._count(usage_beside(chunk), out)
        if chunk.error or (choices is None and chunk.usage is None):
            self._odd(name, chunk, data, out)
        if self._id is None or self._model is None:
            self._identify((chunk,))
        self._extra.update(carry_body(chunk))

    def _begin(self, index: int) -> ChoiceState:
        if len(self._answers) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} choices", hint="the stream is not a valid response")
        answer = self._answers[index] = ChoiceState(index, self._context)
        return answer

    def _count(self, given: dict[str, Any] | None, out: list[Event]) -> None:
        if given is not None:
            self._usage = given
            figures = usage(given)
            if figures is not None:
                out.append(UsageUpdate(figures))

    def _end(self, answer: ChoiceState, choice: Choice, out: list[Event]) -> None:
        """Record the stop reason. The last one counts, and a repeated one emits no event (FIN-01, XAI-04)."""
        raw = choice.finish_reason
        if raw and raw != answer.stop:
            answer.stop = raw
            out.append(ChoiceStop(answer.index, Stop(stop_reason(raw, answer.extra) or "unknown", raw)))
        if choice.error:
            self.fail(choice.error, out)

    def _odd(self, name: str | None, chunk: Body, data: bytes, out: list[Event]) -> None:
        """Handle a chunk with an error, or without choices and usage. Fail if it is an error in mid-stream (SSE-07)."""
        if chunk.error or name == "error" or (chunk.extra_ and not chunk.id):
            self.fail(json_codec.decode(data), out)

    def _whole(self, answer: ChoiceState, message: ChatMessage, out: list[Event]) -> None:
        """Handle a `message` in a chunk: as a delta, or after deltas only for the content that they did not contain."""
        silent = answer.total == 0
        if answer.whole or silent:
            self._message(answer, message, out)
            answer.whole = answer.whole or answer.total > 0
            return
        self._message(answer, answer.unsaid(message), out)
        if message.tool_calls:
            self._repeat(answer, answer.slots, message.tool_calls, out)
        if message.function_call is not None and answer.legacy is None:
            self._legacy(answer, message.function_call, out)
        elif message.function_call is not None and answer.legacy is not None:
            self._repeat(answer, answer.legacy, [Call(function=message.function_call)], out)

    def _repeat(self, answer: ChoiceState, slots: CallRouter, calls: list[Call], out: list[Event]) -> None:
        """Merge the calls of a `message` that follows deltas into the streamed calls.

        The message takes precedence over the deltas if their arguments differ. Calls that only the message contains
        are added.
        """
        said = [self._said(call) for call in calls]
        for call, known in zip(said, matched(slots.all, said), strict=True):
            if known is None and not (call.name or call.text):
                continue
            slot = slots.add(call.id) if known is None else known
            if known is None or not slot.said:
                slot.keep(call.extra)
                slot.kind = call.kind
                slot.name = slot.name or call.name
                self._extend(answer, slot, call.text, out)
            elif says_other(slot, call.text):
                self._context.find("arguments-disagree", f"{slot.name}: the message and the deltas differ")
                slot.set(call.text)
                out.append(BlockReset(answer.index, slot.key, call.text))
            slot.stray = slot.rival = False

    def _said(self, call: Call) -> Said:
        call = unwrapped(call, self._context)
        name, text, kind, extra = read_call(call, self._context)
        return Said(call.id, name, text, kind, extra)

    def _message(self, answer: ChoiceState, message: ChatMessage, out: list[Event]) -> None:
        content = message.content
        if content:
            if type(content) is str:
                answer.content.append(content)
                self._say(answer, "text", content, out)
            else:
                self._content_parts(answer, content, out)
        if message.tool_calls:
            for call in message.tool_calls:
                self._call(answer, call, out)
        thought = message.reasoning_content
        if thought:
            answer.reasoning.append(thought)
            self._say(answer, "reasoning", thought, out)
        # Nearly every delta has only these members. If it has any other, `_rest` handles it.
        usual = (
            (content is not None)
            + (message.role is not None)
            + (message.tool_calls is not None)
            + (thought is not None)
        )
        if astuple(message).count(None) + usual < _MEMBERS:
            self._rest(answer, message, out)

    def _rest(self, answer: ChoiceState, message: ChatMessage, out: list[Event]) -> None:
        thought = message.reasoning
        if thought and not message.reasoning_content:
            answer.member = "reasoning"
            answer.reasoning.append(thought)
            self._say(answer, "reasoning", thought, out)
        if message.reasoning_details:
            answer.details.add(message.reasoning_details)
        if message.refusal:
            answer.refusal.append(message.refusal)
            self._say(answer, "refusal", message.refusal, out)
        if message.function_call is not None:
            self._legacy(answer, message.function_call, out)
        if message.executed_tools:
            for number, tool in enumerate(message.executed_tools):
                key = tool.get("index", number) if isinstance(tool, dict) else number
                answer.executed[str(key)] = tool
        if message.annotations:
            answer.annotations += message.annotations
        carried = carry_message(message)
        if carried:
            answer.extra.setdefault("message", {}).update(carried)

    def _say(self, answer: ChoiceState, block: str, text: str, out: list[Event]) -> None:
        key = answer.keys.get(block)
        if key is None:
            key = answer.keys[block] = answer.total
            answer.total += 1
            out.append(BlockStart(answer.index, key, block))
        out.append(BlockDelta(answer.index, key, text))

    def _content_parts(self, answer: ChoiceState, content: Any, out: list[Event]) -> None:
        """Handle content that is a list of parts; Mistral streams text and thinking this way."""
        parts: list[Any] = content if isinstance(content, list) else [json_codec.text(content)]
        for part in parts:
            kind = part.get("type") if isinstance(part, dict) else "text"
            text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
            if kind == "text" and isinstance(text, str):
                answer.content.append(text)
                self._say(answer, "text", text, out)
            elif kind == "thinking":
                answer.thinking.update(part)
                thoughts = part.get("thinking")
                for thought in thoughts if isinstance(thoughts, list) else [thoughts]:
                    words = thought.get("text") if isinstance(thought, dict) else thought
                    if isinstance(words, str) and words:
                        answer.reasoning.append(words)
                        answer.member = "content"
                        self._say(answer, "reasoning", words, out)
            else:
                answer.parts.append(part)

    def _call(self, answer: ChoiceState, call: Call, out: list[Event]) -> None:
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
        slot = answer.slots.route(call, name, text)
        if rest or call.extra_ is not None:
            slot.keep(call.extra_, rest)
        if custom:
            slot.kind = "custom"
        elif call.type and call.type != "function":
            slot.kind = call.type
        if name is not None:
            add_name(slot, name, self._context)
        self._extend(answer, slot, text, out)

    def _extend(self, answer: ChoiceState, slot: CallState, text: str, out: list[Event]) -> None:
        """Append an argument fragment, which may be empty, and announce the call if it is due."""
        if slot.key < 0 and (text or (slot.name is not None and slot.id and slot.repeated is None)):
            self._announce(answer, slot, out)
        if not text:
            return
        if slot.kind == "custom":
            slot.add(text)
        elif add_text(slot, text):
            out.append(BlockReset(answer.index, slot.key, text))
            return
        out.append(BlockDelta(answer.index, slot.key, text))

    def _announce(self, answer: ChoiceState, slot: CallState, out: list[Event]) -> None:
        """Emit the start of a call, with id and name as far as they are known by now (ID-05)."""
        slot.key = answer.total
        answer.total += 1
        out.append(BlockStart(answer.index, slot.key, "tool_call", slot.id, slot.name))

    def _legacy(self, answer: ChoiceState, function: Function, out: list[Event]) -> None:
        """Handle `function_call`, the predecessor of `tool_calls`; without name and arguments it is not a call.

        Some servers send several in sequence. They are separated by the rules for calls that share one index.
        """
        text, rest = arguments_text(function, self._context)
        if not function.name and not text:
            return
        if answer.legacy is None:
            answer.legacy = CallRouter(self._context)
        slot = answer.legacy.route(Call(index=0), function.name or None, text)
        if function.name:
            add_name(slot, function.name, self._context)
        slot.keep(rest)
        if slot.key < 0 and slot.repeated is None:
            self._announce(answer, slot, out)
        self._extend(answer, slot, text, out)

    def finish(self) -> Response:
        """Return the response; it is incomplete if neither stop reasons nor [DONE] arrived (failure TERM-01)."""
        context = self._context
        answers = sorted(self._answers.values(), key=lambda a: a.index)
        stopped = bool(answers) and all(answer.stop for answer in answers)
        complete = self._error is None and (stopped or (self._done and bool(answers)))
        if not complete and self._error is None:
            context.find("stream-incomplete")
        choices = [self._choice(answer, not complete and not answer.stop) for answer in answers]
        return Response(
            context.wire,
            context.provider,
            self._id,
            self._model,
            choices if self._error is None else failed(choices),
            usage(self._usage),
            self._error,
            complete,
            self._extra,
        ).with_findings(context.findings)

    def _choice(self, answer: ChoiceState, broken_off: bool) -> model.Choice:
        builder = CallBuilder.of(self._context, answer.index, self._id)
        doubts = Doubts()
        message = answer.message(doubts)
        return finish(builder, message, answer.stop, answer.extra, broken_off, answer.functions(), doubts)
