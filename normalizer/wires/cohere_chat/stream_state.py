"""State of the plan, a content or a call while it streams, and the parts of a finished message."""

from __future__ import annotations

from msgspec import Raw

from ..block_stream import BlockState
from ..schema import Unknown, raw_object
from . import schema as s

#: The members of a content that hold its text, by its type.
TEXTS = ("text", "thinking")
#: The canonical type of each kind of block.
CANONICAL = {"plan": "reasoning", "text": "text", "thinking": "reasoning", "call": "tool_call"}


class PartState(BlockState):
    """The plan, a content or a call of a stream in progress.

    ``kind``: "plan", "call", or the type of a content.
    """

    def header(self) -> tuple[str, str | None, str | None]:
        """See `BlockState.header`."""
        block_type, call = CANONICAL.get(self.kind, "opaque"), self.start
        return (block_type, call.id, name_of(call)) if isinstance(call, s.Call) else (block_type, None, None)

    def takes(self, kind: str) -> bool:
        """Report whether the text in this member belongs to the content. One of an unknown type accepts all."""
        return bool(self.kind == kind) or self.kind not in CANONICAL

    def content(self) -> s.Content:
        """Return the finished content."""
        text = "".join(self.parts)
        extra = self.start.extra_
        if self.kind == "text":
            return s.TextContent(text=text, extra_=extra)
        if self.kind == "thinking":
            return s.ThinkingContent(thinking=text, extra_=extra)
        raw = raw_object(self.start)
        return Unknown(wire_type=self.kind, raw={**raw, "text": text} if text else raw)

    def call(self) -> s.Call:
        """Return the finished call."""
        start: s.Call = self.start
        held = start.function or s.Function()
        return s.Call(
            id=start.id,
            type=start.type,
            function=s.Function(name=held.name, arguments="".join(self.parts), extra_=held.extra_),
            extra_=start.extra_,
        )

    def call_v1(self) -> s.CallV1:
        """Return the finished call of version 1."""
        call = self.call()
        text = "" if call.function is None else call.function.arguments or ""
        return s.CallV1(name=name_of(call), parameters=Raw(text.encode("utf-8", "surrogatepass")), extra_=call.extra_)


def content_text(piece: s.ContentPiece) -> tuple[str, str]:
    """Return the member of a piece that holds its text, and the text. Its type decides if there is none."""
    for member in TEXTS:
        if text := getattr(piece, member):
            return member, text
    return piece.type or ("text" if piece.thinking is None else "thinking"), ""


def name_of(call: s.Call) -> str | None:
    """Return the name of a call, or None."""
    return None if call.function is None else call.function.name
