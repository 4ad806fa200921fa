"""What calls returned becomes the next turns: each is answered once, dropped and rejected ones with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from toolparity import Choice, Reasoning, Response, Stop, Text, ToolCall, select
from toolparity.normalizer.answers import answer, parts_of, result_of, strip
from toolparity.normalizer.conversation import (
    Assistant,
    JsonPart,
    MediaPart,
    Request,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
)
from toolparity.normalizer.errors import DuplicateAnswer, PolicyError, StripIllegal
from toolparity.normalizer.model import CallStatus
from toolparity.normalizer.pairing import UNANSWERED
from toolparity.normalizer.requests import read_request, with_policy, write_request

IMAGE = MediaPart("image", "image/png", data="AAAA")


def call(id: str, status: CallStatus = "complete", kind: str = "function") -> ToolCall:
    return ToolCall(id, f"do_{id}", {} if status == "complete" else None, "{}", status, kind)


def response(*blocks: Any, **more: Any) -> Response:
    return Response("openai.chat", "openai", "r1", "m", [Choice(0, list(blocks), Stop("tool_calls"))], **more)


def results(turns: list[Any]) -> list[ToolResult]:
    assistant, given = turns
    assert isinstance(assistant, Assistant)
    assert isinstance(given, ToolResults)
    return given.results


def refused(id: str, why: str) -> ToolResult:
    return ToolResult(id, [TextPart(f"This call was not executed: {why}.")], is_error=True, name=f"do_{id}")


THREE = response(Text("I look."), call("a"), call("b"), call("c"))


def test_outcomes_are_told_in_call_order_and_the_answer_itself_is_kept_whole() -> None:
    turns = answer(THREE, select(THREE), {"c": "3", "a": "1", "b": "2"})
    assert turns == [
        Assistant(THREE),
        ToolResults(
            [ToolResult(id, [TextPart(text)], name=f"do_{id}") for id, text in (("a", "1"), ("b", "2"), ("c", "3"))]
        ),
    ]


def test_dropped_calls_are_answered_with_the_reason() -> None:
    given = results(answer(THREE, select(THREE, "first"), {"a": "1"}))
    why = "policy first keeps one call"
    assert given == [ToolResult("a", [TextPart("1")], name="do_a"), refused("b", why), refused("c", why)]
    given = results(answer(THREE, select(THREE, limit=1), {"a": "1"}))
    assert given[1:] == [refused("b", "the limit is 1"), refused("c", "the limit is 1")]


def test_rejected_calls_are_answered_with_the_reason() -> None:
    said = response(call("a", "truncated"), call("b"), call("c", "invalid"))
    assert results(answer(said, select(said), {"b": "2"})) == [
        refused("a", "its arguments were truncated"),
        ToolResult("b", [TextPart("2")], name="do_b"),
        refused("c", "its arguments are not a JSON object"),
    ]


def test_a_kept_call_that_nobody_ran_is_answered_as_not_executed() -> None:
    given = results(answer(THREE, select(THREE), {"a": "1"}))
    assert [result.parts for result in given] == [[TextPart("1")], [TextPart(UNANSWERED)], [TextPart(UNANSWERED)]]
    assert [result.is_error for result in given] == [False, True, True]


def test_an_outcome_for_no_call_or_a_second_one_is_an_error() -> None:
    selection = select(THREE)
    with pytest.raises(DuplicateAnswer, match="outcomes for unknown calls: z"):
        answer(THREE, selection, {"a": "1", "z": "?"})
    with pytest.raises(DuplicateAnswer, match="two results for a"):
        answer(THREE, selection, [ToolResult("a", []), ToolResult("a", [])])


def test_a_turn_without_calls_is_answered_by_nothing() -> None:
    said = response(Text("done"))
    assert answer(said, select(said), {}) == [Assistant(said)]


def test_only_the_selected_choice_goes_into_the_history() -> None:
    choices = [Choice(n, [call(id)], Stop("tool_calls")) for n, id in enumerate("ab")]
    said = Response("openai.chat", "openai", "r1", "m", choices)
    turns = answer(said, select(said, choice=1), {"b": "2"})
    assert turns[0] == Assistant(Response("openai.chat", "openai", "r1", "m", [choices[1]]))
    assert results(turns) == [ToolResult("b", [TextPart("2")], name="do_b")]


@dataclass
class Weather:
    city: str
    warm: bool


@pytest.mark.parametrize(
    ("outcome", "parts", "plain"),
    [
        (None, [], True),
        ("", [], True),
        ("text", [TextPart("text")], True),
        (0, [JsonPart(0)], True),
        (False, [JsonPart(False)], True),
        ([], [JsonPart([])], True),
        ({"a": [1]}, [JsonPart({"a": [1]})], True),
        (Weather("Oslo", False), [JsonPart({"city": "Oslo", "warm": False})], True),
        ([TextPart("see"), IMAGE], [TextPart("see"), IMAGE], False),
    ],
)
def test_whatever_a_tool_returned_is_told(outcome: Any, parts: Any, plain: bool) -> None:
    result = result_of(call("a", kind="custom"), outcome)
    assert result == ToolResult("a", parts, name="do_a", kind="custom", plain=plain)
    assert parts_of(outcome) == parts


def test_a_list_that_holds_more_than_parts_is_a_value_like_any_other() -> None:
    (part,) = parts_of([TextPart("see"), "no part"])
    assert part == JsonPart([{"type": "text", "text": "see", "extra": {}}, "no part"])


def test_an_exception_is_an_error_result_that_names_it() -> None:
    told = [result_of(call("a"), error) for error in (ValueError("too hot"), KeyError(), TimeoutError())]
    assert [(result.is_error, result.parts) for result in told] == [
        (True, [TextPart("ValueError: too hot")]),
        (True, [TextPart("KeyError")]),
        (True, [TextPart("TimeoutError")]),
    ]


def test_a_whole_result_gets_the_calls_id_name_and_kind() -> None:
    given = ToolResult("other", [IMAGE], is_error=True, extra={"x": 1})
    assert result_of(call("a", kind="computer"), given) == ToolResult(
        "a", [IMAGE], is_error=True, name="do_a", kind="computer", extra={"x": 1}
    )


def test_stripping_cuts_dropped_and_rejected_calls_and_nothing_else() -> None:
    said = response(Reasoning("hm"), Text("x"), call("a", "invalid"), call("b"), call("c"))
    assert strip(said, select(said, "first")) == response(Reasoning("hm"), Text("x"), call("b"))


@pytest.mark.parametrize("sealed", [Reasoning("hm", signature="s"), Reasoning(encrypted="e", redacted=True)])
def test_stripping_beside_signed_reasoning_is_refused_and_needless_where_nothing_is_cut(sealed: Reasoning) -> None:
    said = response(sealed, call("a"), call("b"))
    with pytest.raises(StripIllegal, match="do_b: the same turn contains signed reasoning"):
        strip(said, select(said, "first"))
    assert strip(said, select(said)) == said


# The policy `first` as the provider's own switch.

WIRES = {
    "openai.chat": {"parallel_tool_calls": False},
    "openai.responses": {"parallel_tool_calls": False},
    "anthropic.messages": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
}


@pytest.mark.parametrize("wire", [*WIRES, "xai.grpc"])
def test_first_is_told_to_the_provider_by_its_own_switch(wire: str) -> None:
    request = Request(wire, "m", [], [ToolDefinition("f", "does f", {"type": "object", "properties": {}})])
    asked = with_policy(request, "first")
    assert asked.parallel is False
    written = write_request(asked)
    assert written.losses == []
    if wire == "xai.grpc":
        assert written.body.HasField("parallel_tool_calls")
        assert written.body.parallel_tool_calls is False
    else:
        assert {name: written.body.get(name) for name in WIRES[wire]} == WIRES[wire]
    assert read_request(written.body, wire).parallel is False


@pytest.mark.parametrize("policy", ["all", "batch"])
@pytest.mark.parametrize("parallel", [None, True, False])
def test_the_other_policies_leave_the_switch_as_it_is(policy: str, parallel: bool | None) -> None:
    request = Request("openai.chat", "m", [], [ToolDefinition("f")], parallel=parallel)
    assert with_policy(request, policy) == request


def test_where_there_are_no_tools_or_no_switch_nothing_is_switched() -> None:
    request = Request("openai.chat", "m", [])
    assert with_policy(request, "first") == request
    asked = with_policy(Request("anthropic.messages", "m", [], [ToolDefinition("f")]), "first")
    written = write_request(asked, "openai.chat", provider="deepseek")
    assert "parallel_tool_calls" not in written.body
    assert [loss.code for loss in written.losses] == ["parallel"]


def test_a_policy_that_is_unknown_is_refused() -> None:
    with pytest.raises(PolicyError, match="unknown policy: 'second'"):
        with_policy(Request("openai.chat", "m", []), "second")
