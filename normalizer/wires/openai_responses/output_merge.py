"""Merging of streamed items with the output of the terminal event, which only this wire repeats.

The output of the terminal event takes precedence. If it lacks an item, the streamed one is kept (RSP-01).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from ... import json_codec
from ...arguments import by_value
from ..schema import Unknown, raw_object
from . import schema as s
from .stream_state import (
    ARGUMENT_MEMBERS,
    STREAMED,
    Find,
    argument_text,
    fill_in,
    has_member,
    has_other_call_id,
    item_type,
    spelled,
)

_LABELS = frozenset(("id", "call_id", "status", "item_id", "output_index"))


def merge_output(final: list[Any], streamed: list[Any], find: Find) -> list[Any]:
    """Return the items of the terminal output, with each streamed item that it lacks inserted at its position."""
    if len(final) == len(streamed) and all(map(_is_same_output, final, streamed)):
        return final
    matches = _match(final, streamed)
    for item, match in zip(streamed, matches, strict=True):
        if match is not None and type(item) is type(final[match]):
            for part in ARGUMENT_MEMBERS.get(type(item), ()):
                if fill_in(final[match], part, getattr(item, part), find) and item.status == "incomplete":
                    final[match].status = "incomplete"
            if has_other_call_id(item, final[match]):
                find("id-changed", f"{item.call_id} is {final[match].call_id} in the final output, which counts")
    if None not in matches:
        return final
    lost: dict[int, list[Any]] = {}
    at = -1
    names = []
    for item, match in zip(streamed, matches, strict=True):
        if match is not None:
            at = match
        elif not _is_empty(item):
            lost.setdefault(at, []).append(item)
            names.append(str(getattr(item, "name", None) or item_type(item)))
    if not lost:
        return final
    find("output-disagrees", f"streamed but not in the final output: {', '.join(names)}")
    merged = lost.get(-1, [])
    for number, item in enumerate(final):
        merged += [item, *lost.get(number, ())]
    return merged


def _match(final: list[Any], streamed: list[Any]) -> list[int | None]:
    """Return for each streamed item its position in the terminal output, None if it is missing there.

    Ids may differ between the two (RSP-02), so content, arguments and order serve as fallbacks.
    """
    if len(final) == len(streamed) and all(map(_have_same_ids, final, streamed)):
        return list(range(len(final)))
    matches: list[int | None] = [None] * len(streamed)
    free = dict.fromkeys(range(len(final)))
    own_id = _own_ids(final, streamed)
    same = ((key, key) for key in (_identity, own_id, _content, _request))
    for key, of_streamed in (*same, (_arguments, _unnamed), (_kind, _kind)):
        waiting: dict[Hashable, list[int]] = {}
        for position in reversed(free):
            waiting.setdefault(key(final[position]), []).append(position)
        for number, item in enumerate(streamed):
            if matches[number] is None and (label := of_streamed(item)) is not None and waiting.get(label):
                position = matches[number] = waiting[label].pop()
                del free[position]
        if not free:
            break
    return matches


def _member(item: Any, name: str) -> str | None:
    holder = item.raw if type(item) is Unknown else None
    value = holder.get(name) if isinstance(holder, dict) else getattr(item, name, None)
    return value if isinstance(value, str) and value else None


def _have_same_ids(first: Any, second: Any) -> bool:
    """Whether two items at the same position have the same known type and the same ids."""
    kind = type(first)
    if kind is not type(second) or kind is Unknown or first.id != second.id:
        return False
    return kind not in ARGUMENT_MEMBERS or getattr(first, "call_id", None) == getattr(second, "call_id", None)


def _is_same_output(first: Any, second: Any) -> bool:
    """Whether two items at the same position are the same item with the same arguments."""
    for part in ARGUMENT_MEMBERS.get(type(first), ()):
        if getattr(first, part) != getattr(second, part, None):
            return False
    return _have_same_ids(first, second)


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
    parts = ARGUMENT_MEMBERS.get(type(item))
    if parts is None:
        return None
    return item_type(item), _member(item, "name"), tuple(by_value(spelled(item, part)) for part in parts)


def _arguments(item: Any) -> Hashable:
    return (item_type(item), by_value(argument_text(item))) if type(item) in ARGUMENT_MEMBERS else None


def _unnamed(item: Any) -> Hashable:
    """Return the arguments of a call that has no name because its start and end are missing; None for others."""
    return _arguments(item) if type(item) in STREAMED and not item.name else None


def _kind(item: Any) -> Hashable:
    """Return the type of an item that the client does not run; such items may be matched by order alone."""
    return None if type(item) in ARGUMENT_MEMBERS and type(item) is not s.McpCall else item_type(item)


def _is_empty(item: Any) -> bool:
    """Whether an item began but never got any content, so that leaving it out loses nothing."""
    kind = type(item)
    if kind is s.MessageItem:
        return not any(part.text or part.refusal or part.extra_ for part in item.content or ())
    if kind is s.ReasoningItem:
        return not (item.summary or item.content or item.encrypted_content)
    return kind in STREAMED and not item.name and not has_member(item, *ARGUMENT_MEMBERS[kind])
