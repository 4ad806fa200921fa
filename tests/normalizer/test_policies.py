"""Policies keep, drop or reject each client call, once and only once, and name them."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from toolparity import Choice, Error, Ref, Response, Selection, ServerToolCall, Stop, Text, ToolCall, normalize, select
from toolparity.normalizer.errors import PolicyError, ToolparityError
from toolparity.normalizer.model import CallStatus, StopReason
from toolparity.normalizer.policies import POLICIES

POLICY_NAMES = ("first", "all", "batch")


def call(id: str, status: CallStatus = "complete") -> ToolCall:
    return ToolCall(id, f"tool_{id}", {} if status == "complete" else None, "{}", status)


def answer(*blocks: Any, index: int = 0, reason: StopReason = "tool_calls") -> Choice:
    return Choice(index, list(blocks), Stop(reason))


def response(*choices: Choice, **more: Any) -> Response:
    return Response("openai.chat", "openai", "r1", "m", list(choices), **more)


def ids(refs: list[Ref]) -> list[str]:
    return [ref.id for ref in refs]


THREE = response(
    answer(Text("I look."), call("a"), ServerToolCall("s", "web_search", "web_search"), call("b"), call("c"))
)


WHY = "policy first keeps one call"


@pytest.mark.parametrize(
    ("policy", "limit", "kept"),
    [
        *(("first", None, "a"), ("first", 0, ""), ("first", 5, "a"), ("all", None, "abc"), ("all", 0, "")),
        *(("all", 2, "ab"), ("batch", None, "abc"), ("batch", 1, "a"), ("batch", 9, "abc")),
    ],
)
def test_a_policy_and_a_limit_keep_the_first_calls_and_drop_the_rest_with_its_place_and_reason(
    policy: str, limit: int | None, kept: str
) -> None:
    selection = select(THREE, policy, limit)
    assert (selection.policy, selection.limit, selection.choice) == (policy, limit, 0)
    assert ids(selection.kept) == list(kept)
    assert ids(selection.kept) + ids(selection.dropped) == ["a", "b", "c"]
    assert {ref.reason for ref in selection.dropped} <= {WHY, f"the limit is {limit}"}
    selection = select(THREE, "first")
    assert selection.kept == [Ref(1, 0, "a", "tool_a")]
    assert selection.dropped == [Ref(3, 0, "b", "tool_b", WHY), Ref(4, 0, "c", "tool_c", WHY)]
    assert select(THREE) == select(THREE, "all")
    assert tuple(POLICIES) == POLICY_NAMES


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_a_call_that_cannot_run_is_rejected_and_does_not_use_up_the_limit(policy: str) -> None:
    reasons: dict[CallStatus, str] = {
        "truncated": "its arguments were truncated",
        "invalid": "its arguments are not a JSON object",
    }
    for status, why in reasons.items():
        selection = select(response(answer(call("a", status), call("b"))), policy, 1)
        assert (ids(selection.kept), selection.dropped) == (["b"], [])
        assert selection.rejected == [Ref(0, 0, "a", "tool_a", why)]
        assert [(f.code, f.choice, f.block) for f in selection.findings] == [("rejected-call", 0, 0)]


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_nothing_of_an_answer_that_ended_badly_or_is_not_whole_runs_and_whole_calls_of_others_do(policy: str) -> None:
    reasons: tuple[StopReason, ...] = ("refusal", "content_filter", "malformed_call", "error")
    answers = [response(answer(call("a"), call("b"), reason=reason)) for reason in reasons]
    two = answer(call("a")), answer(call("b"), index=1)
    for bad in (*answers, response(*two, complete=False), response(*two, error=Error("server_error", "boom"))):
        selection = select(bad, policy)
        assert (selection.kept, selection.dropped, ids(selection.rejected)) == ([], [], ["a", "b"])
    for reason in {*get_args(StopReason)} - {*reasons}:
        assert ids(select(response(answer(call("a"), reason=reason)), policy).kept) == ["a"]


def test_calls_of_choices_that_were_not_selected_are_dropped_or_rejected() -> None:
    two = response(answer(call("a")), answer(call("b"), call("c"), call("d", "invalid"), index=3))
    assert [ids(refs) for refs in (select(two).kept, select(two).rejected)] == [["a"], ["d"]]
    selection = select(two, choice=3)
    assert (ids(selection.kept), ids(selection.dropped), ids(selection.rejected)) == (["b", "c"], ["a"], ["d"])
    assert [ref.reason for ref in selection.dropped] == ["choice 3 was selected"]
    with pytest.raises(PolicyError, match=r"no choice 0 .*\[1\]"):
        select(response(answer(call("a"), index=1)))
    nothing = select(response())
    assert (nothing.kept, nothing.dropped, nothing.rejected, nothing.findings) == ([], [], [], ())


@pytest.mark.parametrize(
    "options",
    [
        *({"policy": "second"}, {"policy": "ALL"}, {"policy": []}, {"policy": None}),
        *({"limit": -1}, {"limit": "two"}, {"limit": 1.5}, {"limit": True}, {"choice": 1}, {"choice": -1}),
        {"response": None},
    ],
    ids=str,
)
def test_an_impossible_option_is_a_typed_error_with_a_hint(options: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as caught:
        select(**{"response": THREE, **options})
    assert isinstance(caught.value, (ToolparityError, ValueError))
    assert caught.value.hint or options == {"response": None}


def test_dropped_calls_are_logged_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    mixed = response(answer(call("a"), call("b"), call("c", "invalid")))
    with caplog.at_level(logging.DEBUG, logger="toolparity"):
        select(THREE)
        select(response(answer(call("a", "invalid"))))
        selection = select(mixed, "first")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("toolparity", "WARNING")
    assert record.getMessage() == (
        "3 tool calls returned, processing 1, dropped 1 under policy first: "
        "processing [tool_a (a)], dropped [tool_b (b)]"
    )
    seen: Any = record
    processed, dropped = ([{"id": id, "name": f"tool_{id}"}] for id in "ab")
    assert (seen.total, seen.processing, seen.dropped) == (3, processed, dropped)
    assert [finding.code for finding in selection.findings] == ["dropped-call", "rejected-call"]


CALLS = st.builds(call, st.text("abc", min_size=1, max_size=3), st.sampled_from(get_args(CallStatus)))  # ids may repeat
BLOCKS = st.lists(CALLS | st.just(Text("hm")) | st.just(ServerToolCall("s", "mcp", "lookup")), max_size=6)
REASONS = st.sampled_from(get_args(StopReason))
RESPONSES = st.builds(
    lambda choices, complete, error: response(
        *(answer(*blocks, index=i, reason=reason) for i, (blocks, reason) in enumerate(choices)),
        complete=complete,
        error=Error("server_error", "boom") if error else None,
    ),
    st.lists(st.tuples(BLOCKS, REASONS), min_size=1, max_size=3),
    st.sampled_from([True, True, False]),
    st.sampled_from([False, False, True]),
)


@given(
    given_response=RESPONSES,
    policy=st.sampled_from(POLICY_NAMES),
    limit=st.none() | st.integers(0, 5),
    choice=st.integers(0, 2),
)
def test_every_client_call_is_kept_dropped_or_rejected_once_and_only_once(
    given_response: Response, policy: str, limit: int | None, choice: int
) -> None:
    choice %= len(given_response.choices)
    selection = select(given_response, policy, limit, choice)
    sorted_out = [*selection.kept, *selection.dropped, *selection.rejected]
    places = [(c.index, at, b.id, b.name) for c, at, b in given_response.walk() if isinstance(b, ToolCall)]
    assert sorted((ref.choice, ref.block, ref.id, ref.name) for ref in sorted_out) == sorted(places)
    for refs in (selection.kept, selection.rejected):
        assert [(ref.choice, ref.block) for ref in refs] == sorted((ref.choice, ref.block) for ref in refs)
    assert all(ref.choice == choice and ref.reason is None for ref in selection.kept)
    assert all(ref.reason for ref in [*selection.dropped, *selection.rejected])
    assert limit is None or len(selection.kept) <= limit
    assert policy != "first" or len(selection.kept) <= 1
    statuses = {(c.index, at): b.status for c, at, b in given_response.walk() if isinstance(b, ToolCall)}
    assert all(statuses[ref.choice, ref.block] == "complete" for ref in [*selection.kept, *selection.dropped])
    assert len(selection.findings) == len(selection.dropped) + len(selection.rejected)
    assert [c.id for c in selection.calls] == [r.id for r in selection.kept]
    blocks = next(c.blocks for c in given_response.choices if c.index == choice)
    assert all(c is blocks[ref.block] for c, ref in zip(selection.calls, selection.kept, strict=True))


def test_the_json_of_a_selection_has_no_calls_and_a_selection_without_its_response_raises() -> None:
    members = ["policy", "limit", "choice", "kept", "dropped", "rejected"]
    selection = select(THREE)
    assert selection.calls
    assert list(json.loads(msgspec.json.encode(selection))) == list(msgspec.to_builtins(selection)) == members
    for other in (
        replace(selection, limit=4),
        msgspec.json.decode(msgspec.json.encode(selection), type=Selection),
        copy.copy(replace(selection, limit=4)),
    ):
        assert other.kept == selection.kept
        with pytest.raises(PolicyError, match="has no calls"):
            _ = other.calls
    assert replace(selection, kept=[]).calls == []


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_copies_keep_the_calls_and_the_findings(copied: Any) -> None:
    decoded = normalize({"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": ""}]}, "openai.chat")
    for found, count in ((select(THREE, "first"), 2), (select(THREE, limit=0), 3), (decoded, 1), (THREE, 0)):
        again = copied(found)
        assert (again, again.findings, type(again)) == (found, found.findings, type(found))
        assert again.calls == found.calls
        assert again is not found
        assert len(found.findings) == count
