"""A model that writes the summaries and the intent of a briefing: decay, budget, failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from tests.turns.playing import Counting, Emulated, Fault, Round, Say, at_once, on_every_wire, script
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import User
from toolparity.normalizer.requests import read_request
from toolparity.turns.orchestration import ContextBuilder, ModelSummarizer, session_of
from toolparity.turns.orchestration.memory import digest, estimated
from toolparity.turns.orchestration.summarizer import INSTRUCTIONS

from .staging import Ran, answer, words
from .test_context import CONVERSATION, LONG_TEXT, build, request_of, round_of, user

SHORT = "Round one found the fact."


class Writing(Emulated):
    """A model that answers each request with the same text. ``inputs``: the JSON of its requests."""

    def __init__(self, text: str = SHORT, wire: str = "openai.chat", fault: Fault | None = None) -> None:
        super().__init__(wire, script([]))
        self.inputs: list[Any] = []
        self._round = Round([Say(text)], fault=fault)

    def _chunks(self, body: Any) -> Any:
        last = read_request(body, self.wire).messages[-1]
        assert isinstance(last, User)
        message = words(last)
        self.inputs.append(json_codec.decode(message))
        self.script = replace(script([]), rounds=[replace(self._round, ask=message)], tools=[])
        return super()._chunks(body)


def rounds(*texts: str) -> list[Any]:
    made = [round_of(number, text=text) for number, text in enumerate(texts, 1)]
    return session_of([user("Go."), *(message for messages in made for message in messages)]).rounds


@on_every_wire
def test_a_model_summarizes_the_older_rounds_of_a_briefing(wire: str) -> None:
    """003, State Management & Context Preservation; 003, Error Handling Strategy: AI summarizes rounds."""
    writing = Writing(wire=wire)
    built = build(ContextBuilder(600, summarise=ModelSummarizer(writing)), request_of(*CONVERSATION))
    assert words(built.request.messages[2]).count(SHORT) == 3
    assert built.troubles == []
    newest = writing.inputs[0]["round"]["calls"]
    assert newest == [{"call": 'search({"q":3})', "error": "there is no such course"}]
    sizes = [asked["words"] for asked in writing.inputs]
    assert sizes[0] > 20
    assert all(size * 3 // 2 <= 600 for size in sizes)


def test_a_summary_is_written_once_and_shortened_when_its_share_gets_smaller() -> None:
    helper = ModelSummarizer(writing := Writing("A long summary of many words " * 10))
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
    helper = ModelSummarizer(writing := Writing())
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
    helper = ModelSummarizer(writing := Writing(), budget=1)
    first, second = rounds(LONG_TEXT, "other")
    assert at_once(helper(first, 100)) == SHORT
    assert helper.used >= estimated(INSTRUCTIONS)
    assert at_once(helper(second, 100)) == digest(second, 100)
    assert at_once(helper(first, 100)) == SHORT  # what is written costs nothing
    assert at_once(helper.intent(session_of(CONVERSATION))) == session_of(CONVERSATION).evolving_intent
    assert len(writing.inputs) == 1


def test_the_tokens_are_those_that_the_provider_reports() -> None:
    helper = ModelSummarizer(Writing(wire="anthropic.messages"))
    at_once(helper(rounds(LONG_TEXT)[0], 100))
    assert helper.used not in (0, estimated(INSTRUCTIONS))


@pytest.mark.parametrize("failure", ["error", "slow"])
def test_a_model_that_fails_or_takes_too_long_loses_only_its_texts(failure: str) -> None:
    class Slow(Writing):
        async def ask(self, body: Any) -> AsyncIterator[Any]:
            await asyncio.sleep(30)
            yield b""

    helper = ModelSummarizer(Slow() if failure == "slow" else Writing(fault=Fault("overloaded")), patience=0.05)
    built = build(ContextBuilder(600, summarise=helper, intent=helper.intent), request_of(*CONVERSATION))
    assert len(built.troubles) == 4  # the intent and three rounds
    assert built.request == build(ContextBuilder(600), request_of(*CONVERSATION)).request
    assert helper.used > 0


def test_a_model_states_the_intent_from_the_messages_and_the_work() -> None:
    intent = "The user wants to know which course has more lessons."
    helper = ModelSummarizer(writing := Writing(intent))
    built = build(ContextBuilder(600, intent=helper.intent), request_of(*CONVERSATION))
    assert intent in words(built.request.messages[2])
    [asked] = writing.inputs
    assert (asked["messages"], len(asked["work"])) == (["Compare the two courses."], 4)
    at_once(helper.intent(session_of(CONVERSATION)))
    assert len(writing.inputs) == 1  # the same conversation
    at_once(helper.intent(session_of([*CONVERSATION, answer("It is the first."), user("And now?")])))
    assert writing.inputs[1]["messages"] == ["Compare the two courses.", "And now?"]
