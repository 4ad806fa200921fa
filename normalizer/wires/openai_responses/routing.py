"""Assignment of stream events to output items.

An event belongs to the item of its output_index or, failing that, of its item id, because ids may change (RSP-02) or be
absent (RSP-03).
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from msgspec import Struct

from ...errors import TooManyCalls
from ..call_builder import MAX_CALLS
from ..decode_context import Context
from ..schema import Wire
from . import schema as s
from .stream_events import ARGUMENT_PARTS, takes
from .stream_state import ItemState, has_other_call_id, is_another, is_same, item_type


class ItemRouter(Struct, eq=False):
    """The output items of one stream.

    ``all``: by output index. ``by_id``: by call id and item id. ``shared``: output index that several items use -> the
    last of them. ``unended``: the number of items without an end. ``has_misplaced``: arguments came for an item that
    takes none. ``has_unplaced``: arguments came without index and known item id.
    """

    _context: Context
    all: dict[int, ItemState] = {}
    by_id: dict[str | None, ItemState] = {}
    shared: dict[int, ItemState] = {}
    unended: int = 0
    has_misplaced: bool = False
    has_unplaced: bool = False
    _free: int = 0  # the next unused output index
    _doubted: int = 0  # number of items when arguments last came for an item that takes none

    def item_of(self, event: s.DeltaEvent, part: str, implied: type[Wire]) -> ItemState:
        """Return the item of a delta or `done` event; open one of type ``implied`` if there is none.

        The index decides first (RSP-02), unless the event's id belongs to an item that fits better. The item also has
        to accept ``part``, because translating proxies send deltas under the index of another item.
        """
        index = event.output_index
        id = event.call_id if event.call_id in self.by_id else event.item_id
        state = self.at(index)
        named = self.by_id.get(id) if id else None
        if named is not None and named is not state and (state is None or _outweighs(named, state, id, implied)):
            if index is not None and index not in self.shared and not named.strayed:
                named.strayed = True
                self._context.find(
                    "index-changed", f"{id}: {event.type} under index {index}, which belongs to another item"
                )
            state = named
        if state is None and index is None:
            # Without index and known id: the last open item of the implied type (RSP-03).
            self.has_unplaced = self.has_unplaced or part in ARGUMENT_PARTS
            candidates = (o for o in reversed(self.all.values()) if type(o.item) is implied and not o.done)
            state = next((candidate for candidate in candidates if not has_other_call_id(candidate.item, event)), None)
        if state is None:
            self._context.find("index-changed", f"{event.type} for index {index}, where no item was started")
            item: Any = implied()
            item.id = event.item_id or None
            if event.call_id and hasattr(item, "call_id"):
                item.call_id = event.call_id
            state = self.add(item, index)
            state.implied = state.doubtful = True
        return state if takes(state.item, part) else self._item_for_misplaced(event, state, part, implied)

    def _item_for_misplaced(self, event: s.DeltaEvent, placed: ItemState, part: str, implied: type[Wire]) -> ItemState:
        """Return the item for a delta that the item ``placed`` does not accept: an open one, else a new one.

        If the delta holds arguments, all open items become doubtful.
        """
        first = self.all.get(event.output_index)  # type: ignore[arg-type]
        if first is not None and takes(first.item, part):
            return first  # several items have this index
        message = f"{event.type} for index {event.output_index}, which is a {item_type(placed.item)} item"
        self._context.find_once("delta-misplaced", message)
        fitting = (candidate for candidate in reversed(self.all.values()) if takes(candidate.item, part))
        state = next((candidate for candidate in fitting if not candidate.done), None)
        if part in ARGUMENT_PARTS:
            self.has_misplaced = True
            for candidate in islice(self.all.values(), self._doubted, None):
                candidate.doubtful = candidate.doubtful or not candidate.done
            self._doubted = len(self.all)
            if state is None:
                fitting = (candidate for candidate in reversed(self.all.values()) if takes(candidate.item, part))
                state = next((candidate for candidate in fitting if candidate.has_no_arguments()), None)
        if state is None:
            state = self.add(implied(), None)
        state.doubtful = state.doubtful or part in ARGUMENT_PARTS
        return state

    def at(self, index: int | None) -> ItemState | None:
        """Return the item under an index, the last one if several use it; None if there is none."""
        return self.shared.get(index) or self.all.get(index) if index is not None else None

    def with_id(self, item: Any) -> list[ItemState | None]:
        """Return the known items with the ids of ``item``."""
        return [self.by_id.get(id) if isinstance(id, str) and id else None for id in ids_of(item)]

    def regularly_ended_by(self, index: int | None, item: Any) -> ItemState | None:
        """Return the item under an index if its type and ids are those of its end ``item``, else None."""
        state = self.all.get(index) if index is not None else None
        if state is None or self.shared or type(state.item) is not type(item):
            return None
        ids = ids_of(item)
        return state if ids[1] and ids_of(state.item) == ids else None

    def ended_by(self, index: int | None, item: Any) -> ItemState | None:
        """Return the known item that ``item`` is the end of; None if there is none."""
        placed = self.at(index)
        if placed is not None and is_same(placed.item, item):
            return placed
        for state in self.with_id(item):
            if state is not None and (index is None or not state.done) and is_same(state.item, item):
                return state
        if index is not None:
            return placed if placed is not None and not placed.done and not is_another(placed, item) else None
        kind = type(item)
        candidates = (o for o in reversed(self.all.values()) if type(o.item) is kind and not o.done)
        return next((state for state in candidates if not is_another(state, item)), None)

    def add(self, item: Wire, index: int | None) -> ItemState:
        """Add an item under an index, or under a free one if it is in use or None."""
        if len(self.all) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} output items", hint="the stream is not a valid response")
        state = ItemState(item)
        if index is None or index in self.all:
            index = self._free
        if index >= self._free:
            self._free = index + 1
        self.unended += 1
        self.all[index] = state
        self.register(state, item)
        return state

    def register(self, state: ItemState, item: Wire) -> None:
        """Find the item under the ids of ``item`` from now on."""
        for id in ids_of(item):
            if isinstance(id, str) and id:
                self.by_id.setdefault(id, state)


def ids_of(item: Any) -> tuple[Any, Any]:
    """Return call id and item id; None for an id that the item lacks."""
    return getattr(item, "call_id", None), getattr(item, "id", None)


def _outweighs(named: ItemState, placed: ItemState, id: str | None, implied: type[Wire]) -> bool:
    """Whether the item of an event's id takes precedence over the one of its index: by type, then by being open."""
    if id in ids_of(placed.item):
        return False
    return (type(named.item) is implied, not named.done) >= (type(placed.item) is implied, not placed.done)
