"""Routing of stream deltas to content blocks, by the index and type of the delta.

Servers and proxies that translate other wires send deltas with the index of another block
(musistudio/claude-code-router 1356 and 1397, Oaklight/llm-rosetta 246, sgl-project/sglang 26795). Their text goes to a
block of the right type. Nothing shows which call misplaced arguments belong to. Every call that may lack them is
therefore marked as truncated, so that it does not run.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...arguments import parse
from ...events import Event
from ...model import Block, ServerToolCall, ToolCall
from ..block_stream import BlockStream
from ..schema import Wire
from .schema import Compaction, TextBlock, ThinkingBlock, ToolUseBlock
from .stream_state import KINDS, ContentBlockState

#: The block type that a delta implies, by the member that contains its text.
_IMPLIED: dict[str, type[Wire]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "partial_json": ToolUseBlock,
    "content": Compaction,
}
#: The block type that a delta without text implies, by the delta's type.
WORDLESS: dict[str, type[Wire]] = {"citations_delta": TextBlock, "signature_delta": ThinkingBlock}


class RoutedStream(BlockStream[ContentBlockState]):
    """The part of a stream's decoder that assigns deltas to content blocks."""

    state_type = ContentBlockState
    most = float("inf")
    fills_stopped = True
    has_unplaced = False  # whether arguments came without an index
    _doubted = 0  # number of blocks when the last misplaced arguments came
    _repeated_starts: tuple[ContentBlockState, ...] = ()  # blocks whose start repeats the call of another block

    def begin(self, block: Wire, index: int | None, out: list[Event]) -> ContentBlockState:
        """Return the block of a start event."""
        number, first = len(self.blocks), self.at(index)
        state = self.open(KINDS.get(type(block)), block, index, out)
        if state.key == number and first is not None and first.is_call(block):
            state.first = first.first or first
            self._repeated_starts += (state,)
        return state

    def misplaced(
        self, kind: str, index: int | None, placed: ContentBlockState | None, out: list[Event]
    ) -> ContentBlockState:
        """See `BlockStream.misplaced`. ``kind``: the delta member with the text."""
        state = None
        if placed is not None:
            placed.doubtful = True
            fitting = (candidate for candidate in reversed(self.blocks) if candidate.kind == kind)
            state = next((candidate for candidate in fitting if not candidate.stopped), None)
        if kind == "partial_json":
            self.has_misplaced = True
            for candidate in self.blocks[self._doubted :]:
                candidate.doubtful = candidate.doubtful or not candidate.stopped
            self._doubted = len(self.blocks)
            if state is None and placed is not None:
                state = next((candidate for candidate in reversed(self.blocks) if candidate.has_no_arguments()), None)
        if state is None:
            return self._imply(_IMPLIED[kind], index, placed, out)
        state.doubtful = state.doubtful or kind == "partial_json"
        return state

    def holder_of_wordless(self, index: int | None, kind: str | None, out: list[Event]) -> ContentBlockState | None:
        """Return the block for a signature or citation: the block of its index, of the matching type if possible.

        ``kind``: the type of the delta.
        """
        placed = self.at(index)
        wanted = WORDLESS.get(kind or "")
        if wanted is None or (placed is not None and type(placed.start) is wanted):
            return placed
        for candidate in reversed(self.blocks):
            if candidate.implied and candidate.index == index and type(candidate.start) is wanted:
                return candidate
        return placed or self._imply(wanted, index, None, out)

    def _imply(
        self, block: type[Wire], index: int | None, placed: ContentBlockState | None, out: list[Event]
    ) -> ContentBlockState:
        state = self.imply(KINDS[block], block(), index, out)
        state.doubtful = True
        if placed is None:
            self.by_index[state.index] = state
        return state

    def in_order(self) -> list[ContentBlockState]:
        """See `BlockStream.in_order`. Blocks that only repeat the start of another call are left out (ID-12)."""
        if not self._repeated_starts:
            return super().in_order()
        repeats: set[int] = set()
        for again in self._repeated_starts:
            repeat = again.first if again.first is not None and not again.has_no_arguments() else again
            if repeat.has_no_arguments() and repeat.key not in repeats:
                repeats.add(repeat.key)
                self._context.find("duplicate-call", f"{repeat.start.name} ({repeat.start.id}) was started twice", 0)
        return [state for state in self.blocks if state.key not in repeats]

    def doubted(self, states: list[ContentBlockState], blocks: list[Block]) -> Iterable[ContentBlockState]:
        """See `BlockStream.doubted`. These calls may lack their arguments, or have the arguments of another call."""
        calls = [state for state in states if state.block >= 0 and type(blocks[state.block]) is ToolCall]
        without_arguments = {state.key for state in calls if state.has_no_arguments()}
        if not without_arguments and not self.has_misplaced:
            return ()
        mixed = ("arguments-glued", "arguments-invalid") if self.has_unplaced else ("arguments-glued",)
        surplus = self.has_misplaced or any(
            isinstance(block, (ToolCall, ServerToolCall)) and parse(block.arguments_text).code in mixed
            for block in blocks
        )
        return [
            state
            for state in calls
            if (state.key in without_arguments and (surplus or state.doubtful))
            or (self.has_misplaced and state.doubtful)
        ]
