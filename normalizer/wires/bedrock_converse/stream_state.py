"""State of a streamed content block: the fragments of its deltas, and the complete block that they give."""

from __future__ import annotations

from base64 import b64decode, b64encode
from itertools import groupby
from typing import Any

from msgspec import field

from ...model import Reasoning
from ..block_stream import BlockState
from ..schema import exact_text
from . import schema as s
from .blocks import is_server_call

#: The canonical type of a block, by the kind of its deltas (the member of the union).
TYPES = {
    "text": "text",
    "citation": "text",
    "toolUse": "tool_call",
    "reasoningContent": "reasoning",
    "toolResult": "server_tool_result",
    "image": "server_tool_result",
}


class ContentState(BlockState):
    """A content block of a stream in progress.

    ``kind``: its type, `text` also with citations. ``pieces``: the fragments that are not text, in the form of the
    wire. ``extra``: the unknown members of its events.
    """

    signature: list[str] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)
    pieces: list[Any] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> s.ToolUse | None:
        """The call of the block, or None if it is not a call."""
        return self.start if type(self.start) is s.ToolUse else None

    def header(self) -> tuple[str, str | None, str | None]:
        """See `BlockState.header`."""
        call = self.call
        if call is None:
            return TYPES.get(self.kind, "opaque"), None, None
        return "server_tool_call" if is_server_call(call) else "tool_call", call.id, call.name

    def initial(self) -> str:
        """See `BlockState.initial`."""
        return exact_text(self.call.input) if self.call is not None and memoryview(self.call.input) else ""

    def sealed(self) -> Reasoning | None:
        """See `BlockState.sealed`."""
        if self.redacted:
            return Reasoning(encrypted=_one_blob(self.redacted), redacted=True)
        return Reasoning(signature="".join(self.signature)) if self.signature else None

    def complete(self) -> s.Block:
        """Return the block as a complete message contains it."""
        text = "".join(self.parts)
        extra = self.extra or None
        if self.kind == "text":
            if not self.pieces:
                return s.Block(text=text, extra_=extra)
            content: list[Any] | None = [{"text": text}] if text else None
            return s.Block(citations=s.CitationsContent(content=content, citations=self.pieces, extra_=extra))
        if self.kind == "reasoningContent":
            return s.Block(reasoning=self._reasoning(text, extra))
        if self.kind == "toolUse":
            call = self.call or s.ToolUse()
            call.extra_ = {**(call.extra_ or {}), **self.extra} or None
            return s.Block(tool_use=call)
        if self.kind == "toolResult":
            result = self.start if type(self.start) is s.ToolResult else s.ToolResult()
            result.content = _joined(self.pieces)
            result.extra_ = {**(result.extra_ or {}), **self.extra} or None
            return s.Block(tool_result=result)
        raw: dict[str, Any] = dict(self.start) if isinstance(self.start, dict) else {}
        for piece in self.pieces:
            raw.update(piece if isinstance(piece, dict) else {"delta": piece})
        if self.kind == "image":
            return s.Block(image=raw, extra_=extra)
        return s.Block(extra_={self.kind: raw, **self.extra})

    def _reasoning(self, text: str, extra: dict[str, Any] | None) -> s.ReasoningContent:
        if self.redacted:
            return s.ReasoningContent(redacted=_one_blob(self.redacted), extra_=extra)
        signature = "".join(self.signature) if self.signature else None
        return s.ReasoningContent(text=s.ReasoningText(text=text, signature=signature, extra_=extra))


def _joined(pieces: list[Any]) -> list[Any]:
    """Return the content of a tool result; texts that follow each other are fragments of one text."""
    joined: list[Any] = []
    for is_text, group in groupby(pieces, _is_text):
        run = list(group)
        joined += [{"text": "".join(piece["text"] for piece in run)}] if is_text else run
    return joined


def _is_text(piece: Any) -> bool:
    return isinstance(piece, dict) and piece.keys() == {"text"} and isinstance(piece["text"], str)


def _one_blob(pieces: list[str]) -> str:
    """Return the base64 of bytes that came in several fragments, each in base64."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join(map(b64decode, pieces))).decode()
    except ValueError:
        return "".join(pieces)
