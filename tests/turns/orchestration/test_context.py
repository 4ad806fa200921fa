"""What a request holds that does not hold everything: layers, decay, the budget, and that it is legal all the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.turns.playing import WIRES, Emulated, at_once, script
from toolparity.normalizer.conversation import (
    Message,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.requests import check_request, write_request
from toolparity.normalizer.turns.orchestration import ContextBuilder, session_of
from toolparity.normalizer.turns.orchestration.context import HEAD, Built
from toolparity.normalizer.turns.orchestration.memory import RoundMemory, digest, estimated
from toolparity.normalizer.turns.request import opening

from .staging import said, words


def user(text: str) -> User:
    return User([TextPart(text)])


def round_of(number: int, *, text: str = "found", failed: bool = False, words: str = "") -> list[Message]:
    """One call with its answer."""
    result = ToolResult(f"c{number}-0", [TextPart(text)], failed, "search")
    return [said(words, ("search", {"q": number}), number=number), ToolResults([result])]


def request_of(*turns: Message, wire: str = "openai.chat") -> Request:
    from msgspec.structs import replace

    made = opening("x", Emulated(wire, script([])))
    tools = [ToolDefinition("search", "Searches.", {"type": "object", "properties": {}})]
    return replace(made, model=Emulated(wire, script([])).model, messages=list(turns), tools=tools)


def build(builder: ContextBuilder, request: Request, level: Any = "whole") -> Built:
    return at_once(builder.build(request, level))


LONG_TEXT = "a fact of some length, " * 40
TALK = [
    System([TextPart("Be kind.")]),
    user("Compare the two courses."),
    *round_of(1, text=f"one: {LONG_TEXT}", words="I look for the first."),
    *round_of(2, text=f"two: {LONG_TEXT}"),
    *round_of(3, text="there is no such course", failed=True),
    *round_of(4, text=f"four: {LONG_TEXT}"),
]


def test_the_four_layers_are_read_off_a_conversation() -> None:
    session = session_of([*TALK, user("In short, please.")])
    assert session.evolving_intent == ["Compare the two courses.", "In short, please."]
    assert list(session.discovered_facts) == ['search({"q":1})', 'search({"q":2})', 'search({"q":4})']
    assert session.search_coverage['search({"q":3})'] == ["there is no such course"]
    assert session.search_coverage['search({"q":1})'] == ["ok"]
    assert session.reasoning_trace == [(1, "I look for the first.")]
    assert [round.number for round in session.rounds] == [1, 2, 3, 4]


def test_within_the_budget_everything_is_said_as_it_was() -> None:
    request = request_of(*TALK)
    assert build(ContextBuilder(), request).request is request
    assert build(ContextBuilder(100_000), request).request is request


@pytest.mark.thorough(keep=24)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("level", ["whole", "simplified", "session"])
@pytest.mark.parametrize("tokens", [1, 50, 400, 500, 700, 900])
def test_whatever_the_budget_the_request_is_legal_and_holds_what_the_user_said(
    wire: str, level: str, tokens: int
) -> None:
    request = request_of(*TALK, wire=wire)
    built = build(ContextBuilder(tokens), request, level)
    encoded = write_request(built.request, wire)
    assert check_request(encoded.body, wire) == []
    assert [words(turn) for turn in built.request.messages[:2]] == ["Be kind.", "Compare the two courses."]
    assert built.over == (built.tokens > tokens)
    last = built.request.messages[-2:]
    if level == "session":
        assert built.request.tools == []
        assert words(built.request.messages[-1]).startswith(HEAD)
    else:
        assert last == TALK[-2:]
    assert built.over or built.tokens <= tokens


def test_the_budget_is_kept_wherever_what_has_to_stay_fits() -> None:
    fixed = ContextBuilder().weight(request_of(*TALK[:2], *TALK[-2:])) + estimated(HEAD)
    for tokens in range(fixed + 20, fixed + 1000, 25):
        built = build(ContextBuilder(tokens), request_of(*TALK))
        assert not built.over, tokens
        assert built.tokens <= tokens


def test_older_rounds_decay_the_most() -> None:
    turns: list[Message] = [user("Go.")]
    for number in range(1, 7):
        turns += round_of(number, text=f"{number}" * 4000)
    built = build(ContextBuilder(3000), request_of(*turns))
    briefing = words(built.request.messages[1])
    kept = [briefing.count(str(number) * 10) for number in range(1, 6)]
    assert kept == sorted(kept)
    assert kept[-1] > 2 * kept[-3] > 0
    assert built.briefed == [1, 2, 3, 4, 5]
    assert built.request.messages[-2:] == turns[-2:]


def test_a_failure_that_is_known_is_not_tried_again_for_want_of_memory() -> None:
    built = build(ContextBuilder(1500), request_of(*TALK), "simplified")
    assert 'search({"q":3}) failed: there is no such course' in words(built.request.messages[2])


def test_answers_of_earlier_questions_stand_where_they_were_given() -> None:
    turns = [user("First?"), *round_of(1, text=LONG_TEXT * 5), said("It is one."), user("Second?"), *round_of(2)]
    built = build(ContextBuilder(300), request_of(*turns))
    told = built.request.messages
    assert [words(turn) for turn in told[:3]] == ["First?", "It is one.", "Second?"]
    assert "Wanted now: Second? (asked before: First?)" in words(told[3])
    assert told[-2:] == turns[-2:]


def test_long_answers_of_earlier_questions_are_cut_as_everything_old_is() -> None:
    turns = [user("First?"), said("It is one. " * 1000), user("Second?"), *round_of(1)]
    built = build(ContextBuilder(300), request_of(*turns))
    assert not built.over
    assert words(built.request.messages[1]).startswith("It is one.")
    assert built.request.messages[2:] == turns[2:]  # there is nothing to brief on


#: A conversation, exchange by exchange: how many rounds of calls, how many calls in each, whether an answer ended it.
_TALKS = st.lists(st.tuples(st.lists(st.integers(1, 3), max_size=3), st.booleans()), min_size=1, max_size=3)


@given(_TALKS, st.integers(1, 900), st.sampled_from(["whole", "simplified", "session"]), st.sampled_from(WIRES))
def test_of_any_conversation_comes_a_legal_request(
    talk: list[tuple[list[int], bool]], tokens: int, level: str, wire: str
) -> None:
    turns: list[Message] = []
    number = 0
    for rounds, ended in talk:
        turns.append(user(f"Question {len(turns)}?"))
        for calls in rounds:
            number += 1
            made = said("", *(("search", {"q": at}) for at in range(calls)), number=number, wire=wire)
            results = [ToolResult(f"c{number}-{at}", [TextPart(LONG_TEXT)], at == 1, "search") for at in range(calls)]
            turns += [made, ToolResults(results)]
        if ended:
            turns.append(said("An answer.", wire=wire))
    if not isinstance(turns[-1], (User, ToolResults)):
        turns.append(user("And now?"))
    built = build(ContextBuilder(tokens), request_of(*turns, wire=wire), level)
    assert check_request(write_request(built.request, wire).body, wire) == []
    asked = [words(turn) for turn in turns if isinstance(turn, User)]
    kept = [words(turn) for turn in built.request.messages if isinstance(turn, User)]
    assert [text for text in kept if not text.startswith(HEAD)] == asked
    assert built.over == (built.tokens > tokens) or level == "whole"


def test_what_the_provider_keeps_is_not_shortened() -> None:
    from msgspec.structs import replace

    request = replace(request_of(*TALK, wire="openai.responses"), previous_response_id="resp_1")
    assert build(ContextBuilder(1), request, "session").request is request


def test_a_counter_and_a_summariser_of_ones_own_are_used() -> None:
    async def summarise(round: RoundMemory, tokens: int) -> str:
        return f"insight {round.number}"

    builder = ContextBuilder(400, count=lambda text: len(text.split()), summarise=summarise)
    built = build(builder, request_of(*TALK), "simplified")
    briefing = words(built.request.messages[2])
    assert [line for line in briefing.splitlines() if "insight" in line] == ["insight 1", "insight 2", "insight 3"]
    assert built.troubles == []


def test_a_counter_that_fails_leaves_the_count_to_the_estimate() -> None:
    def count(text: str) -> int:
        if "<|end|>" in text:
            raise ValueError("a mark of the tokenizer's own")
        return estimated(text)

    talk = request_of(User([TextPart("What does <|end|> mean?")]), *TALK[1:])
    built = build(ContextBuilder(700, count=count), talk)
    assert built == build(ContextBuilder(700), talk)
    assert built.briefed


@pytest.mark.parametrize("made", [None, "far too long " * 5000])
def test_a_summary_that_is_none_or_too_long_does_no_harm(made: Any) -> None:
    built = build(ContextBuilder(700, summarise=lambda round, tokens: made), request_of(*TALK))
    assert len(built.troubles) == 3
    assert not built.over


@given(st.text(max_size=400), st.integers(0, 200), st.booleans())
def test_a_digest_is_never_longer_than_it_may_be(text: str, tokens: int, failed: bool) -> None:
    [round] = session_of(round_of(1, text=text, failed=failed, words=text)).rounds
    assert estimated(digest(round, tokens)) <= tokens


def test_the_same_conversation_gives_the_same_request() -> None:
    assert build(ContextBuilder(600), request_of(*TALK)) == build(ContextBuilder(600), request_of(*TALK))
