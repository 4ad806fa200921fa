"""The error text of a provider is data for the program (`Outcome.error`), and never a part of the user's answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.events import chat_body, chat_call
from toolparity import normalize
from toolparity.normalizer import json_codec
from toolparity.turns import NarratingProvider, Narrator, Tools, Turn
from toolparity.turns.events import TurnFailed
from toolparity.turns.orchestration import Coordinator

from .playing import at_once, only, play

TEXT = "org-1234 exceeded its quota, see https://billing.example"
FAILURES = ["http", "raised", "stream"]


class Failing:
    """A provider that answers with a call first, and then fails in one of `FAILURES`."""

    wire, name, model = "openai.chat", "openai", "gpt-5-mini"

    def __init__(self, failure: str, *, calls: bool) -> None:
        self.failure = failure
        self.calls = calls

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        if self.calls and len(body["messages"]) == 1:
            yield json_codec.encode(chat_body(chat_call("c", "look", "{}")))
        elif self.failure == "raised":
            raise PermissionError(TEXT)
        elif self.failure == "http":
            yield normalize({"error": {"type": TEXT, "message": TEXT}}, self.wire, status=403)
        else:
            yield b'data: {"choices": [{"index": 0, "delta": {"content": "So far"}}]}\n\n'
            yield b"data: " + json_codec.encode({"error": {"type": "server_error", "message": TEXT}}) + b"\n\n"


def look() -> str:
    return "seen"


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_turn_keeps_the_text_of_the_error_out_of_its_answer(failure: str, calls: bool) -> None:
    turn = Turn(Failing(failure, calls=calls), Tools([look]), backoff=None)
    [failed] = only(at_once(play(turn)), TurnFailed)
    outcome = turn.outcome
    assert outcome.error is not None
    assert outcome.error.message == TEXT
    assert TEXT not in outcome.text + failed.text
    assert outcome.text.startswith("The model gave no answer: provider failed.")
    assert ("look: seen" in outcome.text) == calls
    orchestrated = at_once(Coordinator(Failing(failure, calls=calls), Tools([look]), backoff=None).run("Go."))
    assert orchestrated.outcome.error is not None
    assert TEXT not in orchestrated.text + orchestrated.outcome.text
    assert ("seen" in orchestrated.text) == calls


@pytest.mark.parametrize("failure", FAILURES)
def test_a_narrator_that_fails_leaves_the_plain_results(failure: str) -> None:
    provider = NarratingProvider(Failing("raised", calls=True), Narrator(Failing(failure, calls=False)))
    outcome = at_once(Turn(provider, Tools([look])).run("Go."))
    assert TEXT not in outcome.text
    assert "look: seen" in outcome.text
