"""A content block while its stream arrives: its pieces, and how they become the block."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from ... import json_codec
from ..schema import Unknown, Wire, exact_text
from .schema import (
    Compaction,
    Delta,
    InputPiece,
    McpToolUseBlock,
    ServerToolUseBlock,
    TextBlock,
    TextPiece,
    ThinkingBlock,
    ThinkingPiece,
    ToolUseBlock,
)

#: The member that holds the words of a delta, by the delta's type.
WORDS = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "compaction_delta": "content",
}
_MEMBERS = ("text", "partial_json", "thinking")
USES = (ToolUseBlock, ServerToolUseBlock, McpToolUseBlock)
#: The words that a block takes, and the struct of the usual delta that holds them.
_TAKES: dict[type[Wire], tuple[str, type[Struct] | None]] = {
    TextBlock: ("text", TextPiece),
    ThinkingBlock: ("thinking", ThinkingPiece),
    Compaction: ("content", None),
    **dict.fromkeys(USES, ("partial_json", InputPiece)),
}
#: Inputs that hold no argument.
NO_INPUT = frozenset(("", "{}", "null"))


class Open:
    """One content block while it arrives.

    ``before``: the earlier block under the same index. ``implied``: no start announced the block. ``doubtful``: words
    of another type came under its index, or arguments came that may belong to it. ``first``: the block whose call its
    start announced once more.
    """

    __slots__ = (
        *("before", "block", "doubtful", "first", "implied", "index", "key", "members", "parts", "piece"),
        *("signature", "stopped", "takes"),
    )

    def __init__(self, block: Wire, index: int, key: int, before: Open | None = None, implied: bool = False) -> None:
        self.index = index
        self.key = key
        self.before = before
        self.first: Open | None = None
        self.implied = implied
        self.doubtful = False
        self.parts: list[str] = []
        self.signature: list[str] = []
        self.members: dict[str, list[Any]] = {}  # what deltas gave that the block has no field for
        self.stopped = False
        self.become(block)

    def become(self, block: Wire) -> None:
        """Take the block that a start announces."""
        self.block: Any = block
        self.takes: str | None
        self.piece: type[Struct] | None
        self.takes, self.piece = _TAKES.get(type(block), (None, None))

    def fits(self, member: str) -> bool:
        """Whether the block takes words of this member. A block of an unknown type takes all."""
        return self.takes == member or type(self.block) is Unknown

    def keep(self, member: str, piece: Any) -> None:
        """Keep a piece of a member that no field of the block stands for."""
        self.members.setdefault(member, []).append(piece)

    def is_call(self, block: Wire) -> bool:
        """Whether a start announces the very call that the block is: the same type, id and name."""
        held = self.block
        if not isinstance(held, ToolUseBlock) or not isinstance(block, ToolUseBlock):
            return False
        return bool(held.id) and (held.id, held.name) == (block.id, block.name)

    def asks_nothing(self) -> bool:
        """Whether the block is a call without any argument, neither at its start nor in a delta."""
        return isinstance(self.block, USES) and not self.parts and spelled(self.block.input).strip() in NO_INPUT


def words(delta: Delta) -> tuple[str, str | None]:
    """The words of a delta and the member of their type; a type that no table names has that of its first words."""
    member = WORDS.get(delta.type or "")
    text: str | None = getattr(delta, member) if member else None
    if not text:
        for other in _MEMBERS:
            if getattr(delta, other):
                return member or other, getattr(delta, other)
    return member or "text", text


def add_members(block: Wire, members: dict[str, list[Any]]) -> None:
    """What deltas gave beyond a block's words: into its field of that name, or beside the members nobody knows.

    A block of an unknown type gets what the wire's own blocks would get of such deltas.
    """
    known = type(block).__struct_fields__
    beside = dict(block.extra_ or ())
    unknown = block.raw if type(block) is Unknown and isinstance(block.raw, dict) else None
    for member, pieces in members.items():
        if unknown is not None:
            _add_to_unknown(unknown, beside, member, pieces)
        elif member in known:
            setattr(block, member, _joined(member, getattr(block, member), pieces))
        else:
            beside[member] = _joined(member, beside.get(member), pieces)
    block.extra_ = beside or None


def _add_to_unknown(raw: dict[str, Any], beside: dict[str, Any], member: str, pieces: list[Any]) -> None:
    if member != "partial_json":
        raw[member] = _joined(member, raw.get(member), pieces)
        return
    text = "".join(pieces)
    try:
        raw["input"] = json_codec.decode(text)
    except (ValueError, RecursionError):
        beside[member] = text


def _joined(member: str, held: Any, pieces: list[Any]) -> Any:
    if member == "citations":
        return [*held, *pieces] if isinstance(held, list) else pieces
    words = "".join(pieces)
    return held + words if isinstance(held, str) and member != "signature" else words


def spelled(given: Raw) -> str:
    """The JSON text of an input; empty where there is none."""
    return exact_text(given) if memoryview(given) else ""
