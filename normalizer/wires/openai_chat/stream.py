"""A stream of Chat Completions chunks into canonical events and, at its end, one response."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from ... import jsontext, model
from ...errors import TooManyCalls
from ...events import BlockDelta, BlockReset, BlockStart, ChoiceStop, Event, UsageUpdate
from ...model import Response, Stop
from ..common import CallSite, Context, StreamBase
from ..schema import Reader, run_reader
from .message import arguments_text, finish, stop_reason, usage
from .schema import (
    Body,
    Call,
    CallPiece,
    Choice,
    DeltaPiece,
    Function,
    Message,
    Piece,
    carry_body,
    carry_choice,
    carry_message,
)
from .slots import MAX_SLOTS, Slot, Slots, add_name, add_text

DONE = b"[DONE]"
_read_run = run_reader(Piece)
#: After so many runs with chunks in another shape the server speaks a dialect: the short path is not tried any more.
_PATIENCE = 8
_MEMBERS = len(Message.__struct_fields__)


def _more_arguments(slot: Slot | None, call: CallPiece) -> str | None:
    """The text of a piece that only continues the arguments of a call that was announced; null for anything else."""
    function = call.function
    if slot is None or slot.key < 0 or function is None or call.id is not None or function.name is not None:
        return None
    text = function.arguments
    if not text or text[0] == "{" or call.type is not None or slot.kind == "custom":
        return None
    return text


class _Answer:
    """One choice while it arrives."""

    __slots__ = (
        "annotations",
        "content",
        "details",
        "executed",
        "extra",
        "index",
        "keys",
        "legacy",
        "member",
        "parts",
        "reasoning",
        "refusal",
        "slots",
        "stop",
        "thinking",
        "total",
    )

    def __init__(self, index: int, context: Context) -> None:
        self.index = index
        self.content: list[str] = []
        self.parts: list[Any] = []
        self.reasoning: list[str] = []
        self.member = "reasoning_content"
        self.thinking: dict[str, Any] = {}  # members of Mistral's thinking parts, beside their words
        self.details = Details()
        self.refusal: list[str] = []
        self.annotations: list[Any] = []
        self.executed: dict[Any, Any] = {}
        self.legacy: Slot | None = None
        self.slots = Slots(context)
        self.stop: str | None = None
        self.extra: dict[str, Any] = {}
        self.keys: dict[str, int] = {}
        self.total = 0

    def message(self) -> Message:
        """The message that the deltas spell."""
        content: Any = "".join(self.content)
        reasoning = "".join(self.reasoning)
        parts = list(self.parts)
        if self.member == "content":
            parts.insert(0, {**self.thinking, "thinking": [{"type": "text", "text": reasoning}]})
        if parts:
            content = [*parts, {"type": "text", "text": content}] if content else parts
        legacy = self.legacy
        return Message(
            content=content,
            tool_calls=self.slots.calls(),
            refusal="".join(self.refusal),
            reasoning=reasoning if self.member == "reasoning" else None,
            reasoning_content=reasoning if self.member == "reasoning_content" else None,
            reasoning_details=self.details.whole(),
            function_call=Function(name=legacy.name, arguments=legacy.text) if legacy is not None else None,
            executed_tools=list(self.executed.values()),
            annotations=self.annotations,
        )


class Stream(StreamBase):
    """Feed it the payload of each event; it never looks at framing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = Reader(Body)
        self._answers: dict[int, _Answer] = {}
        self._usual = True
        self._misses = 0
        self._id: str | None = None
        self._model: str | None = None
        self._extra: dict[str, Any] = {}
        self._usage: dict[str, Any] | None = None
        self._done = False

    def run(self, payloads: list[bytes], out: list[Event]) -> None:
        """The short path: pieces of text, reasoning or arguments of an answer that has begun."""
        pieces = _read_run(payloads) if self._usual else []
        if not pieces:
            self._misses += 1
            self._usual = self._misses < _PATIENCE
            super().run(payloads, out)
            return
        answer: _Answer | None = None  # of the last piece, and its call
        slot: Slot | None = None
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
                    elif len(calls) == 1 and not delta.content:
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

    def _say_more(self, answer: _Answer, delta: DeltaPiece, out: list[Event]) -> bool:
        """Whether a piece was more text or more reasoning, and nothing else; if not, nothing was done with it."""
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
        """Take one event. Raises MalformedBody where its data is no JSON object."""
        if data == DONE:
            self._done = True
            return
        chunk = self._reader.read(data, self._notes)
        if self._notes:
            self._reader.lenient = True  # a dialect: do not try the fast path in vain for every chunk
            self._context.take(self._notes)
        choices = chunk.choices
        if choices:
            for choice in choices:
                answer = self._answers.get(choice.index or 0)
                if answer is None:
                    answer = self._begin(choice.index or 0)
                delta = choice.delta or choice.message
                if delta is not None:
                    self._message(answer, delta, out)
                carried = carry_choice(choice)
                if carried:
                    answer.extra.update(carried)
                if choice.finish_reason or choice.error:
                    self._end(answer, choice, out)
        if chunk.usage is not None:
            self._usage = chunk.usage
            figures = usage(chunk.usage)
            if figures is not None:
                out.append(UsageUpdate(figures))
        elif chunk.error or choices is None:
            self._odd(name, chunk, data, out)
        if self._id is None:
            self._id = chunk.id or None
            self._model = self._model or chunk.model or None
        self._extra.update(carry_body(chunk))

    def _begin(self, index: int) -> _Answer:
        if len(self._answers) >= MAX_SLOTS:
            raise TooManyCalls(f"more than {MAX_SLOTS} choices", hint="the stream is not a real answer")
        answer = self._answers[index] = _Answer(index, self._context)
        return answer

    def _end(self, answer: _Answer, choice: Choice, out: list[Event]) -> None:
        """The last word counts; the same word twice is one stop (FIN-01, XAI-04)."""
        raw = choice.finish_reason
        if raw and raw != answer.stop:
            answer.stop = raw
            out.append(ChoiceStop(answer.index, Stop(stop_reason(raw, answer.extra) or "unknown", raw)))
        if choice.error:
            self.fail(choice.error, out)

    def _odd(self, name: str | None, chunk: Body, data: bytes, out: list[Event]) -> None:
        """A chunk without choices or usage: an error in the middle of the stream (SSE-07), or nothing known."""
        if chunk.error or name == "error" or (chunk.extra_ and not chunk.id):
            self.fail(jsontext.decode(data), out)

    def _message(self, answer: _Answer, message: Message, out: list[Event]) -> None:
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
        # Nearly every delta sets nothing but these; a single other member, even alone, is looked for in `_rest`.
        usual = (
            (content is not None)
            + (message.role is not None)
            + (message.tool_calls is not None)
            + (thought is not None)
        )
        if astuple(message).count(None) + usual < _MEMBERS:
            self._rest(answer, message, out)

    def _rest(self, answer: _Answer, message: Message, out: list[Event]) -> None:
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

    def _say(self, answer: _Answer, block: str, text: str, out: list[Event]) -> None:
        key = answer.keys.get(block)
        if key is None:
            key = answer.keys[block] = answer.total
            answer.total += 1
            out.append(BlockStart(answer.index, key, block))
        out.append(BlockDelta(answer.index, key, text))

    def _content_parts(self, answer: _Answer, content: Any, out: list[Event]) -> None:
        """Mistral streams text and thinking as lists of parts; equal neighbours are joined."""
        parts: list[Any] = content if isinstance(content, list) else [jsontext.text(content)]
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

    def _call(self, answer: _Answer, call: Call, out: list[Event]) -> None:
        function = call.function
        custom = False
        if function is None:
            name, text = None, ""
            if call.custom is not None:
                custom = True
                name, text = call.custom.name, call.custom.input or ""
        else:
            name, text = function.name, function.arguments or ""
            if function.extra_ is not None:
                text = arguments_text(function, self._context)[0]
        if not name:
            name = None
        slot = answer.slots.route(call, name, text)
        if custom:
            slot.kind = "custom"
        elif call.type and call.type != "function":
            slot.kind = call.type
        if name is not None:
            add_name(slot, name, self._context)
        if slot.key < 0 and (text or (slot.name is not None and slot.id)):
            self._announce(answer, slot, out)
        if not text:
            return
        if custom:
            slot.add(text)
        elif add_text(slot, text, self._context):
            out.append(BlockReset(answer.index, slot.key, text))
            return
        out.append(BlockDelta(answer.index, slot.key, text))

    def _announce(self, answer: _Answer, slot: Slot, out: list[Event]) -> None:
        """A call starts once its id and name are known, or when its arguments begin without them (ID-05)."""
        slot.key = answer.total
        answer.total += 1
        out.append(BlockStart(answer.index, slot.key, "tool_call", slot.id, slot.name))

    def _legacy(self, answer: _Answer, function: Function, out: list[Event]) -> None:
        """The one call of the days before `tool_calls`; a name and arguments of nothing are no call."""
        if not function.name and not function.arguments:
            return
        slot = answer.legacy
        if slot is None:
            slot = answer.legacy = Slot(0, None)
        if function.name and function.name != slot.name:
            slot.name = (slot.name or "") + function.name
        if slot.key < 0:
            self._announce(answer, slot, out)
        if function.arguments:
            slot.add(function.arguments)
            out.append(BlockDelta(answer.index, slot.key, function.arguments))

    def finish(self) -> Response:
        """The response; incomplete where no stop reason and no [DONE] came (failure TERM-01)."""
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
            choices,
            usage(self._usage),
            self._error,
            complete,
            self._extra,
        ).with_findings(context.findings)

    def _choice(self, answer: _Answer, broken_off: bool) -> model.Choice:
        site = CallSite.of(self._context, answer.index, self._id)
        return finish(site, answer.message(), answer.stop, answer.extra, broken_off)


class Details:
    """OpenRouter's reasoning_details: pieces with the index and type of the last one continue it, in linear time."""

    __slots__ = ("_entries", "_growing")

    def __init__(self) -> None:
        self._entries: list[Any] = []
        self._growing: dict[str, list[str]] = {}

    def add(self, news: list[Any]) -> None:
        """Take the details of one chunk."""
        for detail in news:
            last = self._entries[-1] if self._entries else None
            if not isinstance(detail, dict):
                self._close()
                self._entries.append(detail)
                continue
            if (
                not isinstance(last, dict)
                or last.get("index") != detail.get("index")
                or last.get("type") != detail.get("type")
            ):
                self._close()
                last = {}
                self._entries.append(last)
            for key, value in detail.items():
                if key in ("text", "summary", "data") and isinstance(value, str):
                    self._growing.setdefault(key, []).append(value)
                    last.setdefault(key, "")
                elif value is not None or key not in last:
                    last[key] = value

    def _close(self) -> None:
        for key, pieces in self._growing.items():
            self._entries[-1][key] = "".join(pieces)
        self._growing = {}

    def whole(self) -> list[Any]:
        """All details, joined."""
        self._close()
        return self._entries
