"""State of a streamed content block: the fragments of its deltas, and how they complete the block."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from ... import json_codec
from ..schema import Unknown, Wire, exact_text
from . import schema as s

#: The member that contains the text of a delta, by the delta's type.
TEXT_MEMBERS = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "compaction_delta": "content",
}
_MEMBERS = ("text", "partial_json", "thinking")
USES = (s.ToolUseBlock, s.ServerToolUseBlock, s.McpToolUseBlock)
#: The delta member whose text belongs to a block, and the fast path's struct for such a delta.
_TAKES: dict[type[Wire], tuple[str, type[Struct] | None]] = {
    s.TextBlock: ("text", s.TextPiece),
    s.ThinkingBlock: ("thinking", s.ThinkingPiece),
    s.Compaction: ("content", None),
    **dict.fromkeys(USES, ("partial_json", s.InputPiece)),
}
#: JSON texts of inputs without any argument.
NO_INPUT = frozenset(("", "{}", "null"))


class BlockState(Struct, eq=False):
    """A content block of a stream in progress.

    ``before``: the earlier block with the same index. ``implied``: a delta created the block, without a start event.
    ``doubtful``: text of another type came with its index, or misplaced arguments may belong to it. ``first``: the
    block whose call this block's start event repeats.
    """

    block: Any
    index: int
    key: int
    before: BlockState | None = None
    implied: bool = False
    first: BlockState | None = None
    doubtful: bool = False
    stopped: bool = False
    takes: str | None = None
    piece: type[Struct] | None = None
    parts: list[str] = []
    signature: list[str] = []
    members: dict[str, list[Any]] = {}  # fragments of other members than the block's main text

    def become(self, block: Wire) -> None:
        """Use the block of a start event."""
        self.block = block
        self.takes, self.piece = _TAKES.get(type(block), (None, None))

    def fits(self, member: str) -> bool:
        """Report whether text in this delta member belongs to the block. A block of an unknown type accepts all."""
        return self.takes == member or type(self.block) is Unknown

    def keep(self, member: str, piece: Any) -> None:
        """Keep a fragment of a member other than the block's main text, for `add_members`."""
        self.members.setdefault(member, []).append(piece)

    def is_call(self, block: Wire) -> bool:
        """Report whether ``block`` is the same client call as this one, by type, id and name."""
        held = self.block
        if not isinstance(held, s.ToolUseBlock) or not isinstance(block, s.ToolUseBlock):
            return False
        return bool(held.id) and (held.id, held.name) == (block.id, block.name)

    def has_no_arguments(self) -> bool:
        """Report whether the block is a call without any argument, in its start event and in its deltas."""
        return isinstance(self.block, USES) and not self.parts and input_text(self.block.input).strip() in NO_INPUT


def delta_text(delta: s.Delta) -> tuple[str, str | None]:
    """Return the delta member that determines its block, and the text of the delta.

    `TEXT_MEMBERS` gives the member for the delta's type. For an unknown type it is the first member with text.
    """
    member = TEXT_MEMBERS.get(delta.type or "")
    text: str | None = getattr(delta, member) if member else None
    if not text:
        for other in _MEMBERS:
            if getattr(delta, other):
                return member or other, getattr(delta, other)
    return member or "text", text


def add_members(block: Wire, members: dict[str, list[Any]]) -> None:
    """Add the fragments that deltas gave besides a block's main text: to the field of that name, or to ``extra_``.

    In a block of an unknown type they go into its raw object.
    """
    known = type(block).__struct_fields__
    beside = dict(block.extra_ or ())
    unknown = block.raw if type(block) is Unknown and isinstance(block.raw, dict) else None
    for member, pieces in members.items():
        if unknown is not None:
            _add_to_unknown(unknown, beside, member, pieces)
        elif member in known:
            setattr(block, member, _concatenated(member, getattr(block, member), pieces))
        else:
            beside[member] = _concatenated(member, beside.get(member), pieces)
    block.extra_ = beside or None


def _add_to_unknown(raw: dict[str, Any], beside: dict[str, Any], member: str, pieces: list[Any]) -> None:
    if member != "partial_json":
        raw[member] = _concatenated(member, raw.get(member), pieces)
        return
    text = "".join(pieces)
    try:
        raw["input"] = json_codec.decode(text)
    except (ValueError, RecursionError):
        beside[member] = text


def _concatenated(member: str, held: Any, pieces: list[Any]) -> Any:
    if member == "citations":
        return [*held, *pieces] if isinstance(held, list) else pieces
    text = "".join(pieces)
    return held + text if isinstance(held, str) and member != "signature" else text


def input_text(input: Raw) -> str:
    """Return the JSON text of an input, or an empty text if there is no input."""
    return exact_text(input) if memoryview(input) else ""
