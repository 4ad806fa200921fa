"""State of an output item while it streams, and how its fragments and its end complete it.

A later value takes precedence over an earlier one, but an absent value does not. If the end of an item has no
arguments, the streamed ones count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ...arguments import by_value, parse
from ..schema import Unknown, Wire, exact_text
from . import schema as s
from .blocks import is_hosted

Find = Callable[[str, str], None]

#: Call items, and the members that hold their arguments.
ARGUMENT_MEMBERS: dict[type[Wire], tuple[str, ...]] = {
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
STREAMED = frozenset((s.FunctionCall, s.CustomToolCall, s.McpCall))
#: Calls that the client may have to run.
_CALLS = ARGUMENT_MEMBERS.keys() - {s.McpApprovalRequest, s.McpCall}
_NOTHING = frozenset(("", "{}", "null"))


class ItemState(Struct, eq=False):
    """One output item while it arrives.

    ``fragments``: by (part, index of the part). ``final_texts``: texts of `done` events, by the same key. ``keys``:
    block keys in the event stream, by the same key. ``done``: whether the item has ended.
    """

    item: Any
    fragments: dict[tuple[str, int], list[str]] = {}
    final_texts: dict[tuple[str, int], str] = {}
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

    def argument_text(self) -> str:
        """Return the argument text so far."""
        for part in ARGUMENT_MEMBERS.get(type(self.item), ()):
            text = self.final_texts.get((part, 0)) or "".join(self.fragments.get((part, 0), ()))
            if text:
                return text
        return argument_text(self.item)

    def has_no_arguments(self) -> bool:
        """Whether the arguments so far are empty."""
        return self.argument_text().strip() in _NOTHING


def argument_text(item: Any) -> str:
    """Return the argument text of a call; empty for any other item."""
    return "".join([spelled(item, part) for part in ARGUMENT_MEMBERS.get(type(item), ())])


def is_same(first: Any, second: Any) -> bool:
    """Whether the ids of two items show that they are the same item."""
    if type(first) is not type(second) or has_other_call_id(first, second):
        return False
    if getattr(first, "call_id", None) and getattr(second, "call_id", None):
        return True
    id = getattr(first, "id", None)
    return bool(id and id == getattr(second, "id", None))


def is_silent(item: Any) -> bool:
    """Whether an item is reasoning without a text."""
    return type(item) is s.ReasoningItem and not (item.summary or item.content)


def has_other_call_id(first: Any, second: Any) -> bool:
    """Whether two items have different call ids."""
    first_id, second_id = getattr(first, "call_id", None), getattr(second, "call_id", None)
    return bool(first_id and second_id and first_id != second_id)


def is_another(state: ItemState, item: Any) -> bool:
    """Whether an item from an end event differs from the open item at its index.

    OpenAI's tool_search_call begins and ends with different call ids, but with one item id. If the item id changed as
    well, the item is another one only if its name or its streamed arguments differ.
    """
    begun = state.item
    id = getattr(begun, "id", None)
    if id and id == getattr(item, "id", None):
        return False
    if type(begun) is not type(item):
        return not state.implied
    if not has_other_call_id(begun, item):
        return False
    return getattr(begun, "name", None) != getattr(item, "name", None) or (
        type(item) in STREAMED
        and bool(argument_text(item))
        and not state.has_no_arguments()
        and by_value(state.argument_text()) != by_value(argument_text(item))
    )


def mark_incomplete(items: list[Any], astray: bool, unplaced: bool, find: Find) -> list[Any]:
    """Return the items, with client calls marked incomplete if their arguments may be in another item.

    This applies to calls without arguments if another call has no name, or has concatenated arguments.
    ``astray``: whether arguments came for an item that takes none. ``unplaced``: whether arguments came without index
    and item id, so that invalid arguments count as concatenated.
    """
    calls = [item for item in items if type(item) in STREAMED and type(item) is not s.McpCall]
    if not calls and not astray:
        return items
    without_arguments = {
        id(item) for item in calls if item.status != "incomplete" and argument_text(item).strip() in _NOTHING
    }
    surplus = astray or (bool(without_arguments) and any(_has_surplus(call, unplaced) for call in calls))
    if not surplus:
        return items
    checked = []
    for item in items:
        if id(item) in without_arguments or (astray and type(item) in _CALLS and item.status == "incomplete"):
            find(
                "arguments-misplaced",
                f"{getattr(item, 'name', None) or item_type(item)}: they were sent for another item",
            )
            checked.append(msgspec.structs.replace(item, status="incomplete"))
        else:
            checked.append(item)
    return checked


def _has_surplus(call: Any, unplaced: bool) -> bool:
    text = argument_text(call)
    mixed = ("arguments-glued", "arguments-invalid") if unplaced else ("arguments-glued",)
    return bool(text) and (not call.name or (type(call) is s.FunctionCall and parse(text).code in mixed))


def compare(state: ItemState, item: Any, find: Find) -> None:
    """Compare an item at its end with its streamed arguments, and fill in missing ones."""
    for part in ARGUMENT_MEMBERS.get(type(item), ()):
        part_key = (part, 0)
        grown = "".join(state.fragments.get(part_key, ()))
        streamed = state.final_texts.get(part_key) or grown
        if grown and grown != streamed:  # the done event differs from its deltas (failure SNAP-02)
            name = getattr(item, "name", None) or item.__struct_config__.tag
            find("arguments-disagree", f"{name}: {len(grown)} characters streamed, {len(streamed)} final")
        if streamed and state.filled:
            setattr(item, part, streamed)
        elif streamed:
            state.filled = fill_in(item, part, streamed, find)
        elif type(state.item) is type(item) and not has_member(item, part):
            fill_in(item, part, getattr(state.item, part), find)


def fill_in(item: Any, part: str, streamed: Any, find: Find) -> bool:
    """Report arguments that differ from the streamed ones. If they are missing, fill them in and return True."""
    final = getattr(item, part)
    if final == streamed or not _has_value(streamed):
        return False
    name = getattr(item, "name", None) or item.__struct_config__.tag
    if not has_member(item, part):
        setattr(item, part, streamed)
        find("arguments-disagree", f"{name}: missing in the final item; the streamed ones count")
        return True
    if isinstance(final, str) and final != streamed:
        find("arguments-disagree", f"{name}: {len(streamed)} characters streamed, {len(final)} final")
    return False


def has_member(item: Any, *parts: str) -> bool:
    return any(_has_value(getattr(item, part)) or bool(item.extra_ and part in item.extra_) for part in parts)


def _has_value(value: Any) -> bool:
    return value is not None and len(value if isinstance(value, str) else memoryview(value)) > 0


def assemble(state: ItemState, ended: str | None, last: bool, find: Find) -> Any:
    """Return an item of a finished stream, built from its fragments if its end did not arrive.

    ``ended``: the status of the response, None if it did not end. ``last``: whether this is the last item.
    """
    item = _from_fragments(state, ended, last, find)
    if state.doubtful and type(item) in _CALLS and (state.filled or not state.done):
        return msgspec.structs.replace(item, status="incomplete")
    return item


def _from_fragments(state: ItemState, ended: str | None, last: bool, find: Find) -> Any:
    item = state.item
    if state.done:
        if state.late:
            compare(state, item, find)
        if not (state.fragments or state.final_texts) or not _has_no_text(item):
            return item
    said = {part_key: "".join(pieces) for part_key, pieces in state.fragments.items()}
    said.update((part_key, text) for part_key, text in state.final_texts.items() if text)
    item = msgspec.structs.replace(item)
    kind = type(item)
    if state.done:
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
            silent = not said and not state.final_texts
            never_whole = silent and (
                kind not in STREAMED or ended is None or not has_member(item, *ARGUMENT_MEMBERS[kind])
            )
            if never_whole or (last and ended == "incomplete"):
                item.status = "incomplete"
    return item


def _has_no_text(item: Any) -> bool:
    """Whether a message or reasoning item ended without any text."""
    if type(item) is s.MessageItem:
        return not any(part.text or part.refusal for part in item.content or ())
    return type(item) is s.ReasoningItem and not item.content and not item.summary and not item.encrypted_content


def item_type(item: Any) -> str:
    """Return the type of an item on the wire."""
    tag = item.wire_type if type(item) is Unknown else item.__struct_config__.tag
    return str(tag)


def spelled(item: Any, part: str) -> str:
    value = getattr(item, part)
    if not _has_value(value):
        value = (item.extra_ or {}).get(part, "")
    return value if isinstance(value, str) else exact_text(value)
