"""Each request rule of each wire refuses the requests that break it, at their places, and accepts similar requests.

For each wire the table has `bases`, which are accepted, `parts` ("$call"), and a row for each way to break a rule:
`refused` and `accepted` are changes to a base, by path. `also`: other rules that the refused request breaks. A row
without a rule has requests that are accepted.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from tests.support.wires import WIRES
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, request_rules
from toolparity.normalizer.wires.registry import spec, specs
from toolparity.normalizer.wires.rule import FORMER

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("request_rules.json").read_text("utf-8"))
#: The rules of google.interactions have a table in tests/normalizer/wires/test_google_interactions_steps.py.
TABLE_WIRES = [wire for wire in WIRES if wire != "google.interactions"]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("gemini-3"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


class Row(NamedTuple):
    """A way to break a rule: whole requests, and the place where the rule reports the refused one."""

    rule: str
    at: str
    also: set[str]
    refused: Any
    accepted: list[Any]
    provider: str | None


@cache
def rows(wire: Wire) -> list[Row]:
    return [
        Row(
            row.get("rule", ""),
            row.get("at", ""),
            set(row.get("also", ())),
            changed(wire, row.get("refused", {})),
            [changed(wire, change) for change in row.get("accepted", ())],
            row.get("provider"),
        )
        for row in TABLE[wire]["rows"]
    ]


def changed(wire: Wire, change: dict[str, Any]) -> Any:
    """Return a copy of a base without some members and with other values at some paths; "$" is the whole request."""
    body = with_parts(wire, TABLE[wire]["bases"][change.get("base", "plain")])
    for path in change.get("without", ()):
        holder, last = place(body, path)
        del holder[last]
    for path, value in change.items():
        if path == "$":
            return value
        if path not in ("base", "without"):
            holder, last = place(body, path)
            if isinstance(holder, list) and last == len(holder):
                holder.append(None)
            holder[last] = with_parts(wire, value)
    return body


def place(body: Any, path: str) -> tuple[Any, Any]:
    """Return what holds the value at a path, and its key or index there."""
    *steps, last = (int(index) if index else name for index, name in re.findall(r"\[(\d+)\]|([^.\[]+)", path))
    for step in steps:
        body = body[step]
    return body, last


def with_parts(wire: Wire, value: Any) -> Any:
    """Return a copy in which the value of each part replaces its name."""
    if isinstance(value, str) and value.startswith("$"):
        return with_parts(wire, TABLE[wire]["parts"][value[1:]])
    if isinstance(value, list):
        return [with_parts(wire, item) for item in value]
    return {name: with_parts(wire, member) for name, member in value.items()} if isinstance(value, dict) else value


def broken(body: Any, wire: Wire, provider: str | None = None) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in check_request(body, wire, provider=provider)]


def test_a_request_that_breaks_a_rule_is_refused_at_its_place_and_similar_ones_are_accepted() -> None:
    wrong: dict[str, Any] = {}
    for wire in TABLE_WIRES:
        bases = [changed(wire, {"base": name}) for name in TABLE[wire]["bases"]]
        wrong |= {f"{wire}, base: {body}": found for body in bases if (found := broken(body, wire))}
        for rule, at, also, refused, accepted, provider in rows(wire):
            found = broken(refused, wire, provider) if rule else []
            if rule and ((rule, at) not in found or {other for other, _ in found} - {rule} - also):
                wrong[f"{wire}: {refused} must break only {rule} at {at}"] = found
            wrong |= {f"{wire}: {body}": found for body in accepted if (found := broken(body, wire, provider))}
    assert wrong == {}


def test_every_rule_has_a_row_a_reason_and_a_source() -> None:
    for wire in TABLE_WIRES:
        rules = spec(wire).part("rules").RULES
        assert {rule.id for rule in rules} - {"tools-count"} == {row.rule for row in rows(wire)} - {"", "tools-count"}
        for rule in rules:
            assert rule.reason.endswith(".")
            assert rule.source
            assert rule.status == 404 if rule.id == "reasoning-stored" else rule.status in (400, 422, 500)


def test_a_provider_that_does_not_enforce_a_rule_does_not_refuse_by_it() -> None:
    for wire in TABLE_WIRES:
        enforced = {rule.id for rule in spec(wire).part("rules").RULES if "ollama" in (rule.providers or ["ollama"])}
        for row in rows(wire):
            assert row.rule in enforced or row.rule not in dict(broken(row.refused, wire, "ollama"))


def test_a_rule_of_several_wires_has_one_id_and_answers_to_its_former_ids() -> None:
    rules = {rule.id for spec in specs() for rule in spec.part("rules").RULES}
    assert not rules & FORMER.keys()
    assert rules >= set(FORMER.values())
    (unanswered,) = check_request(changed("openai.chat", {"messages[1]": "$calls"}), "openai.chat")
    named = {id for id in (*FORMER, *rules) if unanswered.breaks(id)}
    assert named == {"call-answered", "answered", "call-unanswered", "calls-answered"}


def test_the_number_of_tools_is_limited() -> None:
    tool = with_parts("openai.chat", "$tool")
    for count, found in ((128, []), (129, [("tools-count", "tools")])):
        assert broken(changed("openai.chat", {"tools": [tool] * count}), "openai.chat") == found
        functions = [{"function": {"name": f"f{number}", "parameters": "{}"}} for number in range(count)]
        assert broken(changed("xai.grpc", {"tools": functions}), "xai.grpc") == found


class CountedId(str):
    """An id that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedId.compared += 1
        return str.__eq__(self, other)


def test_the_pairing_of_thousands_of_calls_takes_comparisons_in_proportion_to_their_number() -> None:
    ids = [CountedId(f"abcde{number:04}") for number in range(4000)]
    chat, claude = changed("openai.chat", {"base": "round"}), changed("anthropic.messages", {"base": "round"})
    user, asked, done = chat["messages"]
    asked["tool_calls"] = [{**asked["tool_calls"][0], "id": id} for id in ids]
    chat["messages"] = [user, asked, *({**done, "tool_call_id": id} for id in ids)]
    _, asked, done = claude["messages"]
    asked["content"] = [{**asked["content"][0], "id": id} for id in ids]
    done["content"] = [{**done["content"][0], "tool_use_id": id} for id in ids]
    assert broken(chat, "openai.chat") == broken(claude, "anthropic.messages") == []
    assert CountedId.compared < 40 * len(ids)


@given(st.sampled_from(TABLE_WIRES), st.data(), JUNK)
@examples(800)
def test_no_rule_raises_for_any_body(wire: Wire, data: st.DataObject, junk: Any) -> None:
    """Each provider's rules get junk, and a request of the table with junk at a place in it."""
    row = data.draw(st.sampled_from([row for row in rows(wire) if isinstance(row.refused, dict)]))
    body = deepcopy(row.refused)
    holder, key, node = body, next(iter(body)), body
    while isinstance(node, (dict, list)) and node and (node is body or data.draw(st.booleans())):
        holder, key = node, data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        node = node[key]
    holder[key] = junk
    for provider in {None, row.provider, *(rule.providers or () for rule in request_rules(body, wire))}:
        for given_body in (body, junk, b"\x00"):
            assert isinstance(check_request(given_body, wire, provider=provider), list)
