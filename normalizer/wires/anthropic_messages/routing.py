"""Routing of stream deltas to content blocks, by the index and type of the delta.

Servers and proxies that translate other wires send deltas with the index of another block
(musistudio/claude-code-router 1356 and 1397, Oaklight/llm-rosetta 246, sgl-project/sglang 26795). Their text goes to a
block of the right type. Nothing shows which call misplaced arguments belong to. Every call that may lack them is
therefore marked as truncated, so that it does not run.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...arguments import parse
from ...model import Block, ServerToolCall, ToolCall
from ..decode_context import Context
from ..schema import Unknown, Wire
from .schema import Compaction, TextBlock, ThinkingBlock, ToolUseBlock
from .stream_state import BlockState

#: The block type that a delta implies, by the member that contains its text.
_IMPLIED: dict[str, type[Wire]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "partial_json": ToolUseBlock,
    "content": Compaction,
}
#: The block type that a delta without text implies, by the delta's type.
WORDLESS: dict[str, type[Wire]] = {"citations_delta": TextBlock, "signature_delta": ThinkingBlock}


class BlockRouter:
    """The content blocks of one stream. ``all``: in the order of their starts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.all: list[BlockState] = []
        #: the last block of each index
        self.under: dict[int, BlockState] = {}
        self._astray = False
        #: whether arguments came without an index
        self.unplaced = False
        self._doubted = 0  # number of blocks when the last misplaced arguments came
        self._again: list[BlockState] = []  # blocks whose start repeats the call of another block

    def begin(self, block: Wire, index: int | None) -> BlockState:
        """Add the block of a start event, and return it.

        If earlier deltas implied a block of this type with this index, that block gets the start's data instead.
        """
        place = len(self.all) if index is None else index
        held = self.under.get(place)
        opened = BlockState(block, place, len(self.all), held)
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

    def at(self, index: int | None) -> BlockState | None:
        """Return the last block of an index, or the last block of all if ``index`` is None; None if there is none."""
        if index is None:
            return self.all[-1] if self.all else None
        return self.under.get(index)

    def holder(self, index: int | None, kind: str | None, member: str) -> BlockState:
        """Return the block for text whose index has no block, or a block of another type, and report it if misplaced.

        ``kind``: the type of the delta. ``member``: the delta member with the text. If no block fits, the result is a
        new block, marked as implied, for which the caller still has to emit a start event.
        """
        placed = self.at(index)
        earlier = placed
        while earlier is not None:
            if earlier.fits(member):
                return earlier  # an earlier block with the same index accepts this text
            earlier = earlier.before
        where = "where no block was started" if placed is None else f"which is a {_type(placed.block)} block"
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

    def beside(self, index: int | None, kind: str | None) -> BlockState | None:
        """Return the block for a signature or citation: the block of its index, of the matching type if possible.

        ``kind``: the type of the delta.
        """
        placed = self.at(index)
        wanted = WORDLESS.get(kind or "")
        if wanted is None or (placed is not None and type(placed.block) is wanted):
            return placed
        for one in reversed(self.all):
            if one.implied and one.index == index and type(one.block) is wanted:
                return one
        return placed or self._imply(wanted(), index, None)

    def _imply(self, block: Wire, index: int | None, placed: BlockState | None) -> BlockState:
        place = len(self.all) if index is None else index
        opened = BlockState(block, place, len(self.all), None, True)
        opened.doubtful = True
        self.all.append(opened)
        if placed is None:
            self.under[place] = opened
        return opened

    def in_order(self) -> list[BlockState]:
        """Return the blocks by index, or in order of their starts if two have the same index or repeat a call.

        Blocks that only repeat the start of another call are left out.
        """
        if len(self.under) == len(self.all) and not self._again:
            return sorted(self.all, key=lambda one: one.index)
        repeats = self._repeats()
        return [one for one in self.all if one.key not in repeats]

    def _repeats(self) -> set[int]:
        """Return the keys of blocks that repeat another block's call without arguments (ID-12), with findings."""
        repeats: set[int] = set()
        for again in self._again:
            one = again.first if again.first is not None and not again.asks_nothing() else again
            if one.asks_nothing() and one.key not in repeats:
                repeats.add(one.key)
                self._context.find("duplicate-call", f"{one.block.name} ({one.block.id}) was started twice", 0)
        return repeats

    def doubted(self, built: Iterable[tuple[BlockState, Block]]) -> set[int]:
        """Return the keys of calls that may lack their arguments, or may have the arguments of another call.

        ``built``: the blocks of the stream with their canonical blocks.
        """
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
