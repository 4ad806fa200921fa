"""Assemble the items of a finished stream and merge them with the output of its terminal event.

A later value takes precedence over an earlier one, but an absent value does not. If the end of an item has no
arguments, the streamed ones count. If the terminal output lacks an item, the streamed one is kept (RSP-01).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import msgspec
from msgspec import Struct

from ... import json_codec
from ...arguments import by_value, parse
from ..schema import Unknown, Wire, exact_text, raw_object
from . import schema as s
from .blocks import is_hosted

_Find = Callable[[str, str], None]

#: Call items, and the members that hold their arguments.
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
#: Calls whose arguments arrive in deltas. All others get them at the end of the item.
_GROWING = frozenset((s.FunctionCall, s.CustomToolCall, s.McpCall))
#: Calls that the client may have to run.
_CALLS = _ASKED.keys() - {s.McpApprovalRequest, s.McpCall}
_NOTHING = frozenset(("", "{}", "null"))
_LABELS = frozenset(("id", "call_id", "status", "item_id", "output_index"))


class ItemState(Struct, eq=False):
    """One output item while it arrives.

    ``grown``: fragments by (part, index of the part). ``whole``: complete texts from `done` events, by the same key.
    ``keys``: block keys in the event stream, by the same key. ``done``: whether the item has ended.
    """

    item: Any
    grown: dict[tuple[str, int], list[str]] = {}
    whole: dict[tuple[str, int], str] = {}
    keys: dict[tuple[str, int], int] = {}
    done: bool = False
    #: whether the end of the item had no arguments, so that the streamed ones count
    filled: bool = False
    #: whether fragments came after the end of the item
    late: bool = False
    #: whether its events came under the index of another item
    strayed: bool = False
    #: whether it began with a fragment and no event has announced it yet
    implied: bool = False
    #: whether arguments came that may belong to it or to another call
    doubtful: bool = False

    def asked(self) -> str:
        """Return the argument text so far."""
        for part in _ASKED.get(type(self.item), ()):
            text = self.whole.get((part, 0)) or "".join(self.grown.get((part, 0), ()))
            if text:
                return text
        return asked(self.item)

    def silent(self) -> bool:
        """Whether the arguments so far are empty."""
        return self.asked().strip() in _NOTHING


def asked(item: Any) -> str:
    """Return the argument text of a call; empty for any other item."""
    return "".join(_spelled(item, part) for part in _ASKED.get(type(item), ()))


def same(one: Any, other: Any) -> bool:
    """Whether the ids of two items show that they are the same item."""
    if type(one) is not type(other) or changed(one, other):
        return False
    if getattr(one, "call_id", None) and getattr(other, "call_id", None):
        return True
    id = getattr(one, "id", None)
    return bool(id and id == getattr(other, "id", None))


def changed(one: Any, other: Any) -> bool:
    """Whether two items have different call ids."""
    first, second = getattr(one, "call_id", None), getattr(other, "call_id", None)
    return bool(first and second and first != second)


def is_another(opened: ItemState, item: Any) -> bool:
    """Whether an item from an end event differs from the open item at its index.

    OpenAI's tool_search_call begins and ends with different call ids, but with one item id. If the item id changed as
    well, the item is another one only if its name or its streamed arguments differ.
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
    """Return the items, with client calls marked incomplete if their arguments may be in another item.

    This applies to calls without arguments if another call has no name, or has concatenated arguments.
    ``astray``: whether arguments came for an item that takes none. ``unplaced``: whether arguments came without index
    and item id, so that invalid arguments count as concatenated.
    """
    calls = [item for item in items if type(item) in _GROWING and type(item) is not s.McpCall]
    bare = {id(item) for item in calls if item.status != "incomplete" and asked(item).strip() in _NOTHING}
    surplus = astray or (bool(bare) and any(_has_too_much(call, unplaced) for call in calls))
    whole = []
    for item in items:
        if surplus and (id(item) in bare or (astray and type(item) in _CALLS and item.status == "incomplete")):
            find(
                "arguments-misplaced",
                f"{getattr(item, 'name', None) or item_type(item)}: they were sent for another item",
            )
            whole.append(msgspec.structs.replace(item, status="incomplete"))
        else:
            whole.append(item)
    return whole


def _has_too_much(call: Any, unplaced: bool) -> bool:
    text = asked(call)
    mixed = ("arguments-glued", "arguments-invalid") if unplaced else ("arguments-glued",)
    return bool(text) and (not call.name or (type(call) is s.FunctionCall and parse(text).code in mixed))


def compare(opened: ItemState, item: Any, find: _Find) -> None:
    """Compare an item at its end with its streamed arguments, and fill in missing ones."""
    for part in _ASKED.get(type(item), ()):
        place = (part, 0)
        grown = "".join(opened.grown.get(place, ()))
        streamed = opened.whole.get(place) or grown
        if grown and grown != streamed:  # the done event differs from its deltas (failure SNAP-02)
            name = getattr(item, "name", None) or item.__struct_config__.tag
            find("arguments-disagree", f"{name}: {len(grown)} characters streamed, {len(streamed)} final")
        if streamed and opened.filled:
            setattr(item, part, streamed)
        elif streamed:
            opened.filled = _agree(item, part, streamed, find)
        elif type(opened.item) is type(item) and not _given(item, part):
            _agree(item, part, getattr(opened.item, part), find)


def _agree(item: Any, part: str, streamed: Any, find: _Find) -> bool:
    """Report arguments that differ from the streamed ones. If they are missing, fill them in and return True."""
    final = getattr(item, part)
    if final == streamed or not _present(streamed):
        return False
    name = getattr(item, "name", None) or item.__struct_config__.tag
    if not _given(item, part):
        setattr(item, part, streamed)
        find("arguments-disagree", f"{name}: missing in the final item; the streamed ones count")
        return True
    if isinstance(final, str) and final != streamed:
        find("arguments-disagree", f"{name}: {len(streamed)} characters streamed, {len(final)} final")
    return False


def _given(item: Any, *parts: str) -> bool:
    return any(_present(getattr(item, part)) or bool(item.extra_ and part in item.extra_) for part in parts)


def _present(value: Any) -> bool:
    return value is not None and len(value if isinstance(value, str) else memoryview(value)) > 0


def assembled(opened: ItemState, ended: str | None, last: bool, find: _Find) -> Any:
    """Return an item of a finished stream, built from its fragments if its end did not arrive.

    ``ended``: the status of the response, None if it did not end. ``last``: whether this is the last item.
    """
    item = _pieced(opened, ended, last, find)
    if opened.doubtful and type(item) in _CALLS and (opened.filled or not opened.done):
        return msgspec.structs.replace(item, status="incomplete")
    return item


def _pieced(opened: ItemState, ended: str | None, last: bool, find: _Find) -> Any:
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
        find(
            "output-disagrees",
            f"{item_type(item)}: streamed text is missing in the final item; the streamed text counts",
        )
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
    """Whether a message or reasoning item ended without any text."""
    if type(item) is s.MessageItem:
        return not any(part.text or part.refusal for part in item.content or ())
    return type(item) is s.ReasoningItem and not item.content and not item.summary and not item.encrypted_content


def merged(final: list[Any], streamed: list[Any], find: _Find) -> list[Any]:
    """Return the items of the terminal output, with each streamed item that it lacks inserted at its position."""
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
    """Return for each streamed item its position in the terminal output, None if it is missing there.

    Ids may differ between the two (RSP-02), so content, arguments and order serve as fallbacks.
    """
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
    """Return the type of an item on the wire."""
    tag = item.wire_type if type(item) is Unknown else item.__struct_config__.tag
    return str(tag)


def _member(item: Any, name: str) -> str | None:
    holder = item.raw if type(item) is Unknown else None
    value = holder.get(name) if isinstance(holder, dict) else getattr(item, name, None)
    return value if isinstance(value, str) and value else None


def _alike(one: Any, other: Any) -> bool:
    """Whether two items at the same position have the same known type and the same ids."""
    kind = type(one)
    if kind is not type(other) or kind is Unknown or one.id != other.id:
        return False
    return kind not in _ASKED or getattr(one, "call_id", None) == getattr(other, "call_id", None)


def _identity(item: Any) -> Hashable:
    id = _member(item, "call_id") or _member(item, "id")
    return id and (item_type(item), id)


def _own_ids(*outputs: list[Any]) -> Callable[[Any], Hashable]:
    """Return a function that maps an item to its item id, whatever its type.

    For a function call the id counts only if it is unique in each of ``outputs``.
    """
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
    """Return name and arguments of a call by value; servers may reformat arguments and change ids (ID-12)."""
    parts = _ASKED.get(type(item))
    if parts is None:
        return None
    return item_type(item), _member(item, "name"), tuple(by_value(_spelled(item, part)) for part in parts)


def _arguments(item: Any) -> Hashable:
    return (item_type(item), by_value(asked(item))) if type(item) in _ASKED else None


def _unnamed(item: Any) -> Hashable:
    """Return the arguments of a call that has no name because its start and end are missing; None for others."""
    return _arguments(item) if type(item) in _GROWING and not item.name else None


def _spelled(item: Any, part: str) -> str:
    value = getattr(item, part)
    if not _present(value):
        value = (item.extra_ or {}).get(part, "")
    return value if isinstance(value, str) else exact_text(value)


def _kind(item: Any) -> Hashable:
    """Return the type of an item that the client does not run; such items may be matched by order alone."""
    return None if type(item) in _ASKED and type(item) is not s.McpCall else item_type(item)


def _is_empty(item: Any) -> bool:
    """Whether an item began but never got any content, so that leaving it out loses nothing."""
    kind = type(item)
    if kind is s.MessageItem:
        return not any(part.text or part.refusal or part.extra_ for part in item.content or ())
    if kind is s.ReasoningItem:
        return not (item.summary or item.content or item.encrypted_content)
    return kind in _GROWING and not item.name and not _given(item, *_ASKED[kind])
