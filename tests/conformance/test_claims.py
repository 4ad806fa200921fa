"""A subject is judged by what it claims: a claim that it does not keep is a failure, and never a pass."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.thoroughness import is_thorough
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner import judge
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import FollowUp, SubjectExchange
from toolparity.conformance.subjects.claims import CLAIMS, READER_CLAIMS, claims_of
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.errors import MissingExtra
from toolparity.reports.results import EFFECTS, Verdict

CHOICE = CaseFilter(scenarios=("parallel-three", "two-rounds", "arguments-*"))
PARALLEL = Case("parallel-three", "openai.chat", "plain", "all")
#: Claim -> a law that fails if the subject does not keep it.
SEEN_BY = {"stream": "conservation", "text": "conservation", "blocks": "conservation", "select": "same-first"} | {
    "status": "arguments",
    "findings": "arguments",
    "stop": "stop",
    "usage": "usage",
    "answers": "answered",
    "handoff": "handoff",
}


class Mute(Reference):
    """It reads calls, and returns nothing of what it claims beyond that."""

    name = "mute"

    def __init__(self, *claims: str) -> None:
        self.claims = frozenset(claims)

    def read(self, exchange: SubjectExchange) -> Any:
        if exchange.stream and "stream" in self.claims:
            return {"calls": []}
        form = super().read(exchange)
        calls = [one for choice in form["response"]["choices"] for one in choice["blocks"] if "arguments_text" in one]
        return {"calls": [{key: call[key] for key in ("id", "name", "arguments_text")} for call in calls]}

    def next_request(self, follow_up: FollowUp) -> Any:
        return None


def returns(value: Any, method: str = "read") -> Reference:
    """Return a subject one of whose methods returns a value, or raises it."""

    def give(asked: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    subject = Mute() if method == "read" else Reference()
    subject.claims = frozenset(() if method == "read" else ("answers",))
    setattr(subject, method, give)
    return subject


def cases() -> list[Case]:
    """The cases on all wires, or in the plain run on three of them."""
    wires = () if is_thorough() else ("openai.chat", "anthropic.messages", "xai.grpc")
    return list(replace(CHOICE, wires=wires).cases())


def verdicts(subject: Any) -> list[Verdict]:
    bench = Judge(subject, twice=False)
    return [verdict for case in cases() for verdict in bench.result(case).verdicts]


def outcomes(subject: Any) -> Counter[tuple[str, str]]:
    return Counter((one.check, one.outcome) for one in verdicts(subject))


@pytest.fixture(scope="module")
def unclaimed() -> set[str]:
    """The outcomes of a subject that claims nothing."""
    return {one.outcome for one in verdicts(Mute())}


@pytest.mark.parametrize("claim", sorted(READER_CLAIMS))
def test_a_claim_that_is_not_kept_is_a_failure(claim: str, unclaimed: set[str]) -> None:
    assert SEEN_BY.keys() == READER_CLAIMS == CLAIMS.keys() - {"runs"}  # test_agents.py has those that run tools
    assert not unclaimed & {"fail", "error"}
    found = outcomes(Mute(claim, *(["answers"] if claim == "handoff" else [])))
    assert found[SEEN_BY[claim], "fail"]
    assert not any(outcome == "error" for _, outcome in found)


def test_every_failure_has_an_effect() -> None:
    failures = [one for one in verdicts(Mute(*READER_CLAIMS)) if one.outcome == "fail"]
    assert len({one.check for one in failures}) > 5
    assert {one.effect for one in failures} <= EFFECTS.keys()


def test_requests_for_other_wires_are_claimed_with_requests() -> None:
    with pytest.raises(UnknownSubject, match="claims handoff, but not answers"):
        claims_of("half", ["handoff"])


#: Answers of another form than the documented ones, besides those that lack one in a member.
FORMLESS: list[Any] = [None, [], "calls", {}, {"calls": {}}, {"calls": [1]}, {"calls": [{"arguments": {}}]}]
FORMLESS += [{"response": 5}, {"response": {"choices": 5}}, {"response": {"choices": [], "usage": 5}}]
FORMLESS += [{"response": {"choices": [{"blocks": [{}]}]}}]
WRONG_MEMBERS = {"text": 5, "stop": ["end_turn"], "usage": [1], "complete": "yes", "warnings": "dropped"}


def test_an_answer_without_a_form_is_a_failure_with_its_reason() -> None:
    for answer in (*FORMLESS, *({"calls": [], name: value} for name, value in WRONG_MEMBERS.items())):
        (verdict,) = Judge(returns(answer)).result(PARALLEL).verdicts
        assert (verdict.check, verdict.outcome) == ("conservation", "fail"), answer
        assert verdict.reason.startswith("invalid answer: "), answer


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize(
    "request_", [KeyError("tools"), None, [], "body", {}, {"messages": 5}, {"messages": [5]}, {"messages": [{}]}]
)
def test_a_request_without_a_form_is_a_failure(request_: Any) -> None:
    found = outcomes(returns(request_, "next_request"))
    assert found["answered", "fail"]
    assert not any(outcome == "error" for _, outcome in found)


def test_an_error_of_a_law_or_of_the_harness_does_not_accuse_the_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    (verdict,) = Judge(returns(MissingExtra("the library is not installed"))).result(PARALLEL).verdicts
    assert (verdict.check, verdict.outcome) == ("conservation", "error")

    def fail(evidence: Any) -> Any:
        raise IndexError("past the end")

    monkeypatch.setattr(judge, "LAWS", {**LAWS, "order": LAWS["order"]._replace(check=fail)})
    found = {one.check: one.outcome for one in Judge(Mute()).result(PARALLEL).verdicts}
    assert (found["order"], found["conservation"]) == ("error", "pass")


def test_a_subject_that_answers_the_same_response_in_two_ways_is_unstable() -> None:
    class Fickle(Mute):
        count = 0

        def read(self, exchange: SubjectExchange) -> Any:
            self.count += 1
            return {**super().read(exchange), "text": f"{self.count}"}

    (verdict,) = Judge(Fickle("text")).result(PARALLEL).verdicts
    assert (verdict.check, verdict.outcome, "unstable" in verdict.reason) == ("conservation", "fail", True)


def test_a_call_that_is_missing_beside_an_error_is_not_lost_without_a_warning() -> None:
    for failed, effect in ((None, "lost"), (True, "refused")):
        (verdict, *_) = Judge(returns({"calls": [], "failed": failed}), twice=False).result(PARALLEL).verdicts
        assert (verdict.check, verdict.outcome, verdict.effect) == ("conservation", "fail", effect)
        assert ("without a warning" in verdict.reason) is (failed is None)
