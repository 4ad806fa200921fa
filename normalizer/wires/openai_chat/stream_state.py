"""State of one choice while its stream arrives, and its comparison with a `message` that repeats it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ...model import Block
from .blocks import reasoning
from .routing import CallRouter, Doubts, StreamedCall
from .schema import ChatMessage, Function


class ReasoningDetails(Struct, eq=False):
    """Collects OpenRouter's `reasoning_details`; a fragment with index and type of the last entry continues it."""

    _entries: list[Any] = []
    _growing: dict[str, list[str]] = {}

    def add(self, news: list[Any]) -> None:
        """Add the details of one chunk."""
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

    @property
    def texts(self) -> list[str] | None:
        """The fragments of the text of the last detail; None if it has no text."""
        return self._growing.get("text")

    @property
    def begun(self) -> bool:
        """Whether any detail has arrived."""
        return bool(self._entries)

    def _close(self) -> None:
        for key, pieces in self._growing.items():
            self._entries[-1][key] = "".join(pieces)
        self._growing = {}

    def whole(self) -> list[Any]:
        """Return all details with their fragments concatenated."""
        self._close()
        return self._entries


class ChoiceState(Struct, eq=False):
    """The content of a choice from its deltas so far.

    ``keys``: kind of block -> its key in the event stream. ``sends_messages``: the server sends deltas as `message`.
    ``end``: the choice of the last chunk with a stop reason, and the usage in it.
    """

    index: int
    calls: CallRouter
    content: list[str] = []
    parts: list[Any] = []
    reasoning: list[str] = []
    member: str = "reasoning_content"
    thinking: dict[str, Any] = {}  # members of Mistral's thinking parts except the text
    details: ReasoningDetails = field(default_factory=ReasoningDetails)
    refusal: list[str] = []
    annotations: list[Any] = []
    executed: dict[str, Any] = {}
    functions: CallRouter | None = None
    stop: str | None = None
    extra: dict[str, Any] = {}
    keys: dict[str, int] = {}
    block_count: int = 0
    sends_messages: bool = False
    end: tuple[Any, Any] | None = None

    @property
    def is_regular(self) -> bool:
        """Whether the choice only has text, reasoning and calls."""
        return not (
            self.parts
            or self.refusal
            or self.annotations
            or self.executed
            or self.functions is not None
            or self.member == "content"
        )

    def thoughts(self) -> Block | None:
        """Return the reasoning of a regular choice; None if there is none."""
        text = "".join(self.reasoning)
        if not (text or self.details.begun):
            return None
        details = self.details.whole()
        return reasoning(None, text, details) if self.member == "reasoning" else reasoning(text, None, details)

    def without_streamed(self, message: ChatMessage) -> ChatMessage:
        """Return a `message` without the content that the deltas already contained; Perplexity repeats all of it.

        Calls are removed as well; `matched` handles them.
        """
        has_reasoning = bool(self.reasoning)
        return replace(
            message,
            content=None if self.content or self.parts else message.content,
            tool_calls=None,
            function_call=None,
            reasoning=None if has_reasoning else message.reasoning,
            reasoning_content=None if has_reasoning else message.reasoning_content,
            reasoning_details=None if self.details.begun else message.reasoning_details,
            refusal=None if self.refusal else message.refusal,
            annotations=None if self.annotations else message.annotations,
        )

    def function_calls(self) -> list[Function]:
        """Return the calls that arrived as `function_call`."""
        calls = [] if self.functions is None else self.functions.calls(Doubts())
        return [call.function for call in calls if call.function is not None]

    def message(self, doubts: Doubts) -> ChatMessage:
        """Return the message from the deltas, without `function_calls`. Doubtful calls are added to ``doubts``."""
        content: Any = "".join(self.content)
        reasoning = "".join(self.reasoning)
        parts = list(self.parts)
        if self.member == "content":
            parts.insert(0, {**self.thinking, "thinking": [{"type": "text", "text": reasoning}]})
        if parts:
            content = [*parts, {"type": "text", "text": content}] if content else parts
        return ChatMessage(
            content=content,
            tool_calls=self.calls.calls(doubts),
            refusal="".join(self.refusal),
            reasoning=reasoning if self.member == "reasoning" else None,
            reasoning_content=reasoning if self.member == "reasoning_content" else None,
            reasoning_details=self.details.whole(),
            executed_tools=list(self.executed.values()),
            annotations=self.annotations,
        )


class RepeatedCall(Struct):
    """One call of a `message`."""

    id: str | None
    name: str | None
    text: str
    kind: str
    extra: dict[str, Any] | None


def matched(streamed: list[StreamedCall], calls: list[RepeatedCall]) -> list[StreamedCall | None]:
    """Return for each call the streamed call that it repeats, None if there is none.

    A match has the same id and name, or else the same name and arguments. Failing both, it has the same name, its
    arguments are a prefix of the call's, and one of the two has no id.
    """
    matches: list[StreamedCall | None] = [None] * len(calls)
    left = streamed
    for key in (_identity, _value, _name):
        waiting = [number for number, call_state in enumerate(matches) if call_state is None]
        if not waiting or not left:
            break
        by_key: dict[Any, list[StreamedCall]] = {}
        for call_state in reversed(left):
            if (named := key(call_state)) is not None:
                by_key.setdefault(named, []).append(call_state)
        for number in waiting:
            call = calls[number]
            same = by_key.get(key(call))
            if same and (key is not _name or _may_become(same[-1], call)):
                matches[number] = same.pop()
        taken = {call_state.order for call_state in matches if call_state is not None}
        left = [call_state for call_state in left if call_state.order not in taken]
    return matches


def differs(slot: StreamedCall, text: str) -> bool:
    """Whether ``text`` differs from the streamed arguments; a prefix of them and an equal JSON value do not."""
    return not slot.text.startswith(text) and _by_value(slot.text) != _by_value(text)


def _identity(call: StreamedCall | RepeatedCall) -> Any:
    return (call.id, call.name) if call.id else None


def _value(call: StreamedCall | RepeatedCall) -> Any:
    return (call.name, _by_value(call.text)) if call.text.strip() else None


def _name(call: StreamedCall | RepeatedCall) -> Any:
    return call.name


def _may_become(slot: StreamedCall, call: RepeatedCall) -> bool:
    return not (slot.id and call.id) and (not slot.has_arguments or call.text.startswith(slot.text))


def _by_value(text: str) -> str:
    from ...arguments import by_value  # imported lazily

    return by_value(text)
