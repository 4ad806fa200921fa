"""What a finished stream says: items put together from their pieces, then weighed against the terminal output.

A later word outweighs an earlier one, except by silence: an end without arguments does not take back those that were
streamed, an output without an item does not take back the item (RSP-01).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import msgspec

from ... import json_codec
from ...arguments import by_value, parse
from ..schema import Unknown, Wire, exact_text, raw_object
from . import schema as s
from .blocks import is_hosted

_Find = Callable[[str, str], None]

#: Calls, and the members that say what is asked for.
_ASKED: dict[type[Wire], tuple[str, ...]] = {
    s.FunctionCall: ("arguments",),
    s.CustomToolCall: ("input",),
    s.ComputerCall: ("action", "actions"),
    s.LocalShellCall: ("action",),
    s.ShellCall: ("action",),
    s.ApplyPatchCall: ("operation",),
    s.ToolSearchCall: ("arguments",),
    s.McpApprovalRequest: ("arguments",),
    s.McpCall: ("arguments",),
}
#: Calls whose arguments arrive in deltas; those of the others arrive with the item's end.
_GROWING = frozenset((s.FunctionCall, s.CustomToolCall, s.McpCall))
#: Those that the caller may have to run.
_CALLS = _ASKED.keys() - {s.McpApprovalRequest, s.McpCall}
_NOTHING = frozenset(("", "{}", "null"))
_LABELS = frozenset(("id", "call_id", "status", "item_id", "output_index"))


class Open:
    """One output item while it arrives. ``grown``: pieces by (part, index of the part)."""

    __slots__ = ("done", "doubtful", "filled", "grown", "implied", "item", "keys", "late", "strayed", "whole")

    def __init__(self, item: Wire) -> None:
        self.item: Any = item
        self.grown: dict[tuple[str, int], list[str]] = {}
        self.whole: dict[tuple[str, int], str] = {}
        self.keys: dict[tuple[str, int], int] = {}
        self.done = False
        #: whether the item's end was silent about its arguments
        self.filled = False
        #: whether pieces came after the item's end
        self.late = False
        #: whether its events came under an index that is not its own
        self.strayed = False
        #: whether no event announced it yet
        self.implied = False
        #: whether arguments came that may belong to it, or to another call
        self.doubtful = False

    def asked(self) -> str:
        """What the item asks for so far, as far as that comes in deltas."""
        for part in _ASKED.get(type(self.item), ()):
            text = self.whole.get((part, 0)) or "".join(self.grown.get((part, 0), ()))
            if text:
                return text
        return asked(self.item)

    def silent(self) -> bool:
        """Whether the item asks for nothing so far."""
        return self.asked().strip() in _NOTHING


def asked(item: Any) -> str:
    """What a call asks for: the text of its arguments."""
    return "".join(_spelled(item, part) for part in _ASKED.get(type(item), ()))


def same(one: Any, other: Any) -> bool:
    """Whether two items are one by their ids."""
    if type(one) is not type(other) or changed(one, other):
        return False
    if getattr(one, "call_id", None) and getattr(other, "call_id", None):
        return True
    id = getattr(one, "id", None)
    return bool(id and id == getattr(other, "id", None))


def changed(one: Any, other: Any) -> bool:
    """Whether two items have call ids that differ."""
    first, second = getattr(one, "call_id", None), getattr(other, "call_id", None)
    return bool(first and second and first != second)


def is_another(opened: Open, item: Any) -> bool:
    """Whether an item that ends is another one than the open item in its place.

    OpenAI's tool_search_call begins and ends under different call ids: the item id tells that it is one call. Where
    that changed as well, only another name or other streamed arguments make it another one.
    """
    one = opened.item
    id = getattr(one, "id", None)
    if id and id == getattr(item, "id", None):
        return False
    if type(one) is not type(item):
        return not opened.implied
    if not changed(one, item):
        return False
    return getattr(one, "name", None) != getattr(item, "name", None) or (
        type(item) in _GROWING
        and bool(asked(item))
        and not opened.silent()
        and by_value(opened.asked()) != by_value(asked(item))
    )


def mistrusted(items: list[Any], astray: bool, unplaced: bool, find: _Find) -> list[Any]:
    """The items. A client call that asks for nothing is not whole where arguments are elsewhere.

    ``astray``: whether some came for an item that takes none; ``unplaced``: whether some came without any place. Others
    are in a call without a name, or behind those of another call.
    """
    calls = [item for item in items if type(item) in _GROWING and type(item) is not s.McpCall]
    bare = {id(item) for item in calls if item.status != "incomplete" and asked(item).strip() in _NOTHING}
    surplus = astray or (bool(bare) and any(_has_too_much(call, unplaced) for call in calls))
    whole = []
    for item in items:
        if surplus and (id(item) in bare or (astray and type(item) in _CALLS and item.status == "incomplete")):
            find("arguments-misplaced", f"{getattr(item, 'name', None) or item_type(item)}: they came for another item")
            whole.append(msgspec.structs.replace(item, status="incomplete"))
        else:
            whole.append(item)
    return whole


def _has_too_much(call: Any, unplaced: bool) -> bool:
    text = asked(call)
    mixed = ("arguments-glued", "arguments-invalid") if unplaced else ("arguments-glued",)
    return bool(text) and (not call.name or (type(call) is s.FunctionCall and parse(text).code in mixed))


def compare(opened: Open, item: Any, find: _Find) -> None:
    """An item at its end against what came before."""
    for part in _ASKED.get(type(item), ()):
        place = (part, 0)
        grown = "".join(opened.grown.get(place, ()))
        streamed = opened.whole.get(place) or grown
        if grown and grown != streamed:  # the event that ends them says other ones than its deltas (failure SNAP-02)
            name = getattr(item, "name", None) or item.__struct_config__.tag
            find("arguments-disagree", f"{name}: {len(grown)} characters streamed, {len(streamed)} final")
        if streamed and opened.filled:
            setattr(item, part, streamed)
        elif streamed:
            opened.filled = _agree(item, part, streamed, find)
        elif type(opened.item) is type(item) and not _given(item, part):
            _agree(item, part, getattr(opened.item, part), find)


def _agree(item: Any, part: str, streamed: Any, find: _Find) -> bool:
    """What is asked for may not change any more; silence is no change, and is filled."""
    final = getattr(item, part)
    if final == streamed or not _present(streamed):
        return False
    name = getattr(item, "name", None) or item.__struct_config__.tag
    if not _given(item, part):
        setattr(item, part, streamed)
        find("arguments-disagree", f"{name}: streamed, and missing at the end; what was streamed counts")
        return True
    if isinstance(final, str) and final != streamed:
        find("arguments-disagree", f"{name}: {len(streamed)} characters streamed, {len(final)} final")
    return False


def _given(item: Any, *parts: str) -> bool:
    return any(_present(getattr(item, part)) or bool(item.extra_ and part in item.extra_) for part in parts)


def _present(value: Any) -> bool:
    return value is not None and len(value if isinstance(value, str) else memoryview(value)) > 0


def assembled(opened: Open, ended: str | None, last: bool, find: _Find) -> Any:
    """An item from its pieces, where its own end did not come. ``ended``: the status that the answer ended with."""
    item = _pieced(opened, ended, last, find)
    if opened.doubtful and type(item) in _CALLS and (opened.filled or not opened.done):
        return msgspec.structs.replace(item, status="incomplete")
    return item


def _pieced(opened: Open, ended: str | None, last: bool, find: _Find) -> Any:
    item = opened.item
    if opened.done:
        if opened.late:
            compare(opened, item, find)
        if not _wordless(item):
            return item
    said = {place: "".join(pieces) for place, pieces in opened.grown.items()}
    said.update((place, text) for place, text in opened.whole.items() if text)
    if opened.done and not said:
        return item
    item = msgspec.structs.replace(item)
    kind = type(item)
    if opened.done:
        find("output-disagrees", f"{item_type(item)}: words were streamed, and are missing at its end; they count")
    if kind is s.MessageItem:
        if not item.content or said:
            parts = [
                s.Part(type="refusal", refusal=text) if part == "refusal" else s.Part(type="output_text", text=text)
                for (part, _), text in sorted(said.items(), key=lambda entry: entry[0][1])
            ]
            item.content = parts or item.content
    elif kind is s.ReasoningItem:
        for part, part_type in (("content", "reasoning_text"), ("summary", "summary_text")):
            texts = [text for (p, _), text in sorted(said.items(), key=lambda e: e[0][1]) if p == part]
            if texts:
                setattr(item, part, [{"type": part_type, "text": text} for text in texts])
    else:
        for (part, _), text in said.items():
            if hasattr(item, part):
                setattr(item, part, text)
        if kind in _CALLS and item.status != "completed" and not is_hosted(item, None):
            silent = not said and not opened.whole
            never_whole = silent and (kind not in _GROWING or ended is None or not _given(item, *_ASKED[kind]))
            if never_whole or (last and ended == "incomplete"):
                item.status = "incomplete"
    return item


def _wordless(item: Any) -> bool:
    """Whether a message or thought ended without any word, though it has a place for them."""
    if type(item) is s.MessageItem:
        return not any(part.text or part.refusal for part in item.content or ())
    return type(item) is s.ReasoningItem and not item.content and not item.summary and not item.encrypted_content


def merged(final: list[Any], streamed: list[Any], find: _Find) -> list[Any]:
    """The terminal output, with each streamed item that it lacks in its place."""
    mates = _mates(final, streamed)
    for item, mate in zip(streamed, mates, strict=True):
        if mate is not None and type(item) is type(final[mate]):
            for part in _ASKED.get(type(item), ()):
                if _agree(final[mate], part, getattr(item, part), find) and item.status == "incomplete":
                    final[mate].status = "incomplete"
            if changed(item, final[mate]):
                find("id-changed", f"{item.call_id} is {final[mate].call_id} in the final output, which counts")
    if None not in mates:
        return final
    lost: dict[int, list[Any]] = {}
    at = -1
    names = []
    for item, mate in zip(streamed, mates, strict=True):
        if mate is not None:
            at = mate
        elif not _is_empty(item):
            lost.setdefault(at, []).append(item)
            names.append(str(getattr(item, "name", None) or item_type(item)))
    if not lost:
        return final
    find("output-disagrees", f"streamed but not in the final output: {', '.join(names)}")
    whole = lost.get(-1, [])
    for number, item in enumerate(final):
        whole += [item, *lost.get(number, ())]
    return whole


def _mates(final: list[Any], streamed: list[Any]) -> list[int | None]:
    """For each streamed item its place in the terminal output. Ids may have changed on the way (RSP-02)."""
    if len(final) == len(streamed) and all(map(_alike, final, streamed)):
        return list(range(len(final)))
    mates: list[int | None] = [None] * len(streamed)
    free = dict.fromkeys(range(len(final)))
    own_id = _own_ids(final, streamed)
    same = ((key, key) for key in (_identity, own_id, _content, _request))
    for key, of_streamed in (*same, (_arguments, _unnamed), (_kind, _kind)):
        waiting: dict[Hashable, list[int]] = {}
        for place in reversed(free):
            waiting.setdefault(key(final[place]), []).append(place)
        for number, item in enumerate(streamed):
            if mates[number] is None and (label := of_streamed(item)) is not None and waiting.get(label):
                place = mates[number] = waiting[label].pop()
                del free[place]
        if not free:
            break
    return mates


def item_type(item: Any) -> str:
    """The type of an item as the wire spells it."""
    tag = item.wire_type if type(item) is Unknown else item.__struct_config__.tag
    return str(tag)


def _member(item: Any, name: str) -> str | None:
    holder = item.raw if type(item) is Unknown else None
    value = holder.get(name) if isinstance(holder, dict) else getattr(item, name, None)
    return value if isinstance(value, str) and value else None


def _alike(one: Any, other: Any) -> bool:
    """Whether two items, which stand in one place, are usual and have the same ids."""
    kind = type(one)
    if kind is not type(other) or kind is Unknown or one.id != other.id:
        return False
    return kind not in _ASKED or getattr(one, "call_id", None) == getattr(other, "call_id", None)


def _identity(item: Any) -> Hashable:
    id = _member(item, "call_id") or _member(item, "id")
    return id and (item_type(item), id)


def _own_ids(*outputs: list[Any]) -> Callable[[Any], Hashable]:
    """A function giving an item's id alone, whatever became of its type; of a function call only if no other has it."""
    counts = [Counter(_member(item, "id") for item in items) for items in outputs]

    def own_id(item: Any) -> Hashable:
        id = _member(item, "id")
        if id is None or type(item) is not s.FunctionCall or not item.call_id:
            return id
        return (id, item.name) if all(count[id] == 1 for count in counts) else None

    return own_id


def _content(item: Any) -> Hashable:
    members = item.raw if type(item) is Unknown else raw_object(item)
    if not isinstance(members, dict):
        return None
    return json_codec.text({name: value for name, value in members.items() if name not in _LABELS})


def _request(item: Any) -> Hashable:
    """What a call asks for, by value: a server may spell its arguments anew, under new ids (ID-12)."""
    parts = _ASKED.get(type(item))
    if parts is None:
        return None
    return item_type(item), _member(item, "name"), tuple(by_value(_spelled(item, part)) for part in parts)


def _arguments(item: Any) -> Hashable:
    return (item_type(item), by_value(asked(item))) if type(item) in _ASKED else None


def _unnamed(item: Any) -> Hashable:
    """What a call asks for whose start and end are missing, so that it has no name and no call id."""
    return _arguments(item) if type(item) in _GROWING and not item.name else None


def _spelled(item: Any, part: str) -> str:
    value = getattr(item, part)
    if not _present(value):
        value = (item.extra_ or {}).get(part, "")
    return value if isinstance(value, str) else exact_text(value)


def _kind(item: Any) -> Hashable:
    """Items that nobody runs are taken for one another in their order."""
    return None if type(item) in _ASKED and type(item) is not s.McpCall else item_type(item)


def _is_empty(item: Any) -> bool:
    """Whether nothing is lost with an item: it began and never said anything."""
    kind = type(item)
    if kind is s.MessageItem:
        return not any(part.text or part.refusal or part.extra_ for part in item.content or ())
    if kind is s.ReasoningItem:
        return not (item.summary or item.content or item.encrypted_content)
    return kind in _GROWING and not item.name and not _given(item, *_ASKED[kind])
