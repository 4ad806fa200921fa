"""Every call has exactly one result, directly after it and in the order of the calls; repairs are reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.history.conversations import answer, call, result, results, user
from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import Assistant, Message, RawItem, TextPart, ToolResult, ToolResults
from toolparity.normalizer.pairing import UNANSWERED, is_boundary, open_ids, paired, paired_segment, segment_end

Repairs = list[tuple[str, int]]


def pair(turns: list[Message]) -> tuple[list[Message], Repairs]:
    reported: Repairs = []
    return paired(turns, lambda code, message, turn: reported.append((code, turn))), reported


def missing(id: str) -> ToolResult:
    return ToolResult(id, [TextPart(UNANSWERED)], is_error=True, name="f")


def calls(*ids: str) -> Assistant:
    return answer(*map(call, ids))


ONE, TWO = result("x", "1"), result("x", "2")
ROUNDS: list[Message] = [calls("x"), ToolResults([ONE]), calls("x"), ToolResults([TWO])]
#: A case -> a conversation, the same with pairs, and the reported repairs. What every wire shows is tested in
#: tests/normalizer/failures/test_history.py and test_ids_and_names_sent_back.py.
CASES: dict[str, tuple[list[Message], list[Message], Repairs]] = {
    "an open call at the end": ([user(), calls("a")], [user(), calls("a")], []),
    "one result of two is missing": (
        [calls("a", "b"), results("b"), user()],
        [calls("a", "b"), results(missing("a"), "b"), user()],
        [("answered", 0)],
    ),
    "a second result": (
        [calls("x"), results(ONE, TWO, "z")],
        [calls("x"), results(ONE)],
        [("duplicate-answer", 1), ("orphan", 1)],
    ),
    "results in two messages": (
        [calls("a", "b"), results("b", extra={"x": 1}), results("a", extra={"y": 2}), user()],
        [calls("a", "b"), results("a", "b", extra={"x": 1, "y": 2}), user()],
        [],
    ),
    "a result behind an unknown item": (
        [calls("a"), RawItem("openai.chat", {}), results("a")],
        [calls("a"), results("a"), RawItem("openai.chat", {})],
        [("order", 2)],
    ),
    "a result behind the next calls": (
        [calls("a"), user(), calls("b"), results("a", "b")],
        [calls("a"), results("a"), user(), calls("b"), results("b")],
        [("order", 3)],
    ),
    "two messages of calls in a row": (
        [calls("a"), calls("b"), results("a"), results("b")],
        [calls("a"), results("a"), calls("b"), results("b")],
        [("order", 2)],
    ),
    "the first of two messages of calls has no result": (
        [calls("a"), calls("b"), results("b")],
        [calls("a"), results(missing("a")), calls("b"), results("b")],
        [("answered", 0)],
    ),
    "a late result of a repeated id": (
        [calls("x"), user(), calls("x"), user(), results("x")],
        [calls("x"), results(missing("x")), user(), calls("x"), results("x"), user()],
        [("answered", 0), ("order", 4)],
    ),
    "a repeated id in two messages in a row": ([calls("x"), calls("x"), results(ONE, TWO)], ROUNDS, [("order", 2)]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_conversation_is_paired(case: str) -> None:
    turns, expected, reported = CASES[case]
    assert pair(turns) == (expected, reported)


def test_results_of_calls_that_the_provider_stores_stay_in_their_place() -> None:
    turns: list[Message] = [results("k"), user(), calls("a"), results("k", "a", "a")]
    reported: list[str] = []
    done = paired_segment(turns, lambda code, message, turn: reported.append(code), 0, 4, stored=True)
    assert done == [*enumerate([*turns[:3], results("a")]), (3, results("k"))]
    assert reported == ["duplicate-answer"]


def test_an_open_call_may_get_its_result_behind_a_later_boundary() -> None:
    turns: list[Message] = [calls("a"), user(), calls("b"), results("b"), user(), calls("c")]
    assert open_ids(turns, 0, 4) == {"a"}
    assert is_boundary(turns, 4)
    assert not is_boundary([*turns, results("c", "a")], 4)
    assert not is_boundary([*turns, results("c", "a")], 4, {"a"})
    assert is_boundary([*turns, results("c", "x")], 4, {"a"})
    assert (segment_end(turns, 0, 6), segment_end(turns, 2, 6)) == (6, 5)


def _numbered_results(ids: list[str]) -> ToolResults:
    return results(*(result(id, str(number)) for number, id in enumerate(ids)))


_IDS: Any = st.lists(st.sampled_from("abc"), max_size=3)
_TURNS: Any = st.one_of(
    st.just(user()),
    st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(lambda ids: calls(*ids)),
    _IDS.map(_numbered_results),
)


@given(st.lists(_TURNS, max_size=8))
@examples(400)
def test_in_any_conversation_each_call_has_one_result_and_no_result_is_dropped_silently(turns: list[Message]) -> None:
    done, reported = pair(turns)
    others = [[turn for turn in side if not isinstance(turn, ToolResults)] for side in (turns, done)]
    assert others[0] == others[1]
    for place, turn in enumerate(done):
        before = done[place - 1] if place else None
        if isinstance(turn, ToolResults):
            assert isinstance(before, Assistant)
            assert [result.call_id for result in turn.results] == [call.id for call in before.response.calls]
        elif isinstance(before, Assistant):
            assert not before.response.calls
    given, kept = (
        [id(one) for turn in side if isinstance(turn, ToolResults) for one in turn.results] for side in (turns, done)
    )
    codes = [code for code, _ in reported]
    assert len(set(kept)) == len(kept)
    assert len(kept) - codes.count("answered") == len(given) - codes.count("orphan") - codes.count("duplicate-answer")
    assert pair(done) == (done, [])
