"""Routing of stream deltas to content blocks, by the index and type of the delta.

Servers and proxies that translate other wires send deltas with the index of another block
(musistudio/claude-code-router 1356 and 1397, Oaklight/llm-rosetta 246, sgl-project/sglang 26795). Their text goes to a
block of the right type. Nothing shows which call misplaced arguments belong to. Every call that may lack them is
therefore marked as truncated, so that it does not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from msgspec import Struct

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


class BlockRouter(Struct, eq=False):
    """The content blocks of one stream.

    ``all``: in the order of their starts. ``by_index``: the last block of each index. ``has_unplaced``: whether
    arguments came without an index.
    """

    _context: Context
    all: list[BlockState] = []
    by_index: dict[int, BlockState] = {}
    has_unplaced: bool = False
    _has_misplaced: bool = False
    _doubted: int = 0  # number of blocks when the last misplaced arguments came
    _repeated_starts: list[BlockState] = []  # blocks whose start repeats the call of another block

    def begin(self, block: Wire, index: int | None) -> BlockState:
        """Add the block of a start event, and return it.

        If earlier deltas implied a block of this type with this index, that block gets the start's data instead.
        """
        key_index = len(self.all) if index is None else index
        held = self.by_index.get(key_index)
        state = BlockState(block, key_index, len(self.all), held)
        state.become(block)
        if held is not None and held.implied and held.takes == state.takes:
            held.become(block)
            held.implied = False
            return held
        if held is not None:
            self._context.find("index-reused", f"a second content block under index {key_index}")
        first = self.at(index)
        if first is not None and first.is_call(block):
            state.first = first.first or first
            self._repeated_starts.append(state)
        self.all.append(state)
        self.by_index[key_index] = state
        return state

    def at(self, index: int | None) -> BlockState | None:
        """Return the last block of an index, or the last block of all if ``index`` is None; None if there is none."""
        if index is None:
            return self.all[-1] if self.all else None
        return self.by_index.get(index)

    def block_for_text(self, index: int | None, kind: str | None, member: str) -> BlockState:
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
        location = "where no block was started" if placed is None else f"which is a {_type(placed.block)} block"
        self._context.find_once("delta-misplaced", f"{kind} under index {index}, {location}")
        state = None
        if placed is not None:
            placed.doubtful = True
            state = next(
                (candidate for candidate in reversed(self.all) if candidate.takes == member and not candidate.stopped),
                None,
            )
        if member == "partial_json":
            self._has_misplaced = True
            for candidate in self.all[self._doubted :]:
                candidate.doubtful = candidate.doubtful or not candidate.stopped
            self._doubted = len(self.all)
            if state is None and placed is not None:
                state = next((candidate for candidate in reversed(self.all) if candidate.has_no_arguments()), None)
        if state is None:
            return self._imply(_IMPLIED[member](), index, placed)
        state.doubtful = state.doubtful or member == "partial_json"
        return state

    def block_for_wordless(self, index: int | None, kind: str | None) -> BlockState | None:
        """Return the block for a signature or citation: the block of its index, of the matching type if possible.

        ``kind``: the type of the delta.
        """
        placed = self.at(index)
        wanted = WORDLESS.get(kind or "")
        if wanted is None or (placed is not None and type(placed.block) is wanted):
            return placed
        for candidate in reversed(self.all):
            if candidate.implied and candidate.index == index and type(candidate.block) is wanted:
                return candidate
        return placed or self._imply(wanted(), index, None)

    def _imply(self, block: Wire, index: int | None, placed: BlockState | None) -> BlockState:
        key_index = len(self.all) if index is None else index
        state = BlockState(block, key_index, len(self.all), None, True)
        state.become(block)
        state.doubtful = True
        self.all.append(state)
        if placed is None:
            self.by_index[key_index] = state
        return state

    def in_order(self) -> list[BlockState]:
        """Return the blocks by index, or in order of their starts if two have the same index or repeat a call.

        Blocks that only repeat the start of another call are left out.
        """
        if len(self.by_index) == len(self.all) and not self._repeated_starts:
            return sorted(self.all, key=_by_index) if len(self.all) > 1 else self.all
        repeats = self._repeats()
        return [state for state in self.all if state.key not in repeats]

    def _repeats(self) -> set[int]:
        """Return the keys of blocks that repeat another block's call without arguments (ID-12), with findings."""
        repeats: set[int] = set()
        for again in self._repeated_starts:
            repeat = again.first if again.first is not None and not again.has_no_arguments() else again
            if repeat.has_no_arguments() and repeat.key not in repeats:
                repeats.add(repeat.key)
                self._context.find("duplicate-call", f"{repeat.block.name} ({repeat.block.id}) was started twice", 0)
        return repeats

    def doubted(self, built: Iterable[tuple[BlockState, Block]]) -> set[int]:
        """Return the keys of calls that may lack their arguments, or may have the arguments of another call.

        ``built``: the blocks of the stream with their canonical blocks.
        """
        calls = [(state, block) for state, block in built if type(block) is ToolCall]
        without_arguments = {state.key for state, _ in calls if state.has_no_arguments()}
        if not without_arguments and not self._has_misplaced:
            return without_arguments
        mixed = ("arguments-glued", "arguments-invalid") if self.has_unplaced else ("arguments-glued",)
        surplus = self._has_misplaced or any(
            isinstance(block, (ToolCall, ServerToolCall)) and parse(block.arguments_text).code in mixed
            for _, block in built
        )
        return {
            state.key
            for state, _ in calls
            if (state.key in without_arguments and (surplus or state.doubtful))
            or (self._has_misplaced and state.doubtful)
        }


_by_index = attrgetter("index")


def _type(block: Wire) -> str:
    tag = block.wire_type if type(block) is Unknown else block.__struct_config__.tag
    return str(tag)
