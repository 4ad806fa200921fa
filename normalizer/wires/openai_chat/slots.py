"""Which streamed fragment belongs to which call.

The documented protocol is simple: `index` names the call, the first fragment carries id and name, the rest only
arguments. Servers break each part of it. The rules, in the order in which they are tried for a fragment:

1. An id seen before wins over the index (IDX-10, IDX-17, ID-02), unless the fragment is another whole call (ID-09).
2. A new id on an index in use opens a new call if it brings a name (IDX-04, IDX-06); without one it is the same call
   under a changing id (ID-01), or the id that its call still lacked (ID-04, ID-05).
3. Without an id, the index decides (IDX-07, IDX-18: the last call that opened it owns it), unless a name arrives after
   complete arguments: then it is the next call on a server that sends no ids.
4. Without id and index, a new name opens a call and anything else continues the last one (IDX-05, IDX-18).
5. An unknown index with arguments alone continues the last call if that is unfinished (IDX-10).

Order is that of first appearance; gaps in indexes mean nothing (IDX-12, IDX-14).
"""

from __future__ import annotations

from typing import Any

from ...balance import Balance
from ...errors import TooManyCalls
from ..common import MAX_SLOTS, Context
from .schema import Call, Custom, Function, beside


class Slot:
    """One call while its fragments arrive. ``key``: its name in the event stream, once it was announced."""

    __slots__ = (
        "balance",
        "checked",
        "extra",
        "id",
        "index",
        "key",
        "kind",
        "length",
        "name",
        "order",
        "parts",
        "replaced",
    )

    def __init__(self, order: int, index: int | None) -> None:
        self.order = order
        self.index = index
        self.id: str | None = None
        self.name: str | None = None
        self.kind = "function"
        self.parts: list[str] = []
        self.length = 0
        self.key = -1
        self.extra: dict[str, Any] | None = None
        self.balance: Balance | None = None
        self.checked = 0
        self.replaced: list[str] = []  # what snapshots took the place of

    def add(self, text: str) -> None:
        """Append a piece of arguments."""
        self.parts.append(text)
        self.length += len(text)

    def keep(self, *given: dict[str, Any] | None) -> None:
        """Keep the members of a fragment, or of its function, that nothing canonical represents."""
        members = beside(*given)
        if members:
            self.extra = {**(self.extra or {}), **members}

    def function(self) -> Function:
        """The function that the fragments spell."""
        return Function(extra_=self.extra, name=self.name, arguments=self.text)

    @property
    def text(self) -> str:
        """The arguments so far, joined (and kept joined, so that asking twice costs nothing)."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
            self.checked = 1 if self.checked else 0
        return self.parts[0] if self.parts else ""

    @property
    def whole(self) -> bool:
        """Whether the arguments so far close every bracket they opened. Linear over the life of the slot."""
        if self.balance is None:
            self.balance = Balance()
        for part in self.parts[self.checked :]:
            self.balance.feed(part)
        self.checked = len(self.parts)
        return self.balance.closed


class Slots:
    """The calls of one choice."""

    __slots__ = ("_by_id", "_by_index", "_context", "_last", "_told", "all")

    def __init__(self, context: Context) -> None:
        self.all: list[Slot] = []
        self._by_index: dict[int, Slot] = {}
        self._by_id: dict[str, Slot] = {}
        self._last: Slot | None = None
        self._told: set[tuple[str, int]] = set()
        self._context = context

    def owner(self, index: int) -> Slot | None:
        """The call that an index stands for now, ready for one more piece."""
        slot = self._by_index.get(index)
        if slot is not None:
            self._last = slot
        return slot

    def route(self, call: Call, name: str | None, text: str) -> Slot:
        """The slot of a fragment; the caller then adds name and text to it."""
        index, id = call.index, call.id
        if index is not None and index < 0:
            index = None
        if not id and not name and index is not None:
            slot = self._by_index.get(index)  # the hot path: one more piece of arguments
            if slot is not None:
                self._last = slot
                return slot
        slot = self._by_known_id(id, index, name, text) if id else self._without_id(index, name, text)
        if id and slot.id is None:
            slot.id = id
            self._by_id.setdefault(id, slot)
        if index is not None:
            self._by_index[index] = slot
        self._last = slot
        return slot

    def _by_known_id(self, id: str, index: int | None, name: str | None, text: str) -> Slot:
        seen = self._by_id.get(id)
        if seen is not None:
            another = name and text and seen.whole and not text.startswith(seen.text)
            if another and (name != seen.name or text[:1] == "{"):
                return self._open(index)
            # A new head, its arguments still to come, under an index of its own: another call (ID-09).
            if name and not text and index is not None and index not in self._by_index and seen.whole:
                return self._open(index)
            if index is not None and index != seen.index:
                self._find("index-changed", seen, f"{id} came under the indexes {seen.index} and {index}")
            return seen
        owner = self._by_index.get(index) if index is not None else None
        if owner is not None:
            if owner.id is None and (owner.name is None or name is None or (name == owner.name and not owner.length)):
                return owner
            if name or owner.whole:
                opened = self._open(index)
                self._find("index-reused", opened, f"index {index} held {owner.id or owner.name} and now {id}")
                return opened
            self._find("id-changed", owner, f"{owner.id} continues as {id}")
            return owner
        if index is None:
            last = self._last
            if last is not None and name is None and text and not last.whole:
                if last.id is not None:
                    self._find("id-changed", last, f"{last.id} continues as {id}")
                return last
        return self._open(index)

    def _without_id(self, index: int | None, name: str | None, text: str) -> Slot:
        owner = self._by_index.get(index) if index is not None else self._last
        if owner is None:
            last = self._last
            if name is None and text and last is not None and not last.whole and last.index is not None:
                self._find("index-changed", last, f"{last.id or last.name} continues under index {index}")
                return last
            return self._open(index)
        if name is None:
            return owner
        if owner.whole and text and (index is None or text != owner.text):
            opened = self._open(index)
            if index is not None:
                self._find("index-reused", opened, f"a new call {name} came under index {index}")
            return opened
        if index is None and name != owner.name and not self._is_rest_of_name(owner, name):
            return self._open(index)
        return owner

    def _is_rest_of_name(self, owner: Slot, name: str) -> bool:
        """Whether a name without an index is the rest of a split name: only where the request declares the sum."""
        names = self._context.declared.names
        return not owner.length and names is not None and (owner.name or "") + name in names

    def _open(self, index: int | None) -> Slot:
        if len(self.all) >= MAX_SLOTS:
            raise TooManyCalls(
                f"more than {MAX_SLOTS} call slots in one choice", hint="the stream is not a real answer"
            )
        if index is None:
            self._context.find_once("index-missing")
        slot = Slot(len(self.all), index)
        self.all.append(slot)
        return slot

    def _find(self, code: str, slot: Slot, message: str) -> None:
        """A finding about a call; one of a code is enough, however many fragments raise it."""
        if (code, slot.order) not in self._told:
            self._told.add((code, slot.order))
            self._context.find(code, message)

    def _settle_snapshots(self, slot: Slot) -> None:
        """Take back what seemed to be snapshots where only the sum of all pieces is an object."""
        from ...arguments import parse  # loaded when one is needed

        whole = "".join((*slot.replaced, *slot.parts))
        if parse(slot.text).arguments is None and parse(whole).arguments is not None:
            slot.parts = [whole]
            self._find("arguments-disagree", slot, f"{slot.name}: its beginning seemed to be repeated, and was not")
        else:
            self._find("arguments-snapshot", slot, f"{slot.name}: {len(slot.replaced[0])} characters repeated")

    def calls(self) -> list[Call]:
        """The calls in order of first appearance. A slot with neither name nor arguments is no call (IDX-14)."""
        calls = []
        for slot in self.all:
            if slot.replaced:
                self._settle_snapshots(slot)
            text = slot.text
            if slot.id and not text and self._by_id[slot.id] is not slot and self._by_id[slot.id].name == slot.name:
                self._find(
                    "duplicate-call", slot, f"{slot.id}: the head of {slot.name} came again, with nothing after it"
                )
            elif slot.name or text:
                if slot.kind == "custom":
                    custom = Custom(extra_=slot.extra, name=slot.name, input=text)
                    calls.append(Call(id=slot.id, type="custom", custom=custom))
                else:
                    calls.append(Call(id=slot.id, type=slot.kind, function=slot.function()))
            elif slot.id:
                self._context.find("nameless-call", f"{slot.id} has neither name nor arguments; it is no call")
        return calls


def add_name(slot: Slot, name: str, context: Context) -> None:
    """Names are set once; a repeat is ignored (NAME-01), a different piece before any argument is a rest (NAME-02)."""
    if slot.name is None:
        slot.name = name
    elif name != slot.name and not slot.length:
        slot.name += name
        context.find("name-split", f"a name in pieces: {slot.name}")


def add_text(slot: Slot, text: str) -> bool:
    """Append a piece of arguments. True where it replaced all so far: a server that repeats instead of continuing.

    A piece that starts with everything so far is taken for a snapshot (failure SNAP-01). It is one nearly always: JSON
    can continue with its own beginning only in a value or a name that begins as the whole does, as `{"` + `{":1}` and
    `{"a":` + `{"a":1}}`. Which of both it was is told at the end, where only one of the readings is an object.
    """
    if slot.length and text[0] == "{" and len(text) >= slot.length:
        so_far = slot.text
        if so_far[0] == "{" and text.startswith(so_far):
            slot.replaced.append(so_far)
            slot.parts = [text]
            slot.length = len(text)
            slot.balance = None
            slot.checked = 0
            return True
    slot.add(text)
    return False
