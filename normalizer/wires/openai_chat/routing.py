"""Assign each streamed fragment of a call to its call.

By the documented protocol, `index` identifies the call, the first fragment has id and name, and the others have only
arguments. Servers violate each part of it. These rules apply to a fragment, in this order:

1. A known id takes precedence over the index (IDX-10, IDX-17, ID-02), unless the fragment begins another call (ID-09).
   It does so if it has another name under an index that is not the call's, or arguments after complete ones.
2. A new id on an index in use opens a new call if the fragment has a name (IDX-04, IDX-06). Without a name it is the
   same call under a changing id (ID-01), or the id that its call lacked so far (ID-04, ID-05).
3. Without an id, the index decides: the last call that opened it owns it (IDX-07, IDX-18). If a name arrives after
   complete arguments, it opens the next call, from a server that sends no ids. If that name is the owner's and comes
   without arguments, it may only repeat the head. It is a call only if arguments follow. If the owner has no name yet,
   a name without arguments belongs to it (vercel/ai 14737), also with its id.
4. Without id and index, a new name opens a call, and any other fragment continues the last one (IDX-05, IDX-18).
5. An unknown index with only arguments continues the last call if its arguments are incomplete (IDX-10).

Arguments that rule 4 or 5 assigns may belong to another unfinished call. `Slot.stray` and `Slot.rival` record that, and
`wires.misplaced_arguments` decides at the end.

Calls keep the order of first appearance. Gaps in indexes have no meaning (IDX-12, IDX-14).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...errors import TooManyCalls
from ...json_balance import Balance
from ..call_builder import MAX_CALLS
from ..decode_context import Context
from .schema import Call, Custom, Function, merged_extra

#: The index of a call in its stream: the documented number, or the string that some servers send instead.
Index = int | str


class StreamedCall(Struct, eq=False):
    """One call while its fragments arrive.

    ``key``: its block key in the event stream, -1 until it is announced. ``repeated``: the call whose head began this
    one again, so that this is a call only if arguments follow. ``stray``: it got arguments that only the order of
    fragments assigns to it. ``rival``: such arguments of another call may belong to this one, because it was unfinished
    or had not begun at that time.
    """

    order: int
    index: Index | None
    repeated: StreamedCall | None = None
    id: str | None = None
    name: str | None = None
    kind: str = "function"
    parts: list[str] = []
    length: int = 0
    key: int = -1
    extra: dict[str, Any] | None = None
    balance: Balance | None = None
    checked: int = 0
    replaced: list[str] = []  # argument texts that a snapshot replaced
    stray: bool = False
    rival: bool = False

    def add(self, text: str) -> None:
        """Append an argument fragment."""
        self.parts.append(text)
        self.length += len(text)

    def set(self, text: str) -> None:
        """Replace the arguments so far."""
        self.parts = [text]
        self.length = len(text)
        self.balance = None
        self.checked = 0

    def keep(self, *given: dict[str, Any] | None) -> None:
        """Keep members of a fragment, or of its function, that have no canonical field."""
        members = merged_extra(*given)
        if members:
            self.extra = {**(self.extra or {}), **members}

    def function(self) -> Function:
        """Return the function that the fragments add up to."""
        return Function(extra_=self.extra, name=self.name, arguments=self.text)

    @property
    def text(self) -> str:
        """The argument text so far. The fragments are stored concatenated, so a second access is cheap."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
            self.checked = 1 if self.checked else 0
        return self.parts[0] if self.parts else ""

    @property
    def has_arguments(self) -> bool:
        """Whether there are any arguments other than white space."""
        return bool(self.length) and any(part.strip() for part in self.parts)

    @property
    def is_closed(self) -> bool:
        """Whether the arguments so far close every bracket they opened. The total cost is linear in their length."""
        if self.balance is None:
            self.balance = Balance()
        for part in self.parts[self.checked :]:
            self.balance.feed(part)
        self.checked = len(self.parts)
        return self.balance.closed


class CallRouter(Struct, eq=False):
    """The calls of one choice."""

    _context: Context
    all: list[StreamedCall] = []
    _by_index: dict[Index, StreamedCall] = {}
    _by_id: dict[str, StreamedCall] = {}
    _last: StreamedCall | None = None
    _reported: set[tuple[str, int]] = set()
    _unfinished: list[StreamedCall] = []  # calls that may be unfinished and are not marked as rivals
    _unowned: bool = False  # whether arguments had an index that is neither a call's index nor its position

    @property
    def is_unusual(self) -> bool:
        """Whether `calls` has to examine any of the calls."""
        for call in self.all:
            if call.kind != "function" or call.extra or call.replaced or call.stray or call.rival or call.repeated:
                return True
        return False

    def owner(self, index: Index) -> StreamedCall | None:
        """Return the call that owns an index, and make it the last call; None if there is none."""
        call_state = self._by_index.get(index)
        if call_state is not None:
            self._last = call_state
        return call_state

    def route(self, call: Call, name: str | None, text: str) -> StreamedCall:
        """Return the call of a fragment. The caller adds name and text to it."""
        index, id = _index(call), call.id
        if not id and not name and index is not None:
            call_state = self._by_index.get(index)  # fast path: one more argument fragment
            if call_state is not None:
                self._last = call_state
                return call_state
        call_state = self._by_id_or_index(id, index, name, text) if id else self._without_id(index, name, text)
        if name is not None and name == call_state.name and not (text or call_state.length or call_state.repeated):
            self._report("event-repeated", call_state, f"a second start of call {name} ({call_state.id})")
        if id and call_state.id is None:
            call_state.id = id
            self._by_id.setdefault(id, call_state)
        if index is not None:
            self._by_index[index] = call_state
        self._last = call_state
        return call_state

    def _by_id_or_index(self, id: str, index: Index | None, name: str | None, text: str) -> StreamedCall:
        owner = self._by_index.get(index) if index is not None else None
        at = owner if index is not None else self._last
        seen = at if at is not None and at.id == id else self._by_id.get(id)
        if seen is not None:
            return self._by_known_id(seen, owner, index, name, text)
        if owner is not None:
            if owner.id is None and (owner.name is None or name is None or (name == owner.name and not owner.length)):
                return owner
            if name or owner.is_closed:
                call_state = self._open(index)
                self._report("index-reused", call_state, f"index {index} held {owner.id or owner.name} and now {id}")
                return call_state
            self._report("id-changed", owner, f"{owner.id} continues as {id}")
            return owner
        if index is None:
            last = self._last
            if last is not None and name is None and text and not last.is_closed:
                if last.id is not None:
                    self._report("id-changed", last, f"{last.id} continues as {id}")
                return self._mark_stray(last)
        return self._open(index)

    def _by_known_id(
        self, seen: StreamedCall, owner: StreamedCall | None, index: Index | None, name: str | None, text: str
    ) -> StreamedCall:
        """Return the call for a fragment that has the id of the call ``seen``."""
        elsewhere = index is not None and owner is not seen
        if name and name != seen.name and seen.name:
            if (
                seen.is_closed
                or self._is_declared_beside(seen, name)
                or (elsewhere and not self._completes_name(seen, name))
            ):
                return self._open(index)
        elif name and text.strip():
            if seen.is_closed and text.lstrip()[0] == "{" and not text.startswith(seen.text):
                return self._open(index)
        elif name and seen.name and (seen.is_closed or (elsewhere and owner is None and not seen.length)):
            return self._open(index, seen)
        if index is not None and index != seen.index:
            self._report("index-changed", seen, f"{seen.id} has the indexes {seen.index} and {index}")
        return seen

    def _without_id(self, index: Index | None, name: str | None, text: str) -> StreamedCall:
        owner = self._by_index.get(index) if index is not None else self._last
        if owner is None:
            last = self._last
            if name is None and text and last is not None and not last.is_closed and last.index is not None:
                self._report("index-changed", last, f"{last.id or last.name} continues under index {index}")
                self._unowned = self._unowned or index != last.order
                return self._mark_stray(last)
            return self._open(index)
        if name is None:
            return self._mark_stray(owner) if text and index is None else owner
        if owner.name is None and not text.strip():
            return owner
        if owner.is_closed:
            if name == owner.name and not text.strip():
                return self._open(index, owner)
            if text != owner.text or index is None:
                call_state = self._open(index)
                if index is not None:
                    self._report("index-reused", call_state, f"a new call {name} has index {index}")
                return call_state
        elif name != owner.name and owner.name and self._begins_another(owner, index, name):
            return self._open(index)
        return owner

    def _begins_another(self, owner: StreamedCall, index: Index | None, name: str) -> bool:
        return self._is_declared_beside(owner, name) or (index is None and not self._completes_name(owner, name))

    def _completes_name(self, owner: StreamedCall, name: str) -> bool:
        """Whether a name is the rest of a split name: the request declares the concatenation as a tool."""
        names = self._context.declared.names
        return not owner.length and names is not None and (owner.name or "") + name in names

    def _is_declared_beside(self, owner: StreamedCall, name: str) -> bool:
        """Whether a name is another tool's: the request declares it, but not the concatenation of both names."""
        names = self._context.declared.names
        return names is not None and name in names and (owner.name or "") + name not in names

    def _open(self, index: Index | None, repeated: StreamedCall | None = None) -> StreamedCall:
        if len(self.all) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} calls in one choice", hint="the stream is not a valid response")
        if index is None:
            self._context.find_once("index-missing")
        call_state = StreamedCall(len(self.all), index, repeated)
        call_state.rival = self._unowned  # the unowned arguments may belong to this call
        self.all.append(call_state)
        self._unfinished.append(call_state)
        return call_state

    def add(self, id: str | None) -> StreamedCall:
        """Add a call that no delta contains."""
        self._last = call_state = self._open(len(self.all))
        call_state.id = id
        return call_state

    def _mark_stray(self, taker: StreamedCall) -> StreamedCall:
        """Mark a call as stray, and every other unfinished call as its rival. Returns ``taker``."""
        taker.stray = True
        for call_state in self._unfinished:
            call_state.rival = call_state.rival or (call_state is not taker and not call_state.is_closed)
        self._unfinished = [taker]
        return taker

    def _report(self, code: str, call_state: StreamedCall, message: str) -> None:
        """Report a finding about a call, once for each finding code and call."""
        if (code, call_state.order) not in self._reported:
            self._reported.add((code, call_state.order))
            self._context.find(code, message)

    def _settle_snapshots(self, call_state: StreamedCall) -> None:
        """Undo the replacement by snapshots if only the concatenation of all fragments is a JSON object."""
        from ...arguments import parse  # imported lazily

        whole = "".join((*call_state.replaced, *call_state.parts))
        if parse(call_state.text).arguments is None and parse(whole).arguments is not None:
            call_state.parts = [whole]
            self._report(
                "arguments-disagree",
                call_state,
                f"{call_state.name}: an apparent repetition of the beginning was not one",
            )
        else:
            self._report(
                "arguments-snapshot",
                call_state,
                f"{call_state.name}: {len(call_state.replaced[0])} characters repeated",
            )

    def calls(self, doubts: Doubts) -> list[Call]:
        """Return the calls in order of first appearance, and add the doubtful ones to ``doubts``."""
        calls: list[Call] = []
        continued = {
            call_state.repeated.order
            for call_state in self.all
            if call_state.repeated is not None and call_state.has_arguments
        }
        for call_state in sorted(self.all, key=_place) if continued else self.all:
            if call_state.replaced:
                self._settle_snapshots(call_state)
            if call_state.stray:
                doubts.strays.add(len(calls))
            elif call_state.rival:
                doubts.rivals.add(len(calls))
            if not call_state.has_arguments and (call_state.repeated is not None or call_state.order in continued):
                self._report(
                    "duplicate-call", call_state, f"the head of {call_state.name} ({call_state.id}) is repeated"
                )
            elif call_state.kind == "custom" and (call_state.name or call_state.length):
                custom = Custom(extra_=call_state.extra, name=call_state.name, input=call_state.text)
                calls.append(Call(id=call_state.id, type="custom", custom=custom))
            elif call_state.name or call_state.length or call_state.extra:
                calls.append(Call(id=call_state.id, type=call_state.kind, function=call_state.function()))
            else:
                calls.append(Call(id=call_state.id))
        return calls


class Doubts(Struct):
    """Positions of stray and rival calls in a list of calls (see `StreamedCall`)."""

    strays: set[int] = set()
    rivals: set[int] = set()


def _place(call: StreamedCall) -> int:
    """Return the order of a call, or that of the empty head that it repeats."""
    first = call.repeated
    return call.order if first is None or first.has_arguments else first.order


def _index(call: Call) -> Index | None:
    """Return the index of a fragment; None if it is absent or negative."""
    index: Any = call.index
    if index is None and call.extra_ is not None:
        index = call.extra_.get("index")
        return index if isinstance(index, str) and index else None
    return None if index is None or index < 0 else index


def add_name(call_state: StreamedCall, name: str, context: Context) -> None:
    """Set the name or ignore a repeat (NAME-01); before any argument, append the rest of a split name (NAME-02)."""
    if call_state.name is None:
        call_state.name = name
    elif name != call_state.name and not call_state.length:
        call_state.name += name
        context.find("name-split", f"name in several fragments: {call_state.name}")


def add_text(call_state: StreamedCall, text: str) -> bool:
    """Append an argument fragment. Return True if it is a snapshot that replaces all arguments so far.

    A fragment that starts with all arguments so far counts as a snapshot (failure SNAP-01). JSON rarely continues with
    its own beginning: only in a value or a name that begins like the object, as in `{"` + `{":1}` and `{"a":` +
    `{"a":1}}`. At the end `Slots.calls` chooses the reading that is an object.
    """
    if call_state.length and text[0] == "{" and len(text) >= call_state.length:
        so_far = call_state.text
        if so_far[0] == "{" and text.startswith(so_far):
            call_state.replaced.append(so_far)
            call_state.set(text)
            return True
    call_state.add(text)
    return False
