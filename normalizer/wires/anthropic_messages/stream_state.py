"""State of a streamed content block: the fragments of its deltas, and how they complete the block."""

from __future__ import annotations

from typing import Any

from msgspec import field

from ... import json_codec
from ...model import Reasoning
from ..block_stream import BlockState
from ..calls import NO_ARGUMENTS
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
#: The delta member whose text belongs to a block.
KINDS: dict[type[Wire], str] = {
    s.TextBlock: "text",
    s.ThinkingBlock: "thinking",
    s.Compaction: "content",
    **dict.fromkeys(USES, "partial_json"),
}
_BLOCK_TYPES: dict[type[Wire], str] = {
    s.TextBlock: "text",
    s.ThinkingBlock: "reasoning",
    s.RedactedThinkingBlock: "reasoning",
    s.Compaction: "reasoning",
    s.ToolUseBlock: "tool_call",
    s.ServerToolUseBlock: "server_tool_call",
    s.McpToolUseBlock: "server_tool_call",
    Unknown: "opaque",
}


class ContentBlockState(BlockState):
    """A content block of a stream in progress.

    ``kind``: the delta member whose text belongs to it, None for a block without text. ``doubtful``: text of another
    type came with its index, or misplaced arguments may belong to it. ``first``: the block whose call this block's
    start event repeats. ``members``: the fragments of other members than its main text.
    """

    first: ContentBlockState | None = None
    signature: list[str] = field(default_factory=list)
    members: dict[str, list[Any]] = field(default_factory=dict)

    def takes(self, kind: str) -> bool:
        """See `BlockState.takes`. A block of an unknown type accepts all."""
        return bool(self.kind == kind) or type(self.start) is Unknown

    def attach(self, kind: str, text: str) -> bool:
        """See `BlockState.attach`."""
        if kind != "signature" or type(self.start) is not s.ThinkingBlock:
            return False
        self.signature.append(text)
        return True

    @property
    def type(self) -> str:
        """See `BlockState.type`."""
        block = self.start
        return str(block.wire_type if type(block) is Unknown else block.__struct_config__.tag)

    def header(self) -> tuple[str, str | None, str | None]:
        """See `BlockState.header`."""
        block = self.start
        block_type = _BLOCK_TYPES.get(type(block), "server_tool_result")
        id = getattr(block, "id", None) if block_type.endswith("call") else None
        return block_type, id, getattr(block, "name", None)

    def initial(self) -> str:
        """See `BlockState.initial`."""
        block = self.start
        return exact_text(block.input) if isinstance(block, USES) and memoryview(block.input) else ""

    def sealed(self) -> Reasoning | None:
        """See `BlockState.sealed`."""
        block = self.start
        if type(block) is s.ThinkingBlock:
            signature = "".join(self.signature) or block.signature
            return Reasoning(signature=signature) if signature else None
        if type(block) is s.RedactedThinkingBlock:
            return Reasoning(encrypted=block.data, redacted=True)
        return None

    def keep(self, member: str, piece: Any) -> None:
        """Keep a fragment of a member other than the block's main text, for `add_members`."""
        self.members.setdefault(member, []).append(piece)

    def is_call(self, block: Wire) -> bool:
        """Report whether ``block`` is the same client call as this one, by type, id and name."""
        held = self.start
        if not isinstance(held, s.ToolUseBlock) or not isinstance(block, s.ToolUseBlock):
            return False
        return bool(held.id) and (held.id, held.name) == (block.id, block.name)

    def has_no_arguments(self) -> bool:
        """Report whether the block is a call without any argument, in its start event and in its deltas."""
        return isinstance(self.start, USES) and not self.parts and self.initial().strip() in NO_ARGUMENTS


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
