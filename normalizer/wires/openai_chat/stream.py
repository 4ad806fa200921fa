"""A stream of Chat Completions chunks into canonical events and, at its end, one response."""

from __future__ import annotations

from typing import Any

from ... import jsontext
from ...events import BlockDelta, BlockReset, BlockStart, ChoiceStop, Event, StreamError, UsageUpdate
from ...model import Response, Stop
from ..common import CallSite, Context, error_of
from ..schema import Note, Reader
from .decode import entry, objects_as_text
from .message import Entry, Said, finish, stop_reason, usage
from .schema import Body, Call, Function, Message, carry_body, carry_choice, carry_message
from .slots import Slot, Slots, add_name, add_text

DONE = b"[DONE]"


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
        "total",
    )

    def __init__(self, index: int, context: Context) -> None:
        self.index = index
        self.content: list[str] = []
        self.parts: list[Any] = []
        self.reasoning: list[str] = []
        self.member = "reasoning_content"
        self.details = Details()
        self.refusal: list[str] = []
        self.annotations: list[Any] = []
        self.executed: dict[Any, Any] = {}
        self.legacy: Entry | None = None
        self.slots = Slots(context)
        self.stop: str | None = None
        self.extra: dict[str, Any] = {}
        self.keys: dict[str, int] = {}
        self.total = 0


class Stream:
    """Feed it the payload of each event; it never looks at framing."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reader = Reader(Body)
        self._answers: dict[int, _Answer] = {}
        self._notes: list[Note] = []
        self._id: str | None = None
        self._model: str | None = None
        self._extra: dict[str, Any] = {}
        self._usage: dict[str, Any] | None = None
        self._error: Any = None
        self._done = False

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Take one event. Raises MalformedBody where its data is no JSON object."""
        if data == DONE:
            self._done = True
            return
        chunk = self._reader.read(data, self._notes)
        if self._notes:
            self._reader.lenient = True  # a dialect: do not try the fast path in vain for every chunk
            self._context.take(self._notes)
        if self._id is None and chunk.id:
            self._id = chunk.id
        if chunk.model and chunk.model != self._model:
            self._model = self._model or chunk.model
        if chunk.choices:
            for choice in chunk.choices:
                index = choice.index or 0
                answer = self._answers.get(index)
                if answer is None:
                    answer = self._answers[index] = _Answer(index, self._context)
                message = choice.delta or choice.message
                if message is not None:
                    self._message(answer, message, out)
                if choice.finish_reason:
                    self._stop(answer, choice.finish_reason, out)
                if choice.error:
                    self.fail(choice.error, out)
                carried = carry_choice(choice)
                if carried:
                    answer.extra.update(carried)
        if chunk.usage is not None:
            self._usage = chunk.usage
            figures = usage(chunk.usage)
            if figures is not None:
                out.append(UsageUpdate(figures))
        if chunk.error or (chunk.choices is None and chunk.usage is None):
            self._odd(name, chunk, data, out)
        self._extra.update(carry_body(chunk))

    def _odd(self, name: str | None, chunk: Body, data: bytes, out: list[Event]) -> None:
        """A chunk without choices or usage: an error in the middle of the stream (SSE-07), or nothing known."""
        if chunk.error or name == "error" or (chunk.extra_ and not chunk.id):
            self.fail(jsontext.decode(data), out)

    def fail(self, raw: Any, out: list[Event]) -> None:
        """Something went wrong in mid-stream; ``raw`` is what the provider, or the framing, says of it."""
        self._error = error_of(raw, self._context.status)
        self._context.find("stream-error", f"{self._error.type}: {self._error.message}"[:500])
        if isinstance(raw, dict) and isinstance(raw.get("error"), dict) and "failed_generation" in raw["error"]:
            self._context.find("provider-rejected-call", "failed_generation holds what the model wrote")
        out.append(StreamError(self._error))

    def _stop(self, answer: _Answer, raw: str, out: list[Event]) -> None:
        """The last word counts; the same word twice is one stop (FIN-01, XAI-04)."""
        if raw != answer.stop:
            answer.stop = raw
            out.append(ChoiceStop(answer.index, Stop(stop_reason(raw, answer.extra) or "unknown", raw)))

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
        if not thought:
            thought = message.reasoning
            if thought:
                answer.member = "reasoning"
        if thought:
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
        for part in content if isinstance(content, list) else [jsontext.text(content)]:
            kind = part.get("type") if isinstance(part, dict) else "text"
            text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
            if kind == "text" and isinstance(text, str):
                answer.content.append(text)
                self._say(answer, "text", text, out)
            elif kind == "thinking":
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
        if function is None:
            piece = entry(call, self._context) if call.custom is not None else None
            name, text = (piece.name, piece.text) if piece is not None else (None, "")
        else:
            name, given = function.name, function.arguments
            text = objects_as_text(function.extra_, self._context)[0] if given is None else given
        if not name:
            name = None
        slot = answer.slots.route(call, name, text)
        if call.custom is not None and function is None:
            slot.kind = "custom"
        elif call.type and call.type != "function":
            slot.kind = call.type
        if name is not None:
            add_name(slot, name, self._context)
        if slot.key < 0 and (slot.name is not None and slot.id or text):
            self._announce(answer, slot, out)
        if text:
            if slot.kind != "custom" and add_text(slot, text, self._context):
                out.append(BlockReset(answer.index, slot.key, text))
                return
            if slot.kind == "custom":
                slot.parts.append(text)
                slot.length += len(text)
            out.append(BlockDelta(answer.index, slot.key, text))

    def _announce(self, answer: _Answer, slot: Slot, out: list[Event]) -> None:
        """A call starts once its id and name are known, or when its arguments begin without them (ID-05)."""
        slot.key = answer.total
        answer.total += 1
        out.append(BlockStart(answer.index, slot.key, "tool_call", slot.id, slot.name))

    def _legacy(self, answer: _Answer, function: Function, out: list[Event]) -> None:
        if not function.name and not function.arguments:
            return
        legacy = answer.legacy
        if legacy is None:
            legacy = answer.legacy = Entry(None, None, "", "legacy_function", {"parts": []})
            answer.keys["legacy"] = answer.total
            answer.total += 1
            out.append(BlockStart(answer.index, answer.keys["legacy"], "tool_call", None, function.name))
        if function.name and function.name != legacy.name:
            legacy.name = (legacy.name or "") + function.name
        if function.arguments:
            assert legacy.extra is not None
            legacy.extra["parts"].append(function.arguments)
            out.append(BlockDelta(answer.index, answer.keys["legacy"], function.arguments))

    def finish(self) -> Response:
        """The response; incomplete where no stop reason and no [DONE] came (failure TERM-01)."""
        context = self._context
        answers = sorted(self._answers.values(), key=lambda a: a.index)
        stopped = bool(answers) and all(answer.stop for answer in answers)
        complete = self._error is None and (stopped or (self._done and bool(answers)))
        if not complete and self._error is None:
            context.find("stream-incomplete")
        choices = [self._choice(answer, complete) for answer in answers]
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

    def _choice(self, answer: _Answer, complete: bool) -> Any:
        calls = answer.slots.entries()
        if answer.legacy is not None:
            legacy = answer.legacy
            assert legacy.extra is not None
            calls.append(Entry(None, legacy.name, "".join(legacy.extra["parts"]), legacy.kind))
        content: Any = "".join(answer.content)
        if answer.parts:
            content = [{"type": "text", "text": content}, *answer.parts] if content else answer.parts
        said = Said(
            calls,
            content,
            "".join(answer.reasoning),
            answer.member,
            answer.details.whole(),
            "".join(answer.refusal),
            answer.annotations,
            list(answer.executed.values()),
        )
        site = CallSite(self._context, answer.index, self._id)
        return finish(site, said, answer.stop, answer.extra)


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
