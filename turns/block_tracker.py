"""Conversion of the decoder's events to inputs of the machine while an answer arrives, and revisions at its end.

Rows are numbered in order of appearance. Some wires do not mark the end of a block (`openai.chat`, `xai.grpc`). There,
text ends where another block begins, and calls end with the answer. Text deltas after the end of their row start a new
row, in the order in which they were shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from toolparity.normalizer.arguments import parse
from toolparity.normalizer.conversation import Encoded
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop, Event
from toolparity.normalizer.model import Block, Choice, Reasoning, Response, ToolCall

from .block_rows import ROW_TYPES, TEXT_TYPES, BlockRow, row_of, without_none
from .machine.inputs import BlockEnded, BlockExtended, BlockReplaced, BlockRevised, BlockStarted, Input


class _ShownRow(Struct):
    """A row that was started. ``key``: its number in the answer. ``block``: the decoder's key of its block."""

    key: int
    block: int
    block_type: str
    id: str | None
    name: str | None
    texts: list[str]
    row: BlockRow | None = None  # its content when it was closed

    @property
    def text(self) -> str:
        return "".join(self.texts)


class BlockTracker:
    """Converts the events of one answer. ``encoded``: the request, whose aliases of names and ids are resolved.

    ``choice``: the index of the choice whose blocks are converted. ``restored``: maps a call to the one of the row.
    """

    def __init__(
        self, encoded: Encoded | None = None, choice: int = 0, restored: Callable[[ToolCall], ToolCall] | None = None
    ) -> None:
        self._choice = choice
        self._restored = restored
        self._ids = encoded.ids if encoded is not None else {}
        self._names = encoded.names if encoded is not None else {}
        self._shown: list[_ShownRow] = []
        self._current: dict[int, _ShownRow] = {}  # decoder's block key -> its current row

    def feed(self, events: Iterable[Event]) -> list[Input]:
        """Convert the events of a chunk to inputs."""
        inputs: list[Input] = []
        for event in events:
            if isinstance(event, (BlockStart, BlockDelta, BlockReset, BlockStop)) and event.choice == self._choice:
                self._convert(event, inputs)
        return inputs

    def finish(self, response: Response) -> list[Input]:
        """Return the inputs that end every open row, revise changed rows, and add blocks that were not streamed."""
        choice = next((choice for choice in response.choices if choice.index == self._choice), None)
        cut = not response.complete or response.error is not None
        final_rows = self._final_rows(choice) if choice is not None else {}
        inputs: list[Input] = []
        for shown in self._shown:
            final = final_rows.pop(shown.key, None)
            if shown.row is None:
                kept = (final.text_content if final is not None else None) or ""
                if kept.startswith(shown.text) and kept != shown.text:  # the last event was not terminated
                    inputs.append(BlockExtended(shown.key, kept.removeprefix(shown.text)))
                inputs.append(BlockEnded(shown.key, *(final or self._row_from_deltas(shown)), cut=cut))
            elif final is not None and final != shown.row:
                inputs.append(BlockRevised(shown.key, *final))
        for key, final in final_rows.items():  # not streamed
            content = final.content if isinstance(final.content, dict) else {}
            inputs.append(BlockStarted(key, final.block_type, content.get("tool_use_id"), content.get("tool_name")))
            if final.text_content:
                inputs.append(BlockExtended(key, final.text_content))
            inputs.append(BlockEnded(key, *final, cut=cut))
        return inputs

    def _convert(self, event: BlockStart | BlockDelta | BlockReset | BlockStop, inputs: list[Input]) -> None:
        if isinstance(event, BlockStart):
            id = self._ids.get(event.id, event.id) if event.id is not None else None
            name = self._names.get(event.name, event.name) if event.name is not None else None
            self._open(event.key, ROW_TYPES.get(event.block, "opaque"), id, name, inputs)
            return
        shown = self._current.get(event.key)
        if shown is None:
            return
        if isinstance(event, BlockStop):
            if shown.row is None:
                self._close(shown, inputs, event.sealed)
        elif isinstance(event, BlockDelta):
            if shown.row is not None:
                if shown.block_type not in TEXT_TYPES:
                    return  # `finish` revises the row
                shown = self._open(event.key, shown.block_type, None, None, inputs)
            shown.texts.append(event.text)
            inputs.append(BlockExtended(shown.key, event.text))
        elif shown.row is None:
            shown.texts[:] = [event.text]
            inputs.append(BlockReplaced(shown.key, event.text))

    def _open(self, block: int, block_type: str, id: str | None, name: str | None, inputs: list[Input]) -> _ShownRow:
        for before in self._shown[-1:]:
            if before.row is None and before.block_type in TEXT_TYPES:
                self._close(before, inputs)
        shown = self._current[block] = _ShownRow(len(self._shown), block, block_type, id, name, [])
        self._shown.append(shown)
        inputs.append(BlockStarted(shown.key, block_type, id, name))
        return shown

    def _close(self, shown: _ShownRow, inputs: list[Input], sealed: Reasoning | None = None) -> None:
        shown.row = self._row_from_deltas(shown)
        if sealed is not None:
            shown.row = shown.row._replace(content=row_of(sealed).content)
        inputs.append(BlockEnded(shown.key, *shown.row))

    def _row_from_deltas(self, shown: _ShownRow) -> BlockRow:
        if shown.block_type in TEXT_TYPES:
            return BlockRow(shown.block_type, shown.text)
        if shown.block_type == "tool_use":
            parsed = parse(shown.text)
            call = ToolCall(shown.id or "", shown.name or "", parsed.arguments, shown.text, parsed.status)
            return row_of(self._restored(call) if self._restored is not None else call)
        content = {"tool_use_id": shown.id, "tool_name": shown.name, "input": shown.text or None}
        return BlockRow(shown.block_type, None, without_none(content))

    def _final_rows(self, choice: Choice) -> dict[int, BlockRow]:
        """Return the final rows by key. Blocks match the started rows of the same type, in order.

        Blocks without a row get the keys after the last row.
        """
        by_block: dict[int, list[_ShownRow]] = {}
        unmatched: dict[str, list[list[_ShownRow]]] = {}  # block type -> the rows of each block
        for shown in self._shown:
            if shown.block not in by_block:
                unmatched.setdefault(shown.block_type, []).append(by_block.setdefault(shown.block, []))
            by_block[shown.block].append(shown)
        final_rows: dict[int, BlockRow] = {}
        not_shown: list[Block] = []
        for block in choice.blocks:
            candidates = unmatched.get(ROW_TYPES[str(block.__struct_config__.tag)])
            if candidates:
                final_rows.update(_distributed(row_of(block), candidates.pop(0)))
            else:
                not_shown.append(block)
        final_rows.update((key, row_of(block)) for key, block in enumerate(not_shown, len(self._shown)))
        return final_rows


def _distributed(final: BlockRow, shown: list[_ShownRow]) -> dict[int, BlockRow]:
    """Distribute the final row of a block over the rows in which it was shown."""
    if len(shown) > 1 and "".join(part.text for part in shown) == final.text_content:
        rows = {part.key: BlockRow(final.block_type, part.text) for part in shown}
        rows[shown[-1].key] = BlockRow(final.block_type, shown[-1].text, final.content)
        return rows
    return {shown[0].key: final, **{part.key: BlockRow(final.block_type, "") for part in shown[1:]}}
