"""Failures of class policy: another call than the policy's is acted on, or one that is dropped is not reported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.failures.back import PROVIDERS, WIRES, call, codes, request, respond, user, written
from tests.normalizer.history.views import calls, results
from tests.support.decoding import FORMS
from tests.support.decoding import respond as carried
from toolparity import Choice, Reasoning, Response, Stop, Text, normalize, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.requests import with_policy, write_request

#: The wires whose requests cannot turn parallel calls off.
WITHOUT_SWITCH = ("google.gemini", "google.interactions", "bedrock.converse", "ollama.chat", "cohere.chat")
EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
GIVEN = [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}'), ("c", "f", '{"z":3}')]


@EVERY_FORM
def test_PAR_02_of_several_calls_where_one_was_requested_one_is_kept_and_the_rest_reported(
    wire: str, streamed: bool
) -> None:
    asked = write_request(with_policy(request([user()], wire), "first"))
    assert codes(asked) == ["parallel"] * (wire in WITHOUT_SWITCH)  # these have no such setting
    response = carried(wire, streamed, GIVEN, provider=PROVIDERS[wire])
    selection = select(response, "first")
    assert ([ref.id for ref in selection.kept], [ref.id for ref in selection.dropped]) == (["a"], ["b", "c"])
    assert [finding.code for finding in selection.findings] == ["dropped-call", "dropped-call"]
    body = written([user(), *answer(response, selection, {"a": "done"})], wire, names=("f", "g")).body
    assert [id for id, *_ in calls(wire, body)] == ["a", "b", "c"]
    result_texts = dict(results(wire, body))
    assert result_texts["a"] == "done"
    assert all("policy first keeps one call" in result_texts[id] for id in "bc")


@pytest.mark.parametrize("policy", ["first", "all", "batch"])
def test_FIRST_02_a_call_is_found_by_its_type_not_by_its_position(policy: str) -> None:
    response = respond(Reasoning("hm"), Text("so"), call("a"), call("b"))
    kept = [ref.id for ref in select(response, policy).kept]
    assert kept == (["a"] if policy == "first" else ["a", "b"])


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
@pytest.mark.parametrize("wire", WIRES)
def test_EXT_01_the_selection_is_the_same_for_a_stream_and_a_body(wire: str, policy: str) -> None:
    both = [select(carried(wire, streamed, GIVEN), policy) for streamed in (False, True)]
    assert both[0] == both[1]
    assert [ref.id for ref in both[0].kept] == (["a"] if policy == "first" else ["a", "b", "c"])


@pytest.mark.parametrize("policy", ["first", "all", "batch"])
def test_CHOICE_02_a_call_of_an_unselected_choice_is_never_kept(policy: str) -> None:
    choices = [
        Choice(0, [Text("no")], Stop("end_turn")),
        Choice(1, [call("x", "delete_customer_data")], Stop("tool_calls")),
    ]
    response = Response("openai.chat", "openai", "r", "m", choices)
    selection = select(response, policy)
    assert (selection.kept, selection.rejected) == ([], [])
    assert [(ref.name, ref.choice, ref.reason) for ref in selection.dropped] == [
        ("delete_customer_data", 1, "choice 0 was selected")
    ]
    body = written([user(), *answer(response, selection, {})], "openai.chat").body
    assert calls("openai.chat", body) == []


@pytest.mark.parametrize("wire", WIRES)
def test_HITL_01_a_denied_call_gets_an_error_result_and_the_other_call_runs(wire: str) -> None:
    response = respond(call("a", "delete"), call("b", "read"), wire=wire)
    outcomes: dict[str, Any] = {"a": PermissionError("the user said no"), "b": "text"}
    body = written([user(), *answer(response, select(response), outcomes)], wire, names=("delete", "read")).body
    (denied, ran) = results(wire, body)
    assert (denied[0], "PermissionError: the user said no" in denied[1]) == ("a", True)
    assert ran == ("b", "text")


@pytest.mark.thorough(keep=1, per="{wire}")
@EVERY_FORM
@pytest.mark.parametrize("count", [1, 3])
def test_MULTI_01_one_and_three_calls_are_valid_answers(wire: str, streamed: bool, count: int) -> None:
    response = carried(wire, streamed, GIVEN[:count])
    assert [ref.id for ref in select(response).kept] == ["a", "b", "c"][:count]


@pytest.mark.parametrize("policy", ["first", "all", "batch"])
def test_MULTI_01_no_call_is_a_valid_answer(policy: str) -> None:
    body = {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "no need"}, "finish_reason": "stop"}],
    }
    response = normalize(body, "openai.chat")
    selection = select(response, policy)
    assert (selection.kept, selection.dropped, selection.rejected) == ([], [], [])
    assert answer(response, selection, {})[1:] == []
