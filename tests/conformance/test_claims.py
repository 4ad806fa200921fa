"""What a subject claims is held to; a claim that is left out is a failure, and never a pass."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.thoroughness import is_thorough
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import FollowUp, SubjectExchange
from toolparity.conformance.subjects.claims import CLAIMS, READER_CLAIMS, claims_of
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.errors import MissingExtra
from toolparity.reports.results import EFFECTS

CHOICE = CaseFilter(scenarios=("parallel-three", "two-rounds", "arguments-*"))
#: Claim -> a law by which leaving it out is seen.
SEEN_BY = {
    "stream": "conservation",
    "select": "same-first",
    "text": "conservation",
    "stop": "stop",
    "status": "arguments",
    "usage": "usage",
    "findings": "arguments",
    "blocks": "conservation",
    "answers": "answered",
    "handoff": "handoff",
}


class Mute(Reference):
    """It reads calls, and gives nothing of what it claims beyond that."""

    name = "mute"

    def __init__(self, *claims: str) -> None:
        self.claims = frozenset(claims)

    def read(self, ask: SubjectExchange) -> Any:
        if ask.stream and "stream" in self.claims:
            return {"calls": []}
        given = super().read(ask)
        calls = [one for choice in given["response"]["choices"] for one in choice["blocks"] if "arguments_text" in one]
        return {"calls": [{key: call[key] for key in ("id", "name", "arguments_text")} for call in calls]}

    def next_request(self, ask: FollowUp) -> Any:
        return None


def cases() -> list[Case]:
    """The cases on all wires, or in the plain run on three of them."""
    wires = () if is_thorough() else ("openai.chat", "anthropic.messages", "xai.grpc")
    return list(replace(CHOICE, wires=wires).cases())


def outcomes(tested: Any) -> Counter[tuple[str, str]]:
    bench = Judge(tested, twice=False)
    return Counter((one.check, one.outcome) for case in cases() for one in bench.result(case).verdicts)


@pytest.fixture(scope="module")
def alone() -> Counter[tuple[str, str]]:
    """The outcomes of a subject that claims nothing."""
    return outcomes(Mute())


def test_every_claim_is_told_of() -> None:
    assert SEEN_BY.keys() == READER_CLAIMS == CLAIMS.keys() - {"runs"}  # of runs in test_agents.py


def test_every_failure_has_an_effect() -> None:
    judge = Judge(Mute(*READER_CLAIMS), twice=False)
    failures = [one for case in cases() for one in judge.result(case).verdicts if one.outcome == "fail"]
    assert len({one.check for one in failures}) > 5
    assert {one.effect for one in failures} <= EFFECTS.keys()


@pytest.mark.parametrize("claim", sorted(READER_CLAIMS))
def test_a_claim_that_is_left_out_is_a_failure(claim: str, alone: Counter[tuple[str, str]]) -> None:
    assert not any(outcome in ("fail", "error") for _, outcome in alone)  # what is not claimed is not asked for
    told = outcomes(Mute(claim, *(["answers"] if claim == "handoff" else [])))
    assert told[SEEN_BY[claim], "fail"]
    assert not any(outcome == "error" for _, outcome in told)


def test_no_words_are_given_where_there_are_none() -> None:
    class Silent(Mute):
        def read(self, ask: SubjectExchange) -> Any:
            return {**super().read(ask), "text": ""}

    told = {
        case.scenario: Judge(Silent("text"), twice=False).result(case).verdicts[0].outcome
        for case in (Case(name, "openai.chat", "plain", "all") for name in ("parallel-three", "calls-and-no-words"))
    }
    assert told == {"parallel-three": "fail", "calls-and-no-words": "pass"}


def test_requests_for_others_are_claimed_with_requests() -> None:
    with pytest.raises(UnknownSubject, match="claims handoff, but not answers"):
        claims_of("half", ["handoff"])


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "calls",
        {},
        {"calls": {}},
        {"calls": [1]},
        {"calls": [{"arguments": {}}]},
        {"calls": [], "text": 5},
        {"calls": [], "stop": ["end_turn"]},
        {"calls": [], "usage": [1]},
        {"calls": [], "complete": "yes"},
        {"calls": [], "warnings": "dropped"},
        {"response": 5},
        {"response": {"choices": 5}},
        {"response": {"choices": [], "usage": 5}},
        {"response": {"choices": [{"blocks": [{}]}]}},
    ],
)
def test_an_answer_of_no_form_is_a_failure_that_is_told(given: Any) -> None:
    class Odd(Mute):
        def read(self, ask: SubjectExchange) -> Any:
            return given

    (verdict,) = Judge(Odd()).result(Case("parallel-three", "openai.chat", "plain", "all")).verdicts
    assert (verdict.check, verdict.outcome) == ("conservation", "fail")
    assert verdict.reason.startswith("invalid answer: ")


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("made", [None, [], "body", {}, {"messages": 5}, {"messages": [5]}, {"messages": [{}]}])
def test_a_request_of_no_form_is_a_failure_too(made: Any) -> None:
    class Odd(Reference):
        claims = frozenset(("answers",))

        def next_request(self, ask: FollowUp) -> Any:
            return made

    told = outcomes(Odd())
    assert told["answered", "fail"]
    assert not any(outcome == "error" for _, outcome in told)


def test_a_request_that_raises_is_a_failure() -> None:
    class Odd(Reference):
        claims = frozenset(("answers",))

        def next_request(self, ask: FollowUp) -> Any:
            raise KeyError("tools")

    assert outcomes(Odd())["answered", "fail"]


def test_a_check_that_stumbles_is_told_of_as_such_and_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolparity.conformance.laws import LAWS
    from toolparity.conformance.runner import judge

    def stumbles(evidence: Any) -> Any:
        raise IndexError("past the end")

    monkeypatch.setattr(judge, "LAWS", {**LAWS, "order": LAWS["order"]._replace(check=stumbles)})
    verdicts = Judge(Mute()).result(Case("parallel-three", "openai.chat", "plain", "all")).verdicts
    assert {one.check: one.outcome for one in verdicts}["order"] == "error"
    assert {one.check: one.outcome for one in verdicts}["conservation"] == "pass"


def test_an_error_of_the_harness_is_no_verdict_on_the_subject() -> None:
    class Lacking(Mute):
        def read(self, ask: SubjectExchange) -> Any:
            raise MissingExtra("the library is not installed")

    (verdict,) = Judge(Lacking()).result(Case("parallel-three", "openai.chat", "plain", "all")).verdicts
    assert (verdict.check, verdict.outcome) == ("conservation", "error")


def test_what_a_subject_says_two_ways_is_unstable() -> None:
    class Fickle(Mute):
        count = 0

        def read(self, ask: SubjectExchange) -> Any:
            self.count += 1
            return {**super().read(ask), "text": f"{self.count}"}

    (verdict,) = Judge(Fickle("text")).result(Case("parallel-three", "openai.chat", "plain", "all")).verdicts
    assert (verdict.check, verdict.outcome) == ("conservation", "fail")
    assert "unstable" in verdict.reason


@pytest.mark.parametrize(("failed", "effect"), [(None, "lost"), (True, "refused")])
def test_a_call_that_is_missing_beside_an_error_is_not_lost_silently(failed: bool | None, effect: str) -> None:
    silent = Mute()
    silent.read = lambda ask: {"calls": [], "failed": failed}  # type: ignore[method-assign]
    result = Judge(silent, twice=False).result(Case("single-call", "openai.chat", "plain", "all"))
    (verdict,) = [one for one in result.verdicts if one.check == "conservation"]
    assert (verdict.outcome, verdict.effect) == ("fail", effect)
    assert ("without a warning" in verdict.reason) is (failed is None)
