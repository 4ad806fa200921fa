"""Conversion of the decoder's events to inputs of the machine while an answer arrives, and revisions at its end.

Rows are numbered in order of appearance. Some wires do not mark the end of a block (`openai.chat`, `xai.grpc`). There,
text ends where another block begins, and calls end with the answer. Text deltas after the end of their row start a new
row, in the order in which they were shown.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ..arguments import parse
from ..conversation import Encoded
from ..events import BlockDelta, BlockReset, BlockStart, BlockStop, Event
from ..model import Block, Choice, Response, ToolCall
from .block_rows import ROW_TYPES, WORDS, Row, row
from .machine.inputs import BlockEnded, BlockExtended, BlockReplaced, BlockRevised, BlockStarted, Input


class _Shown(Struct):
    """A row that was started. ``key``: its number in the answer. ``block``: the decoder's key of its block."""

    key: int
    block: int
    block_type: str
    id: str | None
    name: str | None
    parts: list[str]
    row: Row | None = None  # its content when it was closed

    @property
    def text(self) -> str:
        return "".join(self.parts)


class BlockTracker:
    """Converts the events of one answer. ``encoded``: the request, whose aliases of names and ids are resolved.

    ``choice``: the index of the choice whose blocks are converted.
    """

    def __init__(self, encoded: Encoded | None = None, choice: int = 0) -> None:
        self._choice = choice
        self._ids = encoded.ids if encoded is not None else {}
        self._names = encoded.names if encoded is not None else {}
        self._shown: list[_Shown] = []
        self._now: dict[int, _Shown] = {}  # decoder's block key -> its current row

    def feed(self, events: Iterable[Event]) -> list[Input]:
        """Convert the events of a chunk to inputs."""
        inputs: list[Input] = []
        for event in events:
            if isinstance(event, (BlockStart, BlockDelta, BlockReset, BlockStop)) and event.choice == self._choice:
                self._take(event, inputs)
        return inputs

    def finish(self, response: Response) -> list[Input]:
        """Return the inputs that close every open row, revise changed rows, and add blocks that were not streamed."""
        choice = next((one for one in response.choices if one.index == self._choice), None)
        broken = not response.complete or response.error is not None
        found = self._found(choice) if choice is not None else {}
        inputs: list[Input] = []
        for shown in list(self._shown):
            final = found.pop(shown.key, None)
            if shown.row is None:
                made = final or self._own(shown)
                inputs.append(BlockEnded(shown.key, *made, cut=broken))
            elif final is not None and final != shown.row:
                inputs.append(BlockRevised(shown.key, *final))
        for made in found.values():  # not streamed
            key = len(self._shown)
            content = made.content if isinstance(made.content, dict) else {}
            id, name = content.get("tool_use_id"), content.get("tool_name")
            self._shown.append(_Shown(key, -1, made.block_type, id, name, []))
            inputs.append(BlockStarted(key, made.block_type, id, name))
            if made.text_content:
                inputs.append(BlockExtended(key, made.text_content))
            inputs.append(BlockEnded(key, *made, cut=broken))
        return inputs

    def _take(self, event: BlockStart | BlockDelta | BlockReset | BlockStop, inputs: list[Input]) -> None:
        if isinstance(event, BlockStart):
            id = self._ids.get(event.id, event.id) if event.id is not None else None
            name = self._names.get(event.name, event.name) if event.name is not None else None
            self._open(event.key, ROW_TYPES.get(event.block, "opaque"), id, name, inputs)
            return
        shown = self._now.get(event.key)
        if shown is None:
            return
        if isinstance(event, BlockStop):
            if shown.row is None:
                self._close(shown, inputs)
        elif isinstance(event, BlockDelta):
            if shown.row is not None:
                if shown.block_type not in WORDS:
                    return  # `finish` revises the row
                shown = self._open(event.key, shown.block_type, None, None, inputs)
            shown.parts.append(event.text)
            inputs.append(BlockExtended(shown.key, event.text))
        elif shown.row is None:
            shown.parts[:] = [event.text]
            inputs.append(BlockReplaced(shown.key, event.text))

    def _open(self, block: int, block_type: str, id: str | None, name: str | None, inputs: list[Input]) -> _Shown:
        for before in self._shown[-1:]:
            if before.row is None and before.block_type in WORDS:
                self._close(before, inputs)
        shown = self._now[block] = _Shown(len(self._shown), block, block_type, id, name, [])
        self._shown.append(shown)
        inputs.append(BlockStarted(shown.key, block_type, id, name))
        return shown

    def _close(self, shown: _Shown, inputs: list[Input]) -> None:
        shown.row = self._own(shown)
        inputs.append(BlockEnded(shown.key, *shown.row))

    def _own(self, shown: _Shown) -> Row:
        """Build a row from its deltas."""
        if shown.block_type in WORDS:
            return Row(shown.block_type, shown.text)
        if shown.block_type == "tool_use":
            parsed = parse(shown.text)
            call = ToolCall(shown.id or "", shown.name or "", parsed.arguments, shown.text, parsed.status)
            return row(call)
        content = {"tool_use_id": shown.id, "tool_name": shown.name, "input": shown.text or None}
        return Row(
            shown.block_type, None, {name: value for name, value in content.items() if value is not None} or None
        )

    def _found(self, choice: Choice) -> dict[int, Row]:
        """Return the final rows by key. Blocks match the started rows of the same type, in order.

        Blocks without a row get the keys after the last row.
        """
        left: dict[str, list[list[_Shown]]] = {}
        pieces: dict[int, list[_Shown]] = {}
        for shown in self._shown:
            if shown.block not in pieces:
                left.setdefault(shown.block_type, []).append(pieces.setdefault(shown.block, []))
            pieces[shown.block].append(shown)
        found: dict[int, Row] = {}
        unseen: list[Block] = []
        for block in choice.blocks:
            known = left.get(ROW_TYPES[_tag(block)])
            if known:
                found.update(_spread(row(block), known.pop(0)))
            else:
                unseen.append(block)
        for number, block in enumerate(unseen):
            found[len(self._shown) + number] = row(block)
        return found


def _spread(made: Row, pieces: list[_Shown]) -> dict[int, Row]:
    """Distribute the final row of a block over the rows in which it was shown."""
    if len(pieces) == 1:
        return {pieces[0].key: made}
    if "".join(piece.text for piece in pieces) == made.text_content:
        rows = {piece.key: Row(made.block_type, piece.text) for piece in pieces}
        rows[pieces[-1].key] = Row(made.block_type, pieces[-1].text, made.content)
        return rows
    rows = {piece.key: Row(made.block_type, "") for piece in pieces}
    rows[pieces[0].key] = made
    return rows


def _tag(block: Block) -> str:
    return str(block.__struct_config__.tag)
