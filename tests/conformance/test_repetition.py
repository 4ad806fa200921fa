"""What the laws `replay` and `handoff` accept as the same conversation, and what they call a change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from toolparity.conformance.answer import parse_request
from toolparity.conformance.cases.case import Case
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import FollowUp
from toolparity.conformance.subjects.reference import Reference

CASE = Case("two-rounds", "openai.chat", "plain", "all")


class Writer(Reference):
    """Writes the reference's request for a wire, changed."""

    def __init__(self, change: Callable[[Any], None], wire: str) -> None:
        self._change, self._wire = change, wire

    def next_request(self, follow_up: FollowUp) -> Any:
        request = parse_request(super().next_request(follow_up))
        body = copy.deepcopy(request.body)
        if follow_up.to == self._wire:
            self._change(body)
        return {"body": body, "losses": request.losses}


def outcome(change: Callable[[Any], None], law: str, wire: str = "openai.chat", case: Case = CASE) -> str:
    verdicts = {
        verdict.check: verdict
        for verdict in Judge(Writer(change, wire), twice=False, exhaustive=True).result(case).verdicts
    }
    return verdicts[law].outcome


def one_part(body: Any) -> None:
    for message in body["messages"]:
        if message["role"] == "user":
            message["content"] = [{"type": "text", "text": message["content"]}]


def test_a_text_as_one_part_is_the_same_text() -> None:
    assert outcome(one_part, "replay") == "pass"


def test_another_text_as_one_part_is_a_change() -> None:
    def changed(body: Any) -> None:
        one_part(body)
        body["messages"][0]["content"][0]["text"] += "!"

    assert outcome(changed, "replay") == "fail"


@pytest.mark.parametrize(
    ("law", "wire"), [("replay", "openai.chat"), ("handoff", "openai.responses"), ("handoff", "xai.grpc")]
)
@pytest.mark.parametrize("name", ["temperature", "parallel_tool_calls", "tool_choice"])
def test_an_added_setting_is_a_change(law: str, wire: str, name: str) -> None:
    settings = {"temperature": 0.5, "parallel_tool_calls": False, "tool_choice": "none"}
    assert outcome(lambda body: body.update({name: settings[name]}), law, wire) == "fail"


def test_an_added_name_of_the_user_is_a_change() -> None:
    assert outcome(lambda body: body["input"][0].update(name="me"), "handoff", "openai.responses") == "fail"


def test_an_unchanged_request_keeps_the_laws() -> None:
    assert outcome(lambda body: None, "replay") == outcome(lambda body: None, "handoff") == "pass"


def exclaim(part: Any) -> None:
    part["text"] += "!"


#: Wire -> a change of the user's text in a request for it.
CHANGED_TEXTS: dict[str, Callable[[Any], None]] = {
    "bedrock.converse": lambda body: exclaim(body["messages"][0]["content"][0]),
    "google.interactions": lambda body: exclaim(body["input"][0]["content"][0]),
}


@pytest.mark.parametrize("wire", CHANGED_TEXTS)
def test_a_changed_text_is_seen_on_the_way_back_and_to_and_from_another_wire(wire: str) -> None:
    own = CASE._replace(surface=wire)
    assert outcome(lambda body: None, "replay", wire, own) == outcome(lambda body: None, "handoff", wire) == "pass"
    assert outcome(CHANGED_TEXTS[wire], "replay", wire, own) == "fail"
    assert outcome(CHANGED_TEXTS[wire], "handoff", wire) == "fail"
    assert outcome(lambda body: exclaim(body["input"][0]["content"][0]), "handoff", "openai.responses", own) == "fail"


@pytest.mark.parametrize(
    ("wire", "change"),
    [
        ("ollama.chat", lambda body: body["messages"][-1].pop("tool_name")),
        ("ollama.chat", lambda body: body["tools"][0].pop("type")),
        ("google.interactions", lambda body: body["input"][-1].update(name="another")),
        ("google.interactions", lambda body: body["input"][0]["content"][0].update(type="words")),
        ("anthropic.messages", lambda body: body.update(system=[{"type": "words", "text": ""}])),
    ],
)
def test_a_missing_name_or_an_unknown_type_is_a_change(wire: str, change: Callable[[Any], None]) -> None:
    assert outcome(change, "handoff", wire) == "fail"
