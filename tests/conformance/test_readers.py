"""What the laws accept of readers: subjects that return the members of a library's objects, not the canonical form."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.claims import stop_words_of
from toolparity.conformance.subjects.peers.stops import stop_of
from toolparity.conformance.subjects.reference import Reference
from toolparity.reports.results import Verdict


class Reader(Reference):
    """Returns the calls, the text, the stop reason and the usage of the reference, changed by ``changes``.

    ``usage``: changes of the token counts. ``wire``: only responses on it are changed.
    """

    def __init__(
        self, *, stop_words: str | None = None, wire: str = "", usage: dict[str, int] | None = None, **changes: Any
    ) -> None:
        self.claims = frozenset(("stream", "stop", "text", "usage"))
        self.stop_words, self.wire, self.usage, self.changes = stop_words, wire, usage or {}, changes

    def read(self, exchange: SubjectExchange) -> Any:
        response = super().read(exchange)["response"]
        choice = response["choices"][0]
        blocks = choice["blocks"]
        answer = {
            "calls": [
                {"name": block["name"], "arguments": block["arguments_text"]}
                for block in blocks
                if block["type"] == "tool_call"
            ],
            "text": "".join(block["text"] for block in blocks if block["type"] == "text"),
            "stop": choice["stop"]["reason"],
            "usage": {**response["usage"], **self.usage},
        }
        return {**answer, **self.changes} if self.wire in ("", exchange.wire) else answer


def verdict(subject: Any, case: Case, law: str) -> Verdict:
    (found,) = [one for one in Judge(subject, twice=False).result(case).verdicts if one.check == law]
    return found


@pytest.mark.parametrize("stop", ["content_filter", "refusal"])
def test_a_reader_with_the_words_of_chat_completions_may_report_the_nearest_one(stop: str) -> None:
    case = Case("refusal", "anthropic.messages", "plain", "all")
    tested = Reader(stop_words="openai.chat", stop=stop)
    assert verdict(tested, case, "stop").outcome == "pass"
    assert verdict(tested, case, "alike").outcome == "pass"


@pytest.mark.parametrize(("stop", "words"), [("content_filter", None), ("end_turn", "openai.chat")])
def test_another_stop_reason_is_misreported(stop: str, words: str | None) -> None:
    tested = Reader(stop_words=words, stop=stop)
    found = verdict(tested, Case("refusal", "anthropic.messages", "plain", "all"), "stop")
    assert (found.outcome, found.effect) == ("fail", "misreported")


def test_unknown_stop_words_are_refused() -> None:
    with pytest.raises(UnknownSubject, match="stop_words"):
        stop_words_of("mine", "openai")


@pytest.mark.parametrize(("surface", "outcome"), [("openai.chat", "pass"), ("anthropic.messages", "fail")])
def test_of_two_surfaces_that_differ_the_wrong_one_fails(surface: str, outcome: str) -> None:
    tested = Reader(wire="anthropic.messages", calls=[])
    assert verdict(tested, Case("parallel-three", surface, "plain", "all"), "alike").outcome == outcome


@pytest.mark.parametrize(("scenario", "outcome"), [("asks-again", "pass"), ("signed-thinking", "fail")])
def test_no_reasoning_tokens_are_true_of_a_response_without_reasoning(scenario: str, outcome: str) -> None:
    tested = Reader(usage={"reasoning_tokens": 0})
    case = Case(scenario, "anthropic.messages", "plain", "all")
    assert verdict(tested, case, "usage").outcome == outcome


@pytest.mark.parametrize(
    ("word", "beside", "stop"),
    [
        ("stop", {}, "end_turn"),
        ("stop", {"calls": ["a"], "refusal": "no"}, "tool_calls"),
        ("stop", {"refusal": "no"}, "refusal"),
        ("completed", {"approval": True}, "pause"),
        ("length", {"calls": ["a"]}, "max_tokens"),
        ("a_new_word", {"calls": ["a"]}, "tool_calls"),
        ("a_new_word", {}, "unknown"),
        ("", {"calls": ["a"]}, "unknown"),
        (None, {"calls": ["a"]}, "unknown"),
    ],
)
def test_a_caller_sees_the_content_beside_the_word(word: str | None, beside: dict[str, Any], stop: str) -> None:
    assert stop_of(word, **beside) == stop
