"""A content block while its stream arrives: its pieces, and how they become the block."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from ... import jsontext
from ..schema import Unknown, Wire, exact_text
from .schema import Delta

#: The member of a delta that its type says to hold words.
_SAYS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
_WORDS = ("text", "partial_json", "thinking")


class Open:
    """One content block while it arrives."""

    __slots__ = ("block", "index", "key", "members", "parts", "signature", "stopped")

    def __init__(self, block: Wire, index: int, key: int) -> None:
        self.block = block
        self.index = index
        self.key = key
        self.parts: list[str] = []
        self.signature: list[str] = []
        self.members: dict[str, list[Any]] = {}  # what deltas gave that the block has no field for
        self.stopped = False

    def keep(self, member: str, piece: Any) -> None:
        """Keep a piece of a member that no field of the block stands for."""
        self.members.setdefault(member, []).append(piece)


def words(delta: Delta) -> tuple[str, str | None]:
    """The words of a delta and their member: that of its type, or the first that holds any."""
    member = _SAYS.get(delta.type or "", "text")
    text: str | None = getattr(delta, member)
    if not text:
        for other in _WORDS:
            if getattr(delta, other):
                return other, getattr(delta, other)
    return member, text


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
        raw["input"] = jsontext.decode(text)
    except (ValueError, RecursionError):
        beside[member] = text


def _joined(member: str, held: Any, pieces: list[Any]) -> Any:
    if member == "citations":
        return [*held, *pieces] if isinstance(held, list) else pieces
    words = "".join(pieces)
    return held + words if isinstance(held, str) and member != "signature" else words


def spelled(given: Raw) -> str:
    return exact_text(given) if memoryview(given) else ""
