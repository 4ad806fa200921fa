"""Shortened requests: layers, decay, the budget, a model that summarizes, and that every request stays legal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.turns.playing import WIRES, Counting, Emulated, Fault, SameAnswer, at_once, on_every_wire, script
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
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.requests import check_request, write_request
from toolparity.turns.orchestration import ContextBuilder, ModelSummarizer, session_of
from toolparity.turns.orchestration.context import HEAD, Built
from toolparity.turns.orchestration.memory import RoundMemory, Session, digest
from toolparity.turns.orchestration.summarizer import INSTRUCTIONS
from toolparity.turns.request import opening
from toolparity.turns.tokens import estimated

from .staging import Ran, answer, words


def user(text: str) -> User:
    return User([TextPart(text)])


def round_of(number: int, *, text: str = "found", failed: bool = False, words: str = "") -> list[Message]:
    """One call with its result."""
    result = ToolResult(f"c{number}-0", [TextPart(text)], failed, "search")
    return [answer(words, ("search", {"q": number}), number=number), ToolResults([result])]


def request_of(*turns: Message, wire: str = "openai.chat") -> Request:
    first_request = opening("x", Emulated(wire, script([])))
    tools = [ToolDefinition("search", "Searches.", {"type": "object", "properties": {}})]
    return replace(first_request, model=Emulated(wire, script([])).model, messages=list(turns), tools=tools)


def build(builder: ContextBuilder, request: Request, level: Any = "whole") -> Built:
    return at_once(builder.build(request, level))


LONG_TEXT = "a fact of some length, " * 40
CONVERSATION = [
    System([TextPart("Be kind.")]),
    user("Compare the two courses."),
    *round_of(1, text=f"one: {LONG_TEXT}", words="I look for the first."),
    *round_of(2, text=f"two: {LONG_TEXT}"),
    *round_of(3, text="there is no such course", failed=True),
    *round_of(4, text=f"four: {LONG_TEXT}"),
]


def test_the_four_layers_are_extracted_from_a_conversation() -> None:
    session = session_of([*CONVERSATION, user("In short, please.")])
    first, second, third, fourth = (f'search({{"q":{number}}})' for number in range(1, 5))
    assert session.user_messages == ["Compare the two courses.", "In short, please."]
    assert session.evolving_intent == "Wanted now: In short, please. (asked before: Compare the two courses.)"
    assert session.search_reasons[first] == "I look for the first."
    assert list(session.discovered_facts) == [first, second, fourth]
    assert (session.search_coverage[third], session.search_coverage[first]) == (["there is no such course"], ["ok"])
    assert session.reasoning_trace == [(1, "I look for the first.")]
    assert [round.number for round in session.rounds] == [1, 2, 3, 4]


def test_the_intent_evolves_with_each_round() -> None:
    """003, State Management & Context Preservation: the intent is what the user wants, pursued by the rounds so far."""
    wanted = "Wanted now: Compare the two courses."
    intents = [session_of(CONVERSATION[:end]).evolving_intent for end in (1, 2, 4, 6, 8, 10)]
    assert intents[:2] == ["", wanted]
    assert intents[2] == f"{wanted}\nPursued now: I look for the first."
    assert intents[4] == f'{intents[2]}\nStill missing: search({{"q":3}})'
    assert session_of([*CONVERSATION, *round_of(3)]).evolving_intent == intents[2]  # it was found in the end
    program = [user(f"{HEAD}\nRound 1: …"), user("[Note by the program] Be short.")]
    assert session_of([user("Go."), *program]).evolving_intent == "Wanted now: Go."


def test_the_last_round_stays_whole_if_a_message_of_the_program_follows_it() -> None:
    note = user("[Note by the program] Be short.")
    built = build(ContextBuilder(600), request_of(*CONVERSATION, note))
    assert built.briefed == [1, 2, 3]
    assert note in built.request.messages
    assert built.request.messages[-2:] == CONVERSATION[-2:]


@pytest.mark.parametrize("fails", [False, True])
def test_a_custom_intent_is_part_of_the_briefing(fails: bool) -> None:
    async def intent(session: Session) -> str:
        if fails:
            raise ValueError("no idea")
        return f"The user compares courses, {len(session.rounds)} rounds in."

    built = build(ContextBuilder(600, intent=intent), request_of(*CONVERSATION))
    default, custom = "Wanted now: Compare the two courses.", "The user compares courses, 4 rounds in."
    assert (default if fails else custom) in words(built.request.messages[2])
    assert built.troubles == (["the intent could not be derived: ValueError: no idea"] if fails else [])


def test_a_request_within_the_budget_is_unchanged() -> None:
    request = request_of(*CONVERSATION)
    assert build(ContextBuilder(), request).request is request
    assert build(ContextBuilder(100_000), request).request is request
    stored = replace(request_of(*CONVERSATION, wire="openai.responses"), previous_response_id="resp_1")
    assert build(ContextBuilder(1), stored, "session").request is stored  # the provider has the conversation
    with pytest.raises(PolicyError, match="tokens must be >= 0 or None, got -5"):
        ContextBuilder(tokens=-5)


def test_the_budget_is_met_if_the_required_parts_fit() -> None:
    fixed = ContextBuilder().weight(request_of(*CONVERSATION[:2], *CONVERSATION[-2:])) + estimated(HEAD)
    for tokens in range(fixed + 20, fixed + 1000, 25):
        built = build(ContextBuilder(tokens), request_of(*CONVERSATION))
        assert not built.over, tokens
        assert built.tokens <= tokens


def test_older_rounds_are_shortened_more() -> None:
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


def test_answers_to_earlier_questions_stay_in_their_position_and_long_ones_are_shortened() -> None:
    turns = [user("First?"), *round_of(1, text=LONG_TEXT * 5), answer("It is one."), user("Second?"), *round_of(2)]
    messages = build(ContextBuilder(300), request_of(*turns)).request.messages
    assert [words(turn) for turn in messages[:3]] == ["First?", "It is one.", "Second?"]
    assert "Wanted now: Second? (asked before: First?)" in words(messages[3])
    assert messages[-2:] == turns[-2:]
    turns = [user("First?"), answer("It is one. " * 1000), user("Second?"), *round_of(1)]
    built = build(ContextBuilder(300), request_of(*turns))
    assert not built.over
    assert words(built.request.messages[1]).startswith("It is one.")
    assert built.request.messages[2:] == turns[2:]  # there are no rounds to summarize


#: A conversation by user message: the number of calls of each round, and whether an answer ended it.
_CONVERSATIONS = st.lists(st.tuples(st.lists(st.integers(1, 3), max_size=3), st.booleans()), min_size=1, max_size=3)


@given(_CONVERSATIONS, st.integers(1, 900), st.sampled_from(["whole", "simplified", "session"]), st.sampled_from(WIRES))
def test_any_budget_yields_a_legal_request_with_the_texts_of_the_user(
    conversation: list[tuple[list[int], bool]], tokens: int, level: str, wire: str
) -> None:
    turns: list[Message] = [System([TextPart("Be kind.")])]
    number = 0
    for rounds, ended in conversation:
        turns.append(user(f"Question {len(turns)}?"))
        for calls in rounds:
            number += 1
            assistant = answer("", *(("search", {"q": at}) for at in range(calls)), number=number, wire=wire)
            results = [ToolResult(f"c{number}-{at}", [TextPart(LONG_TEXT)], at == 1, "search") for at in range(calls)]
            turns += [assistant, ToolResults(results)]
        if ended:
            turns.append(answer("An answer.", wire=wire))
    if not isinstance(turns[-1], (User, ToolResults)):
        turns.append(user("And now?"))
    request = request_of(*turns, wire=wire)
    built = build(ContextBuilder(tokens), request, level)
    assert build(ContextBuilder(tokens), request, level) == built  # building is deterministic
    assert check_request(write_request(built.request, wire).body, wire) == []
    assert built.request.messages[0] == turns[0]
    asked = [words(turn) for turn in turns if isinstance(turn, User)]
    kept = [words(turn) for turn in built.request.messages if isinstance(turn, User)]
    assert [text for text in kept if not text.startswith(HEAD)] == asked
    assert built.over == (built.tokens > tokens) or level == "whole"


def test_a_custom_counter_and_summariser_are_used() -> None:
    async def summarise(round: RoundMemory, tokens: int) -> str:
        return f"insight {round.number}"

    builder = ContextBuilder(400, count=lambda text: len(text.split()), summarise=summarise)
    built = build(builder, request_of(*CONVERSATION), "simplified")
    briefing = words(built.request.messages[2])
    assert [line for line in briefing.splitlines() if "insight" in line] == ["insight 1", "insight 2", "insight 3"]
    assert built.troubles == []
    default = build(ContextBuilder(1500), request_of(*CONVERSATION), "simplified")
    assert 'search({"q":3}) failed: there is no such course' in words(default.request.messages[2])


def test_each_message_is_counted_once_in_a_growing_conversation() -> None:
    """Old conversations are forgotten."""
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    builder = ContextBuilder(tokens=1_000_000, count=count)
    others = [user("Another conversation."), *round_of(9, text="nine")]
    for length in range(2, len(CONVERSATION) + 1):
        request = request_of(*CONVERSATION[:length])
        assert build(builder, request).tokens == ContextBuilder(count=len).weight(request)
        build(builder, request_of(*others))
    for text in ("Compare the two courses.", f"one: {LONG_TEXT}", "Another conversation.", "nine"):
        assert counted.count(text) == 1
    for number in range(100):
        build(builder, request_of(user(f"number {number}")))
    build(builder, request_of(*others))
    assert counted.count("Another conversation.") == 2


@pytest.mark.parametrize("wrong", [None, -1, float("nan")])
def test_a_failing_counter_is_replaced_by_the_estimate(wrong: Any) -> None:
    def count(text: str) -> int:
        if "<|end|>" in text:
            raise ValueError("a mark of the tokenizer's own")
        return wrong if "a" in text else estimated(text)

    conversation = request_of(User([TextPart("What does <|end|> mean?")]), *CONVERSATION[1:])
    built = build(ContextBuilder(700, count=count), conversation)
    assert built == build(ContextBuilder(700), conversation)
    assert built.briefed


def _fails(round: RoundMemory, tokens: int) -> str:
    raise ValueError("no words")


@pytest.mark.parametrize("summarise", [lambda *_: None, lambda *_: "far too long " * 5000, _fails])
def test_a_missing_overlong_or_failed_summary_is_handled(summarise: Any) -> None:
    built = build(ContextBuilder(700, summarise=summarise), request_of(*CONVERSATION))
    assert len(built.troubles) == 3
    assert not built.over
    if summarise is _fails:
        assert built.troubles[-1] == "the summary of round 1 failed: ValueError: no words"


@given(st.text(max_size=400), st.integers(0, 200), st.booleans())
def test_a_digest_never_exceeds_its_token_limit(text: str, tokens: int, failed: bool) -> None:
    [round] = session_of(round_of(1, text=text, failed=failed, words=text)).rounds
    assert estimated(digest(round, tokens)) <= tokens


SHORT = "Round one found the fact."


def rounds(*texts: str) -> list[Any]:
    made = [round_of(number, text=text) for number, text in enumerate(texts, 1)]
    return session_of([user("Go."), *(message for messages in made for message in messages)]).rounds


@on_every_wire
def test_a_model_summarizes_the_older_rounds_of_a_briefing(wire: str) -> None:
    """003, State Management & Context Preservation; 003, Error Handling Strategy: AI summarizes rounds."""
    writing = SameAnswer(SHORT, wire=wire)
    built = build(ContextBuilder(600, summarise=ModelSummarizer(writing)), request_of(*CONVERSATION))
    assert words(built.request.messages[2]).count(SHORT) == 3
    assert built.troubles == []
    newest = writing.inputs[0]["round"]["calls"]
    assert newest == [{"call": 'search({"q":3})', "error": "there is no such course"}]
    sizes = [asked["words"] for asked in writing.inputs]
    assert sizes[0] > 20
    assert all(size * 3 // 2 <= 600 for size in sizes)


def test_a_summary_is_written_once_and_shortened_when_its_share_gets_smaller() -> None:
    helper = ModelSummarizer(writing := SameAnswer("A long summary of many words " * 10))
    [round] = rounds(LONG_TEXT)
    assert at_once(helper(round, 10)) == digest(round, 10)  # a share of a few tokens does not need a model
    assert writing.inputs == []
    long = at_once(helper(round, 100))
    assert at_once(helper(round, 90)) == long  # it still fits
    assert len(writing.inputs) == 1
    shorter = at_once(helper(round, 40))
    assert estimated(shorter) <= 40
    assert writing.inputs[1] == {"summary": long, "words": 26}  # not the round again
    assert at_once(helper(round, 40)) == shorter
    assert len(writing.inputs) == 2


def test_the_summaries_of_a_turn_are_asked_for_once_each() -> None:
    facts = "a long fact. " * 800
    helper = ModelSummarizer(writing := SameAnswer(SHORT))
    counting = Counting(look=lambda at: facts, count=lambda of: facts, post=lambda text: facts)
    ran = Ran(counting=counting, context=ContextBuilder(6000, summarise=helper))
    assert ran.coordinator.built is not None
    assert ran.coordinator.built.briefed == [1]
    assert len(writing.inputs) == 1
    first, second = rounds(LONG_TEXT, LONG_TEXT + "more")  # rounds with other results have other summaries
    at_once(helper(first, 100))
    at_once(helper(second, 100))
    assert len(writing.inputs) == 3


def test_a_summarizer_whose_budget_is_used_up_quotes_instead() -> None:
    helper = ModelSummarizer(writing := SameAnswer(SHORT), budget=1)
    first, second = rounds(LONG_TEXT, "other")
    assert at_once(helper(first, 100)) == SHORT
    assert helper.used >= estimated(INSTRUCTIONS)
    assert at_once(helper(second, 100)) == digest(second, 100)
    assert at_once(helper(first, 100)) == SHORT  # what is written costs nothing
    assert at_once(helper.intent(session_of(CONVERSATION))) == session_of(CONVERSATION).evolving_intent
    assert len(writing.inputs) == 1


def test_the_tokens_are_those_that_the_provider_reports() -> None:
    helper = ModelSummarizer(SameAnswer(SHORT, wire="anthropic.messages"))
    at_once(helper(rounds(LONG_TEXT)[0], 100))
    assert helper.used not in (0, estimated(INSTRUCTIONS))


@pytest.mark.parametrize("failure", ["error", "slow"])
def test_a_model_that_fails_or_takes_too_long_loses_only_its_texts(failure: str) -> None:
    class Slow(SameAnswer):
        async def ask(self, body: Any) -> AsyncIterator[Any]:
            await asyncio.sleep(30)
            yield b""

    model = Slow(SHORT) if failure == "slow" else SameAnswer(SHORT, fault=Fault("overloaded"))
    helper = ModelSummarizer(model, patience=0.05)
    built = build(ContextBuilder(600, summarise=helper, intent=helper.intent), request_of(*CONVERSATION))
    assert len(built.troubles) == 4  # the intent and three rounds
    assert built.request == build(ContextBuilder(600), request_of(*CONVERSATION)).request
    assert helper.used > 0


def test_a_model_states_the_intent_from_the_messages_and_the_work() -> None:
    intent = "The user wants to know which course has more lessons."
    helper = ModelSummarizer(writing := SameAnswer(intent))
    built = build(ContextBuilder(600, intent=helper.intent), request_of(*CONVERSATION))
    assert intent in words(built.request.messages[2])
    [asked] = writing.inputs
    assert (asked["messages"], len(asked["work"])) == (["Compare the two courses."], 4)
    at_once(helper.intent(session_of(CONVERSATION)))
    assert len(writing.inputs) == 1  # the same conversation
    at_once(helper.intent(session_of([*CONVERSATION, answer("It is the first."), user("And now?")])))
    assert writing.inputs[1]["messages"] == ["Compare the two courses.", "And now?"]
