"""State of one choice while its stream arrives."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..decode_context import Context
from .reasoning_details import Details
from .routing import CallRouter, Doubts
from .schema import ChatMessage, Function


class ChoiceState:
    """The content of a choice from its deltas so far.

    ``keys``: kind of block -> its key in the event stream. ``whole``: the server sends deltas as `message`.
    """

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
        "whole",
    )

    def __init__(self, index: int, context: Context) -> None:
        self.index = index
        self.content: list[str] = []
        self.parts: list[Any] = []
        self.reasoning: list[str] = []
        self.member = "reasoning_content"
        self.thinking: dict[str, Any] = {}  # members of Mistral's thinking parts except the text
        self.details = Details()
        self.refusal: list[str] = []
        self.annotations: list[Any] = []
        self.executed: dict[Any, Any] = {}
        self.legacy: CallRouter | None = None
        self.slots = CallRouter(context)
        self.stop: str | None = None
        self.extra: dict[str, Any] = {}
        self.keys: dict[str, int] = {}
        self.total = 0
        self.whole = False

    def unsaid(self, message: ChatMessage) -> ChatMessage:
        """Return a `message` without the content that the deltas already contained; Perplexity repeats all of it.

        Calls are removed as well; `repeats` handles them.
        """
        thought = bool(self.reasoning)
        return replace(
            message,
            content=None if self.content or self.parts else message.content,
            tool_calls=None,
            function_call=None,
            reasoning=None if thought else message.reasoning,
            reasoning_content=None if thought else message.reasoning_content,
            reasoning_details=None if self.details.begun else message.reasoning_details,
            refusal=None if self.refusal else message.refusal,
            annotations=None if self.annotations else message.annotations,
        )

    def functions(self) -> list[Function]:
        """Return the calls that arrived as `function_call`."""
        calls = [] if self.legacy is None else self.legacy.calls(Doubts())
        return [call.function for call in calls if call.function is not None]

    def message(self, doubts: Doubts) -> ChatMessage:
        """Return the message from the deltas, without `functions`. Doubtful calls are added to ``doubts``."""
        content: Any = "".join(self.content)
        reasoning = "".join(self.reasoning)
        parts = list(self.parts)
        if self.member == "content":
            parts.insert(0, {**self.thinking, "thinking": [{"type": "text", "text": reasoning}]})
        if parts:
            content = [*parts, {"type": "text", "text": content}] if content else parts
        return ChatMessage(
            content=content,
            tool_calls=self.slots.calls(doubts),
            refusal="".join(self.refusal),
            reasoning=reasoning if self.member == "reasoning" else None,
            reasoning_content=reasoning if self.member == "reasoning_content" else None,
            reasoning_details=self.details.whole(),
            executed_tools=list(self.executed.values()),
            annotations=self.annotations,
        )
