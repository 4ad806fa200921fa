"""The results of calls become the next messages: each call has one; dropped and rejected calls have the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.normalizer.history.conversations import IMAGE, response
from toolparity import Choice, Reasoning, Response, Stop, Text, ToolCall, normalize, select
from toolparity.normalizer.answers import answer, parts_of, result_of, strip
from toolparity.normalizer.conversation import Assistant, JsonPart, Request, TextPart, ToolDefinition, ToolResult
from toolparity.normalizer.conversation import ToolResults as Results
from toolparity.normalizer.errors import (
    DuplicateAnswer,
    PolicyError,
    StripIllegal,
    ToolparityError,
    UnserializableResult,
)
from toolparity.normalizer.model import CallStatus
from toolparity.normalizer.pairing import UNANSWERED
from toolparity.normalizer.requests import check_request, read_request, with_policy, write_request


def call(id: str, status: CallStatus = "complete", kind: str = "function") -> ToolCall:
    return ToolCall(id, f"do_{id}", {} if status == "complete" else None, "{}", status, kind)


def result(id: str, text: str, **more: Any) -> ToolResult:
    return ToolResult(id, [TextPart(text)], name=f"do_{id}", **more)


def refused(id: str, reason: str) -> ToolResult:
    return result(id, f"This call was not executed: {reason}.", is_error=True)


THREE = response(Text("I look."), call("a"), call("b"), call("c"))
REJECTED = response(call("a", "truncated"), call("b"), call("c", "invalid"))
CHOICES = Response(
    "openai.chat", "openai", "r1", "m", [Choice(n, [call(id)], Stop("tool_calls")) for n, id in enumerate("ab")]
)
FIRST = "policy first keeps one call"


UNRUN = {"is_error": True}
TRUNCATED, INVALID = "its arguments were truncated", "its arguments are not a JSON object"


@pytest.mark.parametrize(
    ("given", "options", "outcomes", "results"),
    [
        (THREE, {}, {"c": "3", "a": "1", "b": "2"}, [result("a", "1"), result("b", "2"), result("c", "3")]),
        (THREE, {"policy": "first"}, {"a": "1"}, [result("a", "1"), refused("b", FIRST), refused("c", FIRST)]),
        (THREE, {"limit": 1}, {"a": "1"}, [result("a", "1"), *(refused(id, "the limit is 1") for id in "bc")]),
        (REJECTED, {}, {"b": "2"}, [refused("a", TRUNCATED), result("b", "2"), refused("c", INVALID)]),
        (THREE, {}, {"b": "2"}, [result("a", UNANSWERED, **UNRUN), result("b", "2"), result("c", UNANSWERED, **UNRUN)]),
    ],
    ids=["in the order of the calls", "dropped", "over the limit", "rejected", "not run"],
)
def test_each_call_has_one_result(given: Response, options: Any, outcomes: Any, results: list[ToolResult]) -> None:
    assert answer(given, select(given, **options), outcomes) == [Assistant(given), Results(results)]


def test_only_the_selected_choice_is_in_the_history() -> None:
    chosen = Response("openai.chat", "openai", "r1", "m", CHOICES.choices[1:])
    assert answer(CHOICES, select(CHOICES, choice=1), {"b": "2"}) == [Assistant(chosen), Results([result("b", "2")])]


def test_ID_08_an_outcome_without_a_call_and_a_second_one_are_errors() -> None:
    unknown = "outcomes for unknown calls: z"
    wrong: list[tuple[Any, str]] = [({"a": "1", "z": "?"}, unknown), ([ToolResult(id, []) for id in "az"], unknown)]
    for outcomes, message in [*wrong, ([ToolResult("a", []), ToolResult("a", [])], "two results for a")]:
        with pytest.raises(DuplicateAnswer, match=message):
            answer(THREE, select(THREE), outcomes)
    not_paired: Any = ["1", "2", "3"]
    with pytest.raises(UnserializableResult, match="an outcome without a call: str"):
        answer(THREE, select(THREE), not_paired)


@dataclass
class Weather:
    city: str
    warm: bool


#: What a tool returned -> the parts of its result.
OUTCOMES: list[tuple[Any, list[Any]]] = [
    (None, []),
    ("", []),
    ("text", [TextPart("text")]),
    *((value, [JsonPart(value)]) for value in (0, False, {"a": [1]})),
    ([], [JsonPart([])]),
    (Weather("Oslo", False), [JsonPart({"city": "Oslo", "warm": False})]),
    ([TextPart("see"), IMAGE], [TextPart("see"), IMAGE]),
    ([TextPart("see"), "x"], [JsonPart([{"type": "text", "text": "see", "extra": {}}, "x"])]),  # not parts alone
]


def test_an_outcome_becomes_the_parts_of_a_result() -> None:
    for outcome, parts in OUTCOMES:
        expected = ToolResult("a", parts, name="do_a", kind="custom", plain=IMAGE not in parts)
        assert result_of(call("a", kind="custom"), outcome) == expected
        assert parts_of(outcome) == parts


def test_an_exception_becomes_an_error_result_with_its_name() -> None:
    errors = {ValueError("too hot"): "ValueError: too hot", KeyError(): "KeyError", TimeoutError(): "TimeoutError"}
    for error, text in errors.items():
        assert result_of(call("a"), error) == result("a", text, is_error=True)


def test_a_whole_result_gets_the_id_the_name_and_the_kind_of_its_call() -> None:
    given = ToolResult("other", [IMAGE], is_error=True, extra={"x": 1})
    whole = ToolResult("a", [IMAGE], is_error=True, name="do_a", kind="computer", extra={"x": 1})
    assert result_of(call("a", kind="computer"), given) == whole


def test_stripping_removes_dropped_and_rejected_calls_and_nothing_else() -> None:
    given = response(Reasoning("hm"), Text("x"), call("a", "invalid"), call("b"), call("c"))
    assert strip(given, select(given, "first")) == response(Reasoning("hm"), Text("x"), call("b"))


@pytest.mark.parametrize("sealed", [Reasoning("hm", signature="s"), Reasoning(encrypted="e", redacted=True)])
def test_a_call_beside_signed_reasoning_cannot_be_stripped(sealed: Reasoning) -> None:
    given = response(sealed, call("a"), call("b"))
    with pytest.raises(StripIllegal, match="do_b: the same turn contains signed reasoning"):
        strip(given, select(given, "first"))
    assert strip(given, select(given)) == given


def test_an_argument_of_another_type_is_an_error_that_names_it() -> None:
    given = response(call("a"))
    for function in (strip, lambda *both: answer(*both, {})):
        with pytest.raises(PolicyError, match=r"selection must be a Selection, got Response"):
            function(given, given)  # type: ignore[arg-type]
        with pytest.raises(PolicyError, match="response must be a Response, got Selection"):
            function(select(given), select(given))  # type: ignore[arg-type]
    request: Any = Request("openai.chat", "m", [{"role": "user"}])  # type: ignore[list-item]
    for call_with, message in (
        (lambda: answer(given, select(given), None), "outcomes without calls: NoneType"),  # type: ignore[arg-type]
        (lambda: write_request(request), r"messages\[0\] must be a message, got dict"),
        (lambda: check_request(request, "openai.chat"), r"got a Request \(pass write_request"),
        (lambda: normalize("openai.chat", {"secret": 1}), r"must be a str, got dict"),  # type: ignore[arg-type]
        (lambda: normalize({"messages": []}), r"is a request, and not a response \(use read_request"),
    ):
        with pytest.raises(ToolparityError, match=message):
            call_with()


def test_only_the_policy_first_turns_parallel_calls_off_where_there_are_tools() -> None:
    tools = [ToolDefinition("f", "does f", {"type": "object"})]
    asked = with_policy(Request("xai.grpc", "m", [], tools), "first")
    written = write_request(asked)
    assert (written.losses, written.body.HasField("parallel_tool_calls")) == ([], True)
    assert asked.parallel is read_request(written.body, "xai.grpc").parallel is False
    for policy in ("all", "batch"):
        for parallel in (None, True, False):
            request = Request("openai.chat", "m", [], tools, parallel=parallel)
            assert with_policy(request, policy) == request
    assert with_policy(Request("openai.chat", "m", []), "first") == Request("openai.chat", "m", [])
    with pytest.raises(PolicyError, match="unknown policy: 'second'"):
        with_policy(Request("openai.chat", "m", []), "second")  # type: ignore[arg-type]
