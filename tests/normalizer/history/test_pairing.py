"""Every call of a turn gets exactly one answer, directly after it and in call order; what does not fit is reported."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import (
    Assistant,
    Message,
    RawItem,
    System,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Block, Choice, Response, Stop, Text, ToolCall
from toolparity.normalizer.pairing import (
    UNANSWERED,
    is_boundary,
    open_ids,
    paired,
    paired_segment,
    segment_end,
    unanswered,
)


def call(id: str, name: str = "f", wire_id: str | None = None) -> ToolCall:
    return ToolCall(id, name, {}, "{}", wire_id=wire_id)


def said(*blocks: Block) -> Assistant:
    return Assistant(Response("openai.chat", "openai", None, "m", [Choice(0, list(blocks), Stop("tool_calls"))]))


def told(id: str, text: str = "ok") -> ToolResult:
    return ToolResult(id, [TextPart(text)])


def user(text: str = "hi") -> User:
    return User([TextPart(text)])


def pair(*turns: Message) -> tuple[list[Message], list[tuple[str, int]]]:
    reported: list[tuple[str, int]] = []
    return paired(list(turns), lambda code, message, turn: reported.append((code, turn))), reported


def missing(id: str, name: str = "f") -> ToolResult:
    return ToolResult(id, [TextPart(UNANSWERED)], is_error=True, name=name)


def test_a_conversation_that_fits_stays_as_it_is() -> None:
    turns = [
        System([TextPart("s")]),
        user(),
        said(call("a"), call("b")),
        ToolResults([told("a"), told("b")]),
        said(Text("x")),
    ]
    assert pair(*turns) == (turns, [])


def test_answers_stand_in_call_order_whatever_order_they_came_in() -> None:
    turns, reported = pair(said(call("a"), call("b"), call("c")), ToolResults([told("c"), told("a"), told("b")]))
    assert turns[1:] == [ToolResults([told("a"), told("b"), told("c")])]
    assert reported == []


def test_a_call_without_an_answer_gets_one_that_says_so() -> None:
    turns, reported = pair(said(call("a"), call("b")), ToolResults([told("b")]), user())
    assert turns[1:] == [ToolResults([missing("a"), told("b")]), user()]
    assert reported == [("answered", 0)]
    turns, reported = pair(user(), said(call("a")), user())
    assert turns[2:] == [ToolResults([missing("a")]), user()]
    assert reported == [("answered", 1)]


def test_the_last_turn_stays_open_until_anything_follows_it() -> None:
    assert pair(user(), said(call("a"))) == ([user(), said(call("a"))], [])


def test_an_answer_that_nothing_asks_for_is_left_out() -> None:
    turns, reported = pair(ToolResults([told("old")]), user(), said(Text("x")), ToolResults([told("a"), told("b")]))
    assert turns == [user(), said(Text("x"))]
    assert reported == [("orphan", 0), ("orphan", 3), ("orphan", 3)]


def test_a_second_answer_to_one_call_is_left_out() -> None:
    turns, reported = pair(said(call("a")), ToolResults([told("a", "1"), told("a", "2"), told("z")]))
    assert turns[1:] == [ToolResults([told("a", "1")])]
    assert reported == [("duplicate-answer", 1), ("orphan", 1)]


def test_answers_in_several_turns_are_one_turn() -> None:
    parts = [ToolResults([told("b")], {"x": 1}), ToolResults([told("a")], {"y": 2})]
    turns, reported = pair(said(call("a"), call("b")), *parts, user())
    assert turns[1:] == [ToolResults([told("a"), told("b")], {"x": 1, "y": 2}), user()]
    assert reported == []


def test_answers_that_stand_apart_are_moved_to_their_calls() -> None:
    between: list[Message] = [user(), said(Text("wait")), RawItem("openai.chat", {})]
    turns, reported = pair(
        said(call("a"), call("b")), ToolResults([told("a")]), *between, ToolResults([told("b")]), user()
    )
    assert turns == [said(call("a"), call("b")), ToolResults([told("a"), told("b")]), *between, user()]
    assert reported == [("order", 5)]


def test_an_answer_behind_the_next_calls_goes_to_the_call_that_it_names() -> None:
    turns, reported = pair(said(call("a")), user(), said(call("b")), ToolResults([told("a"), told("b")]))
    assert turns == [said(call("a")), ToolResults([told("a")]), user(), said(call("b")), ToolResults([told("b")])]
    assert reported == [("order", 3)]


def test_two_turns_of_calls_in_a_row_are_answered_each() -> None:
    turns, reported = pair(said(call("a")), said(call("b")), ToolResults([told("a")]), ToolResults([told("b")]))
    assert turns == [said(call("a")), ToolResults([told("a")]), said(call("b")), ToolResults([told("b")])]
    assert reported == [("order", 2)]


def test_the_first_of_two_turns_of_calls_in_a_row_is_told_as_unanswered() -> None:
    for behind in ([ToolResults([told("b")])], []):
        turns, reported = pair(user(), said(call("a")), said(call("b")), *behind)
        assert turns == [user(), said(call("a")), ToolResults([missing("a")]), said(call("b")), *behind]
        assert reported == [("answered", 1)]


def test_an_answer_under_an_id_that_came_again_goes_to_the_later_call() -> None:
    turns, reported = pair(said(call("f:0")), user(), said(call("f:0")), user(), ToolResults([told("f:0")]))
    assert turns[1:] == [ToolResults([missing("f:0")]), user(), said(call("f:0")), ToolResults([told("f:0")]), user()]
    assert reported == [("answered", 0), ("order", 4)]
    turns, reported = pair(said(call("f:0")), said(call("f:0")), ToolResults([told("f:0", "1"), told("f:0", "2")]))
    assert turns[1:] == [ToolResults([told("f:0", "1")]), said(call("f:0")), ToolResults([told("f:0", "2")])]
    assert reported == [("order", 2)]


def test_answers_to_calls_that_the_provider_keeps_stay_where_they_are() -> None:
    turns: list[Message] = [
        ToolResults([told("k")]),
        user(),
        said(call("a")),
        ToolResults([told("k"), told("a"), told("a")]),
    ]
    reported: list[str] = []
    done = paired_segment(turns, lambda code, message, turn: reported.append(code), 0, 4, stored=True)
    assert done == [*enumerate([*turns[:3], ToolResults([told("a")])]), (3, ToolResults([told("k")]))]
    assert reported == ["duplicate-answer"]


def test_what_was_left_open_may_be_answered_behind_any_later_seam() -> None:
    turns = [said(call("a")), user(), said(call("b")), ToolResults([told("b")]), user(), said(call("c"))]
    assert open_ids(turns, 0, 4) == {"a"}
    assert is_boundary(turns, 4)
    assert not is_boundary([*turns, ToolResults([told("c"), told("a")])], 4)
    assert not is_boundary([*turns, ToolResults([told("c"), told("a")])], 4, {"a"})
    assert is_boundary([*turns, ToolResults([told("c"), told("x")])], 4, {"a"})
    assert segment_end(turns, 0, 6) == 6
    assert segment_end(turns, 2, 6) == 5


def test_ids_that_come_again_in_a_later_round_are_answered_round_by_round() -> None:
    turns = [
        said(call("f:0")),
        ToolResults([told("f:0", "one")]),
        said(call("f:0")),
        ToolResults([told("f:0", "two")]),
    ]
    assert pair(*turns) == (turns, [])


def test_an_answer_under_the_items_own_id_is_taken_and_gets_the_calls() -> None:
    turns, reported = pair(said(call("call_1", wire_id="fc_1")), ToolResults([told("fc_1")]))
    assert turns[1:] == [ToolResults([told("call_1")])]
    assert reported == []


def test_two_calls_under_one_id_take_the_answers_in_turn() -> None:
    turns, reported = pair(said(call("x"), call("x")), ToolResults([told("x", "1"), told("x", "2")]))
    assert turns[1:] == [ToolResults([told("x", "1"), told("x", "2")])]
    assert reported == []


def test_an_answer_for_nobody_names_its_call_and_fails() -> None:
    assert unanswered(call("a", "g"), "because") == ToolResult("a", [TextPart("because")], is_error=True, name="g")


@st.composite
def muddles(draw: st.DrawFn) -> list[Message]:
    ids = st.lists(st.sampled_from("abc"), max_size=3)
    turn: st.SearchStrategy[Message] = st.one_of(
        st.just(user()),
        st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(lambda given: said(*map(call, given))),
        ids.map(lambda given: ToolResults([told(id, str(n)) for n, id in enumerate(given)])),
    )
    return draw(st.lists(turn, max_size=8))


@given(muddles())
@examples(400)
def test_whatever_came_each_call_has_one_answer_and_no_answer_vanishes_unreported(turns: list[Message]) -> None:
    done, reported = pair(*turns)
    assert [turn for turn in done if not isinstance(turn, ToolResults)] == [
        t for t in turns if not isinstance(t, ToolResults)
    ]
    for place, turn in enumerate(done):
        before = done[place - 1] if place else None
        if isinstance(turn, ToolResults):
            assert isinstance(before, Assistant)
            assert [result.call_id for result in turn.results] == [one.id for one in before.response.calls]
        elif isinstance(before, Assistant):
            assert not before.response.calls
    given_results = [id(result) for turn in turns if isinstance(turn, ToolResults) for result in turn.results]
    kept = [id(result) for turn in done if isinstance(turn, ToolResults) for result in turn.results]
    made = [code for code, _ in reported].count("answered")
    left_out = sum(code in ("orphan", "duplicate-answer") for code, _ in reported)
    assert len(set(kept)) == len(kept)
    assert len(kept) - made == len(given_results) - left_out
    # What was paired once is not repaired again.
    assert pair(*done) == (done, [])


@given(muddles())
@examples(200)
def test_turns_that_were_closed_stay_as_they_were_when_more_follow(turns: list[Message]) -> None:
    done, _ = pair(*turns)
    closed, _ = pair(*done, user(), said(call("a")), ToolResults([told("a")]))
    open_end = bool(done) and isinstance(done[-1], Assistant) and bool(done[-1].response.calls)
    assert closed[: len(done)] == done
    assert len(closed) == len(done) + 3 + open_end
