"""Defects that lose, merge, duplicate or reorder calls."""

from __future__ import annotations

from typing import Any

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, calls, defect, keep_only, rebuild


@defect("conservation")
def first_call_only(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Takes the first call and forgets the others."""
    if calls(given):
        keep_only(given, [0])


@defect("conservation")
def last_call_wins(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Each call overwrites the one before."""
    if calls(given):
        keep_only(given, [len(calls(given)) - 1])


@defect("conservation")
def keyed_by_name(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Two calls of one tool are one."""
    seen = {call["name"]: place for place, call in enumerate(calls(given))}
    keep_only(given, sorted(seen.values()))


@defect("conservation")
def two_is_enough(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Handles two calls and loses the third."""
    keep_only(given, list(range(min(2, len(calls(given))))))


@defect("conservation")
def merged_by_index(given: CanonicalForm, ask: SubjectExchange) -> None:
    """All fragments land in one slot: names of the first call, arguments glued."""
    made = calls(given)
    if ask.stream and len(made) > 1:
        made[0]["arguments_text"] = "".join(call["arguments_text"] for call in made)
        made[0]["arguments"] = None
        made[0]["status"] = "invalid"
        keep_only(given, [0])


@defect("conservation")
def whole_delta_lost(given: CanonicalForm, ask: SubjectExchange) -> None:
    """A streamed answer that holds only calls yields none."""
    if ask.stream and calls(given) and not any(block["type"] == "text" for block in blocks(given)):
        keep_only(given, [])


@defect("conservation")
def calls_lost_beside_text(given: CanonicalForm, ask: SubjectExchange) -> None:
    """An answer that begins with words is taken for words only."""
    if any(block["type"] == "text" for block in blocks(given)):
        keep_only(given, [])


@defect("conservation")
def without_arguments_no_call(given: CanonicalForm, ask: SubjectExchange) -> None:
    """A call without arguments is no call."""
    keep_only(given, [place for place, call in enumerate(calls(given)) if call["arguments"]])


@defect("conservation")
def told_twice(given: CanonicalForm, ask: SubjectExchange) -> None:
    """The last call is told by its deltas and again at its end."""
    made = calls(given)
    if made:
        rebuild(given, [*blocks(given), dict(made[-1])])


@defect("conservation")
def identical_calls_are_one(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Calls with one name and one argument are taken for a repetition."""
    seen: list[Any] = []
    places = []
    for place, call in enumerate(calls(given)):
        key = (call["name"], call["arguments_text"])
        if key not in seen:
            seen.append(key)
            places.append(place)
    keep_only(given, places)


@defect("conservation")
def truncated_call_forgotten(given: CanonicalForm, ask: SubjectExchange) -> None:
    """A call that was cut is thrown away without a word."""
    keep_only(given, [place for place, call in enumerate(calls(given)) if call["status"] == "complete"])


@defect("conservation")
def finish_reason_trusted(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Calls count only where the provider says that it stopped for them."""
    if calls(given) and given["response"]["choices"][0]["stop"]["reason"] != "tool_calls":
        keep_only(given, [])


@defect("conservation")
def keyed_by_id(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Two calls of one id are one."""
    if "id-duplicate" in given["findings"]:
        keep_only(given, [0])


@defect("conservation")
def ids_of_its_kind(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Gives every call an id of its own making."""
    for number, call in enumerate(calls(given)):
        call["id"] = f"made_up_{number}"


@defect("conservation")
def ids_shared(given: CanonicalForm, ask: SubjectExchange) -> None:
    """All calls of an answer go under the first one's id."""
    for call in calls(given)[1:]:
        call["id"] = calls(given)[0]["id"]


@defect("conservation")
def calls_of_every_choice(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Puts the calls of all alternatives into the first one."""
    choices = given["response"]["choices"]
    for other in choices[1:]:
        choices[0]["blocks"] += [block for block in other["blocks"] if block["type"] == "tool_call"]


@defect("order")
def sorted_by_name(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Calls come in the order of their names' letters, backwards."""
    ordered = sorted(calls(given), key=lambda call: str(call["name"]), reverse=True)
    rebuild(given, [*[b for b in blocks(given) if b["type"] != "tool_call"], *ordered])


@defect("order")
def sorted_by_id(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Calls come in the order of their ids."""
    ordered = sorted(calls(given), key=lambda call: str(call["id"])[::-1])
    rebuild(given, [*[b for b in blocks(given) if b["type"] != "tool_call"], *ordered])


@defect("order")
def last_first(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Calls are put on a stack."""
    rebuild(given, [*[b for b in blocks(given) if b["type"] != "tool_call"], *reversed(calls(given))])


@defect("order")
def told_backwards(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Runs the calls in their order, and tells them backwards in the answer that goes into the history."""
    places = [place for place, block in enumerate(blocks(given)) if block["type"] == "tool_call"]
    for place, call in zip(places, reversed(calls(given)), strict=True):
        blocks(given)[place] = call
    moved = dict(zip(places, reversed(places), strict=True))
    selection = given["selection"]
    for told in ("kept", "dropped", "rejected"):
        for ref in selection[told]:
            if ref["choice"] == selection["choice"]:
                ref["block"] = moved[ref["block"]]


@defect("server-side")
def server_call_leaked(given: CanonicalForm, ask: SubjectExchange) -> None:
    """What the provider ran itself is handed to the caller's tools."""
    rebuild(given, [_as_client(b) if b["type"] == "server_tool_call" else b for b in blocks(given)])


@defect("server-side")
def custom_item_is_client(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Tells client from server by the item type alone: a server's code run is a client's call."""
    told = [
        _as_client(b) if b["type"] == "server_tool_call" and b["tool"] in ("code_execution", "x_search") else b
        for b in blocks(given)
    ]
    rebuild(given, told)


@defect("server-side")
def server_calls_hidden(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Says nothing of what the provider ran."""
    rebuild(given, [b for b in blocks(given) if b["type"] not in ("server_tool_call", "server_tool_result")])


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
