"""Policies keep, drop or reject each client call, once and only once, and say which."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from collections.abc import Callable
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


def test_the_policies_are_these_three() -> None:
    assert tuple(POLICIES) == POLICY_NAMES


@pytest.mark.parametrize(
    ("policy", "kept", "dropped"),
    [("first", ["a"], ["b", "c"]), ("all", ["a", "b", "c"], []), ("batch", ["a", "b", "c"], [])],
)
def test_first_keeps_one_call_and_the_others_all_of_them(policy: str, kept: list[str], dropped: list[str]) -> None:
    selection = select(THREE, policy)
    assert (ids(selection.kept), ids(selection.dropped), selection.rejected) == (kept, dropped, [])
    assert (selection.policy, selection.limit, selection.choice) == (policy, None, 0)


def test_all_is_the_policy_where_none_is_named() -> None:
    assert select(THREE) == select(THREE, "all")


def test_a_reference_tells_the_place_of_its_call() -> None:
    selection = select(THREE, "first")
    assert selection.kept == [Ref(1, 0, "a", "tool_a")]
    why = "policy first keeps one call"
    assert selection.dropped == [Ref(3, 0, "b", "tool_b", why), Ref(4, 0, "c", "tool_c", why)]


@pytest.mark.parametrize("policy", ["all", "batch"])
@pytest.mark.parametrize(
    ("limit", "kept"), [(0, []), (1, ["a"]), (2, ["a", "b"]), (3, ["a", "b", "c"]), (9, ["a", "b", "c"])]
)
def test_a_limit_caps_the_kept_calls_and_drops_the_rest(policy: str, limit: int, kept: list[str]) -> None:
    selection = select(THREE, policy, limit)
    assert ids(selection.kept) == kept
    assert ids(selection.kept) + ids(selection.dropped) == ["a", "b", "c"]
    assert {ref.reason for ref in selection.dropped} <= {f"the limit is {limit}"}


@pytest.mark.parametrize(("limit", "kept"), [(0, []), (1, ["a"]), (5, ["a"])])
def test_a_limit_caps_the_first_policy_too(limit: int, kept: list[str]) -> None:
    assert ids(select(THREE, "first", limit).kept) == kept


def test_first_takes_the_first_call_that_can_run() -> None:
    selection = select(response(answer(call("a", "invalid"), call("b"), call("c"))), "first")
    assert (ids(selection.kept), ids(selection.dropped), ids(selection.rejected)) == (["b"], ["c"], ["a"])


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize(
    ("status", "why"),
    [("truncated", "its arguments were truncated"), ("invalid", "its arguments are not a JSON object")],
)
def test_a_call_that_cannot_run_is_rejected_and_not_dropped(policy: str, status: CallStatus, why: str) -> None:
    selection = select(response(answer(call("a"), call("b", status))), policy, 1)
    assert (ids(selection.kept), selection.dropped) == (["a"], [])
    assert selection.rejected == [Ref(1, 0, "b", "tool_b", why)]
    assert [(f.code, f.choice, f.block) for f in selection.findings] == [("rejected-call", 0, 1)]


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_a_rejected_call_does_not_use_up_the_limit(policy: str) -> None:
    selection = select(response(answer(call("a", "truncated"), call("b"))), policy, 1)
    assert (ids(selection.kept), ids(selection.rejected), selection.dropped) == (["b"], ["a"], [])


def test_a_call_of_another_choice_that_cannot_run_is_rejected_rather_than_dropped() -> None:
    selection = select(response(answer(call("a")), answer(call("b", "invalid"), call("c"), index=1)))
    assert (ids(selection.kept), ids(selection.dropped), ids(selection.rejected)) == (["a"], ["c"], ["b"])


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("reason", ["refusal", "content_filter", "malformed_call", "error"])
def test_nothing_of_a_choice_that_ended_badly_runs(policy: str, reason: StopReason) -> None:
    selection = select(response(answer(call("a"), call("b"), reason=reason)), policy)
    assert (selection.kept, selection.dropped, ids(selection.rejected)) == ([], [], ["a", "b"])


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("more", [{"complete": False}, {"error": Error("server_error", "boom")}], ids=["cut", "failed"])
def test_nothing_of_a_response_that_is_not_whole_runs(policy: str, more: dict[str, Any]) -> None:
    selection = select(response(answer(call("a")), answer(call("b"), index=1), **more), policy)
    assert (selection.kept, selection.dropped, ids(selection.rejected)) == ([], [], ["a", "b"])


@pytest.mark.parametrize("reason", ["max_tokens", "context_window", "pause", "end_turn", "unknown"])
def test_whole_calls_of_an_answer_that_was_cut_or_paused_run(reason: StopReason) -> None:
    assert ids(select(response(answer(call("a"), reason=reason))).kept) == ["a"]


def test_calls_of_choices_that_were_not_selected_are_dropped() -> None:
    two = response(answer(call("a")), answer(call("b"), call("c"), index=3))
    assert ids(select(two).kept) == ["a"]
    selection = select(two, choice=3)
    assert (ids(selection.kept), ids(selection.dropped)) == (["b", "c"], ["a"])
    assert [ref.reason for ref in selection.dropped] == ["choice 3 was selected"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"policy": "second"},
        {"policy": "ALL"},
        {"limit": -1},
        {"limit": "two"},
        {"limit": 1.5},
        {"choice": 1},
        {"choice": -1},
    ],
)
def test_what_makes_no_sense_is_a_typed_error_that_says_what_would(arguments: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as caught:
        select(THREE, **arguments)
    assert isinstance(caught.value, (ToolparityError, ValueError))
    assert caught.value.hint


def test_a_response_without_choices_has_nothing_to_select() -> None:
    selection = select(response())
    assert (selection.kept, selection.dropped, selection.rejected, selection.findings) == ([], [], [], ())


def test_dropped_calls_are_logged_with_total_processing_and_dropped(caplog: pytest.LogCaptureFixture) -> None:
    mixed = response(answer(call("a"), call("b"), call("c", "invalid")))
    with caplog.at_level(logging.DEBUG, logger="toolparity"):
        selection = select(mixed, "first")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("toolparity", "WARNING")
    assert record.getMessage() == (
        "3 tool calls returned, processing 1, dropped 1 under policy first: "
        "processing [tool_a (a)], dropped [tool_b (b)]"
    )
    seen: Any = record
    assert (seen.total, seen.processing, seen.dropped) == (
        3,
        [{"id": "a", "name": "tool_a"}],
        [{"id": "b", "name": "tool_b"}],
    )
    assert [finding.code for finding in selection.findings] == ["dropped-call", "rejected-call"]


def test_nothing_is_logged_where_nothing_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="toolparity"):
        select(THREE)
        select(response(answer(call("a", "invalid"))))
    assert caplog.records == []


CALLS = st.builds(
    call,
    st.text("abcdef", min_size=1, max_size=3),
    st.sampled_from(get_args(CallStatus)),  # ids may repeat
)
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


COPIES = [copy.copy, copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))]


@pytest.mark.parametrize("choice", [0, 1])
@pytest.mark.parametrize("limit", [None, 0, 1, 2, 5])
@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_a_selection_has_the_kept_calls_themselves(policy: str, limit: int | None, choice: int) -> None:
    two = response(
        answer(call("a", "invalid"), call("b"), Text("hm"), call("c")), answer(call("d"), call("e"), index=1)
    )
    selection = select(two, policy, limit, choice)
    assert [c.id for c in selection.calls] == [r.id for r in selection.kept]
    blocks = two.choices[choice].blocks
    assert all(c is blocks[ref.block] for c, ref in zip(selection.calls, selection.kept, strict=True))


def test_the_json_of_a_selection_does_not_contain_its_calls() -> None:
    members = ["policy", "limit", "choice", "kept", "dropped", "rejected"]
    selection = select(THREE)
    assert selection.calls
    assert list(json.loads(msgspec.json.encode(selection))) == members
    assert list(msgspec.to_builtins(selection)) == members


@pytest.mark.parametrize("copied", COPIES)
def test_copies_of_a_selection_keep_its_calls(copied: Any) -> None:
    for selection in (select(THREE), select(THREE, "first"), select(THREE, limit=0)):
        again = copied(selection)
        assert (again, again.calls, again.findings) == (selection, selection.calls, selection.findings)


def test_a_selection_without_its_response_does_not_pretend_to_keep_no_calls() -> None:
    selection = select(THREE)
    for other in (
        replace(selection, limit=4),
        msgspec.json.decode(msgspec.json.encode(selection), type=Selection),
        copy.copy(replace(selection, limit=4)),
    ):
        assert other.kept == selection.kept
        with pytest.raises(PolicyError, match="has no calls"):
            _ = other.calls
    assert replace(selection, kept=[]).calls == []


@pytest.mark.parametrize("copied", COPIES)
def test_copies_keep_the_findings_of_a_selection_and_of_a_response(copied: Any) -> None:
    decoded = normalize({"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": ""}]}, "openai.chat")
    for found in (select(THREE, "first"), decoded, THREE):
        again = copied(found)
        assert (again, again.findings, type(again)) == (found, found.findings, type(found))
        assert again is not found
    assert [len(found.findings) for found in (select(THREE, "first"), decoded, THREE)] == [2, 1, 0]


def test_a_choice_that_the_response_does_not_have_is_an_error_also_where_nobody_named_it() -> None:
    second = response(answer(call("a"), index=1))
    with pytest.raises(PolicyError, match=r"no choice 0 .*\[1\]"):
        select(second)
    assert ids(select(second, choice=1).kept) == ["a"]
    assert select(response()).kept == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda: select(THREE, limit=True),
        lambda: select(THREE, policy=[]),  # type: ignore[arg-type]
        lambda: select(THREE, policy=None),  # type: ignore[arg-type]
        lambda: select(None),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_policy_no_limit_or_no_response_is_a_typed_error(ask: Callable[[], Any]) -> None:
    with pytest.raises(PolicyError):
        ask()
