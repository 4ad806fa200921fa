"""The content blocks of one stream, and the block that a delta belongs to: by its index and its type.

Servers and proxies that translate other wires send deltas under the index of another block
(musistudio/claude-code-router 1356 and 1397, Oaklight/llm-rosetta 246, sgl-project/sglang 26795). Their words go to a
block of the right type. No event says which call misplaced arguments belong to, so no call that may lack them runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...arguments import parse
from ...model import Block, ServerToolCall, ToolCall
from ..common import Context
from ..schema import Unknown, Wire
from .assembly import Open
from .schema import Compaction, TextBlock, ThinkingBlock, ToolUseBlock

#: The block that words imply, by the member that holds them.
_IMPLIED: dict[str, type[Wire]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "partial_json": ToolUseBlock,
    "content": Compaction,
}
#: The block that deltas without words imply.
WORDLESS: dict[str, type[Wire]] = {"citations_delta": TextBlock, "signature_delta": ThinkingBlock}


class Blocks:
    """The blocks in the order of their starts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.all: list[Open] = []
        #: the last block under each index
        self.under: dict[int, Open] = {}
        self._astray = False
        #: whether arguments came without an index
        self.unplaced = False
        self._doubted = 0  # how many blocks had begun when arguments last went astray
        self._again: list[Open] = []  # the blocks whose start announced the call of another block once more

    def begin(self, block: Wire, index: int | None) -> Open:
        """A block that its start announces. The words that came before it are its own, and in doubt."""
        place = len(self.all) if index is None else index
        held = self.under.get(place)
        opened = Open(block, place, len(self.all), held)
        if held is not None and held.implied and held.takes == opened.takes:
            held.become(block)
            held.implied = False
            return held
        if held is not None:
            self._context.find("index-reused", f"a second content block under index {place}")
        first = self.at(index)
        if first is not None and first.is_call(block):
            opened.first = first.first or first
            self._again.append(opened)
        self.all.append(opened)
        self.under[place] = opened
        return opened

    def at(self, index: int | None) -> Open | None:
        """The block of an index; without an index the last block."""
        if index is None:
            return self.all[-1] if self.all else None
        return self.under.get(index)

    def holder(self, index: int | None, kind: str | None, member: str) -> Open:
        """The block that takes words whose index has no block for them, or has one of another type.

        ``kind``: the type of the delta. A block that nobody announced is `implied`, and not shown yet.
        """
        placed = self.at(index)
        earlier = placed
        while earlier is not None:
            if earlier.fits(member):
                return earlier  # several blocks have this index, and one takes such words
            earlier = earlier.before
        where = "where no block began" if placed is None else f"which is a {_type(placed.block)} block"
        self._context.find_once("delta-misplaced", f"{kind} under index {index}, {where}")
        found = None
        if placed is not None:
            placed.doubtful = True
            found = next((one for one in reversed(self.all) if one.takes == member and not one.stopped), None)
        if member == "partial_json":
            self._astray = True
            for one in self.all[self._doubted :]:
                one.doubtful = one.doubtful or not one.stopped
            self._doubted = len(self.all)
            if found is None and placed is not None:
                found = next((one for one in reversed(self.all) if one.asks_nothing()), None)
        if found is None:
            return self._imply(_IMPLIED[member](), index, placed)
        found.doubtful = found.doubtful or member == "partial_json"
        return found

    def beside(self, index: int | None, kind: str | None) -> Open | None:
        """The block that a signature or a citation belongs to: of its index, and of its type if possible."""
        placed = self.at(index)
        wanted = WORDLESS.get(kind or "")
        if wanted is None or (placed is not None and type(placed.block) is wanted):
            return placed
        for one in reversed(self.all):
            if one.implied and one.index == index and type(one.block) is wanted:
                return one
        return placed or self._imply(wanted(), index, None)

    def _imply(self, block: Wire, index: int | None, placed: Open | None) -> Open:
        place = len(self.all) if index is None else index
        opened = Open(block, place, len(self.all), None, True)
        opened.doubtful = True
        self.all.append(opened)
        if placed is None:
            self.under[place] = opened
        return opened

    def in_order(self) -> list[Open]:
        """The blocks by index, as long as no two claim the same one."""
        if len(self.under) == len(self.all) and not self._again:
            return sorted(self.all, key=lambda one: one.index)
        repeats = self._repeats()
        return [one for one in self.all if one.key not in repeats]

    def _repeats(self) -> set[int]:
        """The keys of the blocks that only repeat the start of another one's call: they ask for nothing (ID-12)."""
        repeats: set[int] = set()
        for again in self._again:
            one = again.first if again.first is not None and not again.asks_nothing() else again
            if one.asks_nothing() and one.key not in repeats:
                repeats.add(one.key)
                self._context.find("duplicate-call", f"{one.block.name} ({one.block.id}) began twice", 0)
        return repeats

    def doubted(self, built: Iterable[tuple[Open, Block]]) -> set[int]:
        """The keys of the calls whose arguments may be elsewhere, or may be those of another call."""
        calls = [(one, block) for one, block in built if type(block) is ToolCall]
        bare = {one.key for one, _ in calls if one.asks_nothing()}
        if not bare and not self._astray:
            return bare
        mixed = ("arguments-glued", "arguments-invalid") if self.unplaced else ("arguments-glued",)
        surplus = self._astray or any(
            isinstance(block, (ToolCall, ServerToolCall)) and parse(block.arguments_text).code in mixed
            for _, block in built
        )
        return {
            one.key
            for one, _ in calls
            if (one.key in bare and (surplus or one.doubtful)) or (self._astray and one.doubtful)
        }


def _type(block: Wire) -> str:
    tag = block.wire_type if type(block) is Unknown else block.__struct_config__.tag
    return str(tag)
