"""Responses that a subject declares to be outside its scope: unsupported with its reason, never a pass or a failure."""

from __future__ import annotations

import base64
import runpy
from typing import Any

import pytest

from toolparity.conformance.answer import parse_answer
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import responses
from toolparity.conformance.errors import InvalidAnswer
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.runner.smoke import smoke_results
from toolparity.conformance.subjects import Subject, SubjectExchange, subject
from toolparity.conformance.subjects.peers import HERE

REASON = "its documentation lists no hosted tools"
CASE = Case("parallel-three", "openai.chat", "stream", "all")


class Selective:
    """The reference, except for the responses that ``scope`` excludes."""

    name, version = "selective", "1"
    wires: frozenset[str] | None = frozenset(("openai.chat",))

    def __init__(self) -> None:
        self._reference: Subject = subject("normalizer")
        self.claims = self._reference.claims

    def in_scope(self, exchange: SubjectExchange) -> bool:
        return True

    def read(self, exchange: SubjectExchange) -> Any:
        return self._reference.read(exchange) if self.in_scope(exchange) else {"unsupported": REASON}

    def next_request(self, follow_up: Any) -> Any:
        return self._reference.next_request(follow_up)  # type: ignore[attr-defined]


class NoStreams(Selective):
    def in_scope(self, exchange: SubjectExchange) -> bool:
        return not exchange.stream


class OneLongPiece(Selective):
    """Supports a stream only if it arrives in few pieces."""

    def in_scope(self, exchange: SubjectExchange) -> bool:
        return len(exchange.pieces) < 60


class Nothing(Selective):
    def in_scope(self, exchange: SubjectExchange) -> bool:
        return False


def outcomes(tested: Subject, case: Case) -> dict[str, tuple[str, str]]:
    verdicts = Judge(tested).result(case).verdicts
    return {verdict.check: (verdict.outcome, verdict.reason) for verdict in verdicts}


def test_a_response_out_of_scope_is_unsupported_with_the_reason_of_the_subject() -> None:
    assert outcomes(NoStreams(), CASE) == {"conservation": ("unsupported", REASON)}


def test_the_other_form_of_the_case_is_judged_and_not_compared() -> None:
    plain = outcomes(NoStreams(), CASE._replace(mode="plain"))
    assert plain["conservation"] == ("pass", "")
    assert {outcome for outcome, _ in plain.values()} <= {"pass", "unsupported"}
    streamed = outcomes(Selective(), CASE)
    assert streamed["stream-parity"] == ("pass", "")


def test_the_same_bytes_in_other_pieces_cannot_be_out_of_scope() -> None:
    outcome, reason = outcomes(OneLongPiece(), CASE)["any-split"]
    assert outcome == "fail"
    assert "other pieces" in reason


@pytest.mark.parametrize("answer", [{"unsupported": ""}, {"unsupported": None}, {"unsupported": "x", "calls": []}])
def test_an_answer_that_is_not_a_reason_alone_is_invalid(answer: Any) -> None:
    with pytest.raises(InvalidAnswer, match="not a reason alone"):
        parse_answer(answer)


def test_smoke_does_not_pass_a_subject_that_supports_nothing() -> None:
    results = list(smoke_results(Nothing()))
    assert results
    assert {result.fault for result in results} == {"implementation"}
    assert all(REASON in result.text for result in results)


@pytest.mark.parametrize(
    ("name", "scenario", "answer"),
    [
        ("legacy_call", "legacy-function-call", True),
        ("legacy_call", "single-call", False),
        ("several_choices", "choice-not-selected", True),
        ("several_choices", "single-call", False),
    ],
)
def test_a_response_shows_what_its_request_must_have_been(name: str, scenario: str, answer: bool) -> None:
    asks = runpy.run_path(str(HERE / "scope.py"))
    for mode in scenarios()[scenario].modes("openai.chat"):
        response = responses(scenario, "openai.chat", mode)[0]
        pieces = [base64.b64encode(piece).decode() for piece in response.pieces]
        ask = {"wire": "openai.chat", "stream": mode == "stream", "pieces": pieces, "tools": []}
        assert asks[name](ask) is answer, mode
        assert asks[name]({**ask, "wire": "openai.responses"}) is False
