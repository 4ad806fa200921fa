"""Which streamed fragment belongs to which call.

The documented protocol is simple: `index` names the call, the first fragment carries id and name, the rest only
arguments. Servers break each part of it. The rules, in the order in which they are tried for a fragment:

1. An id seen before wins over the index (IDX-10, IDX-17, ID-02), unless the fragment begins another call (ID-09): its
   name is another, under an index that is not that of the call; or it has arguments after complete ones.
2. A new id on an index in use opens a new call if it brings a name (IDX-04, IDX-06); without one it is the same call
   under a changing id (ID-01), or the id that its call still lacked (ID-04, ID-05).
3. Without an id, the index decides (IDX-07, IDX-18: the last call that opened it owns it), unless a name arrives after
   complete arguments: then it is the next call on a server that sends no ids. Where it is the name of that call, with
   nothing beside it, it may only repeat the head: it begins a call if arguments follow.
4. Without id and index, a new name opens a call and anything else continues the last one (IDX-05, IDX-18).
5. An unknown index with arguments alone continues the last call if that is unfinished (IDX-10).

Arguments that only rules 4 and 5 assign may be those of another call that is unfinished: that is noted
(`Slot.stray`, `Slot.rival`), and judged at the end (`wires.misplaced`).

Order is that of first appearance; gaps in indexes mean nothing (IDX-12, IDX-14).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...errors import TooManyCalls
from ...json_balance import Balance
from ..common import MAX_SLOTS, Context
from .schema import Call, Custom, Function, beside

#: What names a call in its stream: the documented number, or what a server sends in its place.
Index = int | str


class Slot:
    """One call while its fragments arrive. ``key``: its name in the event stream, once it was announced.

    ``repeated``: the call whose head opened this slot once more. It is a call only if arguments follow.
    ``stray``: arguments came that only its place assigns to it. ``rival``: such arguments of another call may
    be its own, as it was unfinished then, or had not begun.
    """

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
        "repeated",
        "replaced",
        "rival",
        "stray",
    )

    def __init__(self, order: int, index: Index | None, repeated: Slot | None = None) -> None:
        self.order = order
        self.repeated = repeated
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
        self.stray = False
        self.rival = False

    def add(self, text: str) -> None:
        """Append a piece of arguments."""
        self.parts.append(text)
        self.length += len(text)

    def set(self, text: str) -> None:
        """Replace the arguments so far."""
        self.parts = [text]
        self.length = len(text)
        self.balance = None
        self.checked = 0

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
    def said(self) -> bool:
        """Whether there are any arguments; white space is none."""
        return bool(self.length) and any(part.strip() for part in self.parts)

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

    __slots__ = ("_by_id", "_by_index", "_context", "_last", "_told", "_unfinished", "_unowned", "all")

    def __init__(self, context: Context) -> None:
        self.all: list[Slot] = []
        self._by_index: dict[Index, Slot] = {}
        self._by_id: dict[str, Slot] = {}
        self._last: Slot | None = None
        self._told: set[tuple[str, int]] = set()
        self._unfinished: list[Slot] = []  # those that may be, and are not marked as rivals
        self._unowned = False  # whether arguments came under an index that is neither a call's nor a call's place
        self._context = context

    def owner(self, index: Index) -> Slot | None:
        """The call that an index stands for now, ready for one more piece."""
        slot = self._by_index.get(index)
        if slot is not None:
            self._last = slot
        return slot

    def route(self, call: Call, name: str | None, text: str) -> Slot:
        """The slot of a fragment; the caller then adds name and text to it."""
        index, id = _index(call), call.id
        if not id and not name and index is not None:
            slot = self._by_index.get(index)  # the hot path: one more piece of arguments
            if slot is not None:
                self._last = slot
                return slot
        slot = self._by_id_or_index(id, index, name, text) if id else self._without_id(index, name, text)
        if id and slot.id is None:
            slot.id = id
            self._by_id.setdefault(id, slot)
        if index is not None:
            self._by_index[index] = slot
        self._last = slot
        return slot

    def _by_id_or_index(self, id: str, index: Index | None, name: str | None, text: str) -> Slot:
        owner = self._by_index.get(index) if index is not None else None
        at = owner if index is not None else self._last
        seen = at if at is not None and at.id == id else self._by_id.get(id)
        if seen is not None:
            return self._by_known_id(seen, owner, index, name, text)
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
                return self._stray(last)
        return self._open(index)

    def _by_known_id(self, seen: Slot, owner: Slot | None, index: Index | None, name: str | None, text: str) -> Slot:
        """The slot of a fragment that carries the id of the call ``seen``."""
        elsewhere = index is not None and owner is not seen
        if name and name != seen.name and seen.name:
            if seen.whole or self._is_declared_beside(seen, name) or (elsewhere and not self._completes(seen, name)):
                return self._open(index)
        elif name and text.strip():
            if seen.whole and text.lstrip()[0] == "{" and not text.startswith(seen.text):
                return self._open(index)
        elif name and (seen.whole or (elsewhere and owner is None and not seen.length)):
            return self._open(index, seen)
        if index is not None and index != seen.index:
            self._find("index-changed", seen, f"{seen.id} came under the indexes {seen.index} and {index}")
        return seen

    def _without_id(self, index: Index | None, name: str | None, text: str) -> Slot:
        owner = self._by_index.get(index) if index is not None else self._last
        if owner is None:
            last = self._last
            if name is None and text and last is not None and not last.whole and last.index is not None:
                self._find("index-changed", last, f"{last.id or last.name} continues under index {index}")
                self._unowned = self._unowned or index != last.order
                return self._stray(last)
            return self._open(index)
        if name is None:
            return self._stray(owner) if text and index is None else owner
        if owner.whole:
            if name == owner.name and not text.strip():
                return self._open(index, owner)
            if text != owner.text or index is None:
                opened = self._open(index)
                if index is not None:
                    self._find("index-reused", opened, f"a new call {name} came under index {index}")
                return opened
        elif name != owner.name and owner.name and self._begins_another(owner, index, name):
            return self._open(index)
        return owner

    def _begins_another(self, owner: Slot, index: Index | None, name: str) -> bool:
        return self._is_declared_beside(owner, name) or (index is None and not self._completes(owner, name))

    def _completes(self, owner: Slot, name: str) -> bool:
        """Whether a name is the rest of a split name, where nothing else says so: the request declares the sum."""
        names = self._context.declared.names
        return not owner.length and names is not None and (owner.name or "") + name in names

    def _is_declared_beside(self, owner: Slot, name: str) -> bool:
        """Whether a name is another tool's, not the rest of this one's: the request declares it, and not the sum."""
        names = self._context.declared.names
        return names is not None and name in names and (owner.name or "") + name not in names

    def _open(self, index: Index | None, repeated: Slot | None = None) -> Slot:
        if len(self.all) >= MAX_SLOTS:
            raise TooManyCalls(
                f"more than {MAX_SLOTS} call slots in one choice", hint="the stream is not a real answer"
            )
        if index is None:
            self._context.find_once("index-missing")
        slot = Slot(len(self.all), index, repeated)
        slot.rival = self._unowned  # they may have come before their call
        self.all.append(slot)
        self._unfinished.append(slot)
        return slot

    def add(self, id: str | None) -> Slot:
        """A call that no delta of the stream holds."""
        self._last = slot = self._open(len(self.all))
        slot.id = id
        return slot

    def _stray(self, taker: Slot) -> Slot:
        """Note that a call gets arguments which may be those of any unfinished call."""
        taker.stray = True
        for slot in self._unfinished:
            slot.rival = slot.rival or (slot is not taker and not slot.whole)
        self._unfinished = [taker]
        return taker

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

    def calls(self, doubts: Doubts) -> list[Call]:
        """The calls in order of first appearance; ``doubts`` learns which of them are in doubt."""
        calls: list[Call] = []
        continued = {slot.repeated.order for slot in self.all if slot.repeated is not None and slot.said}
        for slot in self.all:
            if slot.replaced:
                self._settle_snapshots(slot)
            if slot.stray:
                doubts.strays.add(len(calls))
            elif slot.rival:
                doubts.rivals.add(len(calls))
            if not slot.said and (slot.repeated is not None or slot.order in continued):
                self._find("duplicate-call", slot, f"the head of {slot.name} ({slot.id}) came again")
            elif slot.kind == "custom" and (slot.name or slot.length):
                custom = Custom(extra_=slot.extra, name=slot.name, input=slot.text)
                calls.append(Call(id=slot.id, type="custom", custom=custom))
            elif slot.name or slot.length or slot.extra:
                calls.append(Call(id=slot.id, type=slot.kind, function=slot.function()))
            else:
                calls.append(Call(id=slot.id))
        return calls


class Doubts(Struct):
    """The places of calls in a list of calls: see `Slot`."""

    strays: set[int] = set()
    rivals: set[int] = set()


def _index(call: Call) -> Index | None:
    """What a fragment gives for an index; null where that is nothing, or negative."""
    index: Any = call.index
    if index is None and call.extra_ is not None:
        index = call.extra_.get("index")
        return index if isinstance(index, str) and index else None
    return None if index is None or index < 0 else index


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
            slot.set(text)
            return True
    slot.add(text)
    return False
