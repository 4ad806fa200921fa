"""Defects that lose, merge, duplicate or reorder calls."""

from __future__ import annotations

from typing import Any

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, calls, defect, keep_only, other_blocks, rebuild, remove


@defect("conservation")
def first_call_only(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns the first call and loses the others."""
    if calls(form):
        keep_only(form, [0])


@defect("conservation")
def last_call_wins(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Overwrites each call with the next one."""
    if calls(form):
        keep_only(form, [len(calls(form)) - 1])


@defect("conservation")
def keyed_by_name(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Merges calls of the same tool."""
    seen = {call["name"]: index for index, call in enumerate(calls(form))}
    keep_only(form, sorted(seen.values()))


@defect("conservation")
def two_is_enough(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Handles two calls and loses the third."""
    keep_only(form, list(range(min(2, len(calls(form))))))


@defect("conservation")
def merged_by_index(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Concatenates the arguments of all streamed calls in the first call."""
    all_calls = calls(form)
    if exchange.stream and len(all_calls) > 1:
        all_calls[0]["arguments_text"] = "".join(call["arguments_text"] for call in all_calls)
        all_calls[0]["arguments"] = None
        all_calls[0]["status"] = "invalid"
        keep_only(form, [0])


@defect("conservation")
def whole_delta_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns no calls from a stream that contains only calls."""
    if exchange.stream and calls(form) and not any(block["type"] == "text" for block in blocks(form)):
        keep_only(form, [])


@defect("conservation")
def calls_lost_beside_text(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Ignores the calls of a response that also contains text."""
    if any(block["type"] == "text" for block in blocks(form)):
        keep_only(form, [])


@defect("conservation")
def without_arguments_no_call(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Ignores calls without arguments."""
    keep_only(form, [index for index, call in enumerate(calls(form)) if call["arguments"]])


@defect("conservation")
def listed_twice(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns the last call twice: from its deltas and from its final event."""
    all_calls = calls(form)
    if all_calls:
        rebuild(form, [*blocks(form), dict(all_calls[-1])])


@defect("conservation")
def identical_calls_are_one(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Merges calls with the same name and arguments."""
    seen: list[Any] = []
    indexes = []
    for index, call in enumerate(calls(form)):
        key = (call["name"], call["arguments_text"])
        if key not in seen:
            seen.append(key)
            indexes.append(index)
    keep_only(form, indexes)


@defect("conservation")
def truncated_call_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Removes truncated calls without a warning."""
    keep_only(form, [index for index, call in enumerate(calls(form)) if call["status"] == "complete"])


@defect("conservation")
def finish_reason_trusted(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns calls only if the provider's stop reason announces them."""
    if calls(form) and form["response"]["choices"][0]["stop"]["reason"] != "tool_calls":
        keep_only(form, [])


@defect("conservation")
def keyed_by_id(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Merges calls with the same id."""
    if "id-duplicate" in form["findings"]:
        keep_only(form, [0])


@defect("conservation")
def ids_of_its_kind(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Replaces the provider's ids by generated ones."""
    for number, call in enumerate(calls(form)):
        call["id"] = f"made_up_{number}"


@defect("conservation")
def ids_shared(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Gives all calls of a response the id of the first one."""
    for call in calls(form)[1:]:
        call["id"] = calls(form)[0]["id"]


@defect("conservation")
def calls_of_every_choice(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Adds the calls of all choices to the first one."""
    choices = form["response"]["choices"]
    for other in choices[1:]:
        choices[0]["blocks"] += [block for block in other["blocks"] if block["type"] == "tool_call"]


@defect("order")
def sorted_by_name(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Sorts calls by name, in reverse alphabetical order."""
    ordered = sorted(calls(form), key=lambda call: str(call["name"]), reverse=True)
    rebuild(form, [*other_blocks(form), *ordered])


@defect("order")
def sorted_by_id(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Sorts calls by id."""
    ordered = sorted(calls(form), key=lambda call: str(call["id"])[::-1])
    rebuild(form, [*other_blocks(form), *ordered])


@defect("order")
def last_first(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reverses the order of the calls."""
    rebuild(form, [*other_blocks(form), *reversed(calls(form))])


@defect("order")
def reversed_history(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs calls in their order, but returns the blocks for the history in reverse order."""
    indexes = [index for index, block in enumerate(blocks(form)) if block["type"] == "tool_call"]
    for index, call in zip(indexes, reversed(calls(form)), strict=True):
        blocks(form)[index] = call
    moved = dict(zip(indexes, reversed(indexes), strict=True))
    selection = form["selection"]
    for group in ("kept", "dropped", "rejected"):
        for ref in selection[group]:
            if ref["choice"] == selection["choice"]:
                ref["block"] = moved[ref["block"]]


@defect("server-side")
def server_call_leaked(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Passes calls that the provider executed to the caller's tools."""
    rebuild(form, [_as_client(b) if b["type"] == "server_tool_call" else b for b in blocks(form)])


@defect("server-side")
def custom_item_is_client(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Decides by the item type alone, so that the provider's code executions become client calls."""
    changed = [
        _as_client(b) if b["type"] == "server_tool_call" and b["tool"] in ("code_execution", "x_search") else b
        for b in blocks(form)
    ]
    rebuild(form, changed)


@defect("server-side")
def server_calls_hidden(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Does not return server calls."""
    remove(form, "server_tool_call", "server_tool_result")


def _as_client(block: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "tool_call",
        "id": block["id"],
        "name": block["name"],
        "arguments": {},
        "arguments_text": block["arguments_text"],
        "status": "complete",
        "kind": "function",
    }
