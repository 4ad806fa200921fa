"""Mistakes of policies: which calls run under `first`, `batch` and a limit, and what is said about the others."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ...subjects import FollowUp, SubjectExchange
from ..mutate import CanonicalForm, blocks, calls, remove
from ..requests import drop_answers

Refs = list[dict[str, Any]]
Change = Callable[[CanonicalForm, SubjectExchange], None]


def _under(*policies: str) -> Callable[[Change], Change]:
    """Restrict a change to policies; "limit" is a limit under any policy."""

    def restrict(change: Change) -> Change:
        def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
            if exchange.policy in policies or ("limit" in policies and exchange.limit is not None):
                change(form, exchange)

        return answer

    return restrict


def _moved(
    form: CanonicalForm, source: str, to: str, which: Callable[[dict[str, Any]], bool] = lambda ref: True
) -> None:
    selection = form["selection"]
    found = [ref for ref in selection[source] if which(ref)]
    selection[source] = [ref for ref in selection[source] if ref not in found]
    reason = None if to == "kept" else "the policy does not run it"
    moved = [{**ref, "reason": ref["reason"] if to != "kept" and ref["reason"] else reason} for ref in found]
    selection[to] = sorted([*selection[to], *moved], key=lambda ref: (ref["choice"], ref["block"]))


@_under("first")
def _first_of_each_tool(form: CanonicalForm, exchange: SubjectExchange) -> None:
    names = {ref["name"] for ref in form["selection"]["kept"]}
    for ref in list(form["selection"]["dropped"]):
        if ref["name"] not in names and ref["choice"] == form["selection"]["choice"]:
            names.add(ref["name"])
            _moved(form, "dropped", "kept", partial(operator.is_, ref))


@_under("first")
def _first_even_if_broken(form: CanonicalForm, exchange: SubjectExchange) -> None:
    selection = form["selection"]
    first = min((ref["block"] for key in ("kept", "rejected") for ref in selection[key]), default=None)
    if any(ref["block"] == first for ref in selection["rejected"]) and form["response"]["complete"]:
        _moved(form, "kept", "dropped")
        _moved(form, "rejected", "kept", lambda ref: ref["block"] == first)


@_under("first")
def _first_counts_server_calls(form: CanonicalForm, exchange: SubjectExchange) -> None:
    kept = form["selection"]["kept"]
    servers = [index for index, block in enumerate(blocks(form)) if block["type"] == "server_tool_call"]
    if kept and servers and servers[0] < kept[0]["block"]:
        _moved(form, "kept", "dropped")


@_under("first")
def _first_ignores_the_end(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Run the first call whatever the stop reason is."""
    if not form["selection"]["kept"] and form["response"]["complete"]:
        _moved(form, "rejected", "kept", lambda ref: ref is form["selection"]["rejected"][0])


@_under("batch")
def _broken_batch_runs(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if not form["response"]["complete"]:
        _moved(form, "rejected", "kept", lambda ref: blocks(form)[ref["block"]]["status"] == "complete")


@_under("first")
def _broken_first_runs(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if not form["response"]["complete"]:
        whole = [ref for ref in form["selection"]["rejected"] if blocks(form)[ref["block"]]["status"] == "complete"]
        _moved(form, "rejected", "kept", lambda ref: ref is whole[0])


@_under("batch")
def _batch_reversed(form: CanonicalForm, exchange: SubjectExchange) -> None:
    form["selection"]["kept"].reverse()


@_under("batch")
def _batch_without_repetitions(form: CanonicalForm, exchange: SubjectExchange) -> None:
    seen: set[str] = set()
    for ref in list(form["selection"]["kept"]):
        call = blocks(form)[ref["block"]]
        key = f"{call['name']} {call['arguments_text']}"
        if key in seen:
            _moved(form, "kept", "dropped", partial(operator.is_, ref))
        seen.add(key)


@_under("batch")
def _batch_ends_at_a_broken_call(form: CanonicalForm, exchange: SubjectExchange) -> None:
    rejected = [ref["block"] for ref in form["selection"]["rejected"]]
    if rejected:
        _moved(form, "kept", "dropped", lambda ref: ref["block"] > rejected[0])


@_under("batch")
def _batch_all_or_nothing(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if form["selection"]["rejected"]:
        _moved(form, "kept", "dropped")


@_under("batch")
def _batch_of_one_tool(form: CanonicalForm, exchange: SubjectExchange) -> None:
    kept = form["selection"]["kept"]
    if kept:
        _moved(form, "kept", "dropped", lambda ref: ref["name"] != kept[0]["name"])


@_under("batch")
def _limit_ignored_by_batch(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if exchange.limit is not None:
        _moved(form, "dropped", "kept", lambda ref: ref["choice"] == form["selection"]["choice"])


@_under("limit")
def _limit_is_exclusive(form: CanonicalForm, exchange: SubjectExchange) -> None:
    kept = form["selection"]["kept"]
    if len(kept) == exchange.limit:
        _moved(form, "kept", "dropped", lambda ref: ref is kept[-1])


@_under("limit")
def _limit_counts_from_the_end(form: CanonicalForm, exchange: SubjectExchange) -> None:
    selection = form["selection"]
    every = sorted([*selection["kept"], *selection["dropped"]], key=lambda ref: int(ref["block"]))
    if selection["dropped"]:
        cut = len(every) - len(selection["kept"])
        reason = selection["dropped"][0]["reason"]
        selection["dropped"] = [{**ref, "reason": reason} for ref in every[:cut]]
        selection["kept"] = [{**ref, "reason": None} for ref in every[cut:]]


@_under("limit")
def _limit_counts_broken_calls(form: CanonicalForm, exchange: SubjectExchange) -> None:
    selection = form["selection"]
    for ref in selection["kept"][(exchange.limit or 0) - len(selection["rejected"]) :] if selection["rejected"] else ():
        _moved(form, "kept", "dropped", partial(operator.is_, ref))


@_under("first")
def _text_lost_by_first(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if calls(form):
        for block in blocks(form):
            if block["type"] == "text":
                block["text"] = ""


@_under("first")
def _dropped_calls_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Remove the calls that do not run from the answer, too."""
    gone = {ref["block"] for ref in form["selection"]["dropped"]}
    form["response"]["choices"][0]["blocks"] = [b for index, b in enumerate(blocks(form)) if index not in gone]
    form["selection"]["dropped"] = []


def _usage_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    form["response"]["usage"] = None


def _reasoning_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if form["response"]["choices"]:
        remove(form, "reasoning")


def _findings_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    form["findings"] = []


def _stop_is_end(form: CanonicalForm, exchange: SubjectExchange) -> None:
    for choice in form["response"]["choices"]:
        if choice["stop"]["reason"] == "tool_calls" and len(form["selection"]["kept"]) <= 1:
            choice["stop"]["reason"] = "end_turn"


def _server_calls_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if form["response"]["choices"]:
        remove(form, "server_tool_call", "server_tool_result")


def _ids_of_the_first(form: CanonicalForm, exchange: SubjectExchange) -> None:
    for ref in form["selection"]["kept"][1:]:
        ref["id"] = form["selection"]["kept"][0]["id"]


def _rejected_are_dropped(form: CanonicalForm, exchange: SubjectExchange) -> None:
    _moved(form, "rejected", "dropped")


def _dropped_are_rejected(form: CanonicalForm, exchange: SubjectExchange) -> None:
    _moved(form, "dropped", "rejected")


def _no_reasons(form: CanonicalForm, exchange: SubjectExchange) -> None:
    for group in ("dropped", "rejected"):
        for ref in form["selection"][group]:
            ref["reason"] = None


def _arguments_of_dropped(form: CanonicalForm, exchange: SubjectExchange) -> None:
    for ref in form["selection"]["dropped"]:
        if ref["choice"] == form["selection"]["choice"]:
            blocks(form)[ref["block"]].update(arguments={}, arguments_text="{}")


def _warning_names_the_first(form: CanonicalForm, exchange: SubjectExchange) -> None:
    form["log"] = [re.sub(r"(\[[^,\]]*),.*\]", r"\1]", line) for line in form["log"]]


def _warning_counts_kept(form: CanonicalForm, exchange: SubjectExchange) -> None:
    form["log"] = [re.sub(r"dropped (\d+)", lambda match: f"dropped {int(match[1]) - 1}", line) for line in form["log"]]


def _warns_about_nothing(form: CanonicalForm, exchange: SubjectExchange) -> None:
    kept = form["selection"]["kept"]
    if not form["selection"]["dropped"] and len(kept) > 1:
        form["log"].append(f"2 tool calls, processing 1, dropped 1: [{kept[1]['name']}]")


def _warns_twice(form: CanonicalForm, exchange: SubjectExchange) -> None:
    form["log"] *= 2


def _request(change: Callable[[Any, FollowUp], Any], *policies: str) -> Callable[[Any, FollowUp], None]:
    """Restrict a change of the request to policies."""

    def request(body: Any, follow_up: FollowUp) -> None:
        exchange = follow_up.exchange
        if exchange.policy in policies or ("limit" in policies and exchange.limit is not None):
            change(body, follow_up)

    return request


def _unanswered(body: Any, follow_up: FollowUp) -> None:
    drop_answers(body, keep=1)


def _calls_removed(body: Any, follow_up: FollowUp) -> None:
    """Send the first call and its result only."""
    drop_answers(body, keep=1)
    for message in [*(body.get("messages") or ()), *(body.get("contents") or ())]:
        if isinstance(message.get("tool_calls"), list):
            message["tool_calls"] = message["tool_calls"][:1]
        for key in ("content", "parts"):
            parts = message.get(key)
            if isinstance(parts, list):
                made = [part for part in parts if isinstance(part, dict) and _is_call(part)]
                message[key] = [part for part in parts if part not in made[1:]]
    if isinstance(body.get("input"), list):
        made = [item for item in body["input"] if isinstance(item, dict) and item.get("type") == "function_call"]
        body["input"] = [item for item in body["input"] if item not in made[1:]]


def _is_call(part: Any) -> bool:
    return part.get("type") == "tool_use" or "toolUse" in part or "functionCall" in part


def _succeeded(body: Any, follow_up: FollowUp) -> None:
    """Answer the calls that did not run as if they had."""

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for key in ("is_error", "status"):
                if value.get(key) in (True, "error"):
                    del value[key]
            for member in value.values():
                walk(member)
        elif isinstance(value, list):
            for member in value:
                walk(member)

    walk(body)


_FIRST, _BATCH, _LIMIT = _under("first"), _under("batch"), _under("limit")
ANSWERS: dict[str, Change] = {
    "runs the first call of each tool under first": _first_of_each_tool,
    "runs the first call under first, even if its arguments are broken": _first_even_if_broken,
    "takes a call that the provider ran for the first one": _first_counts_server_calls,
    "runs the first call of a refused or filtered answer": _first_ignores_the_end,
    "runs the first call of a broken stream under first only": _broken_first_runs,
    "loses the text beside calls under first": _text_lost_by_first,
    "returns no calls but the first one, so that the others are nowhere": _dropped_calls_forgotten,
    "returns no usage under first": _FIRST(_usage_lost),
    "loses reasoning under first": _FIRST(_reasoning_lost),
    "reports no findings under first": _FIRST(_findings_lost),
    "loses server calls under first": _FIRST(_server_calls_lost),
    "reports end_turn under first": _FIRST(_stop_is_end),
    "returns dropped calls without arguments": _FIRST(_arguments_of_dropped),
    "runs a batch from the end": _batch_reversed,
    "runs equal calls of a batch once": _batch_without_repetitions,
    "runs nothing after a broken call of a batch": _batch_ends_at_a_broken_call,
    "runs nothing of a batch with a broken call": _batch_all_or_nothing,
    "runs the calls of one tool as a batch": _batch_of_one_tool,
    "runs a batch of a broken stream": _broken_batch_runs,
    "ignores the limit under batch": _limit_ignored_by_batch,
    "returns no usage under batch": _BATCH(_usage_lost),
    "reports no findings under batch": _BATCH(_findings_lost),
    "loses reasoning under batch": _BATCH(_reasoning_lost),
    "gives all calls of a batch the id of the first one in the selection": _BATCH(_ids_of_the_first),
    "runs one call less than the limit": _limit_is_exclusive,
    "runs the last calls under a limit": _limit_counts_from_the_end,
    "counts broken calls towards the limit": _limit_counts_broken_calls,
    "returns no usage under a limit": _LIMIT(_usage_lost),
    "lists broken calls as dropped": _rejected_are_dropped,
    "lists dropped calls as rejected": _dropped_are_rejected,
    "gives no reasons for calls that do not run": _no_reasons,
    "names one of the dropped calls": _warning_names_the_first,
    "states a wrong number of dropped calls": _warning_counts_kept,
    "warns although nothing is dropped": _warns_about_nothing,
    "warns twice about each drop": _warns_twice,
}
REQUESTS: dict[str, Callable[[Any, FollowUp], None]] = {
    "sends the result of the first call only under first": _request(_unanswered, "first"),
    "removes the dropped calls from the history under first": _request(_calls_removed, "first"),
    "answers dropped calls as if they had run under first": _request(_succeeded, "first"),
    "sends the first result only under batch": _request(_unanswered, "batch"),
    "sends the first result only under a limit": _request(_unanswered, "limit"),
}
