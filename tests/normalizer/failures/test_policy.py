"""Failures of class policy: another call than the policy's is acted on, or one that is dropped is not reported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.failures.conversations import EVERY_WIRE, PROVIDERS, call, codes, request, respond, user, written
from tests.normalizer.history.views import calls, results
from tests.support.decoding import FORMS
from tests.support.decoding import respond as received
from toolparity import Choice, Reasoning, Response, Stop, Text, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.requests import with_policy, write_request

#: The wires whose requests cannot turn parallel calls off.
WITHOUT_SWITCH = ("google.gemini", "google.interactions", "bedrock.converse", "ollama.chat", "cohere.chat")
EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
POLICIES = pytest.mark.parametrize("policy", ["first", "all", "batch"])
GIVEN = [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}'), ("c", "f", '{"z":3}')]


@EVERY_FORM
def test_PAR_02_of_several_calls_where_one_was_requested_one_is_kept_and_the_rest_reported(
    wire: str, streamed: bool
) -> None:
    single = write_request(with_policy(request([user()], wire), "first"))
    assert codes(single) == ["parallel"] * (wire in WITHOUT_SWITCH)
    response = received(wire, streamed, GIVEN, provider=PROVIDERS[wire])
    selection = select(response, "first")
    assert ([ref.id for ref in selection.kept], [ref.id for ref in selection.dropped]) == (["a"], ["b", "c"])
    assert [finding.code for finding in selection.findings] == ["dropped-call", "dropped-call"]
    body = written([user(), *answer(response, selection, {"a": "done"})], wire, names=("f", "g")).body
    assert [id for id, *_ in calls(wire, body)] == ["a", "b", "c"]
    texts = dict(results(wire, body))
    assert texts["a"] == "done"
    assert all("policy first keeps one call" in texts[id] for id in "bc")


@POLICIES
def test_FIRST_02_a_call_is_found_by_its_type_not_by_its_position(policy: str) -> None:
    response = respond(Reasoning("hm"), Text("so"), call("a"), call("b"))
    assert [ref.id for ref in select(response, policy).kept] == ["a", "b"][: 1 if policy == "first" else 2]


@EVERY_WIRE
def test_EXT_01_MULTI_01_the_selection_is_the_same_for_a_stream_and_a_body(wire: str) -> None:
    for policy, count in (("first", 3), ("all", 3), ("batch", 3), ("all", 1)):
        whole, streamed = (select(received(wire, form, GIVEN[:count]), policy) for form in (False, True))
        assert whole == streamed
        assert [ref.id for ref in whole.kept] == ["a", "b", "c"][: 1 if policy == "first" else count]


@POLICIES
def test_CHOICE_02_a_call_of_an_unselected_choice_is_never_kept(policy: str) -> None:
    other = Choice(1, [call("x", "delete_customer_data")], Stop("tool_calls"))
    response = Response("openai.chat", "openai", "r", "m", [Choice(0, [Text("no")], Stop("end_turn")), other])
    selection = select(response, policy)
    assert (selection.kept, selection.rejected) == ([], [])
    assert [(ref.name, ref.choice, ref.reason) for ref in selection.dropped] == [
        ("delete_customer_data", 1, "choice 0 was selected")
    ]
    assert calls("openai.chat", written([user(), *answer(response, selection, {})], "openai.chat").body) == []


@EVERY_WIRE
def test_HITL_01_a_denied_call_gets_an_error_result_and_the_other_call_runs(wire: str) -> None:
    response = respond(call("a", "delete"), call("b", "read"), wire=wire)
    outcomes: dict[str, Any] = {"a": PermissionError("the user declined"), "b": "text"}
    body = written([user(), *answer(response, select(response), outcomes)], wire, names=("delete", "read")).body
    (denied, ran) = results(wire, body)
    assert (denied[0], "PermissionError: the user declined" in denied[1]) == ("a", True)
    assert ran == ("b", "text")
