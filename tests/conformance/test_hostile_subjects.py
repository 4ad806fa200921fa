"""A subject is judged by what it claims. Nothing that it returns or raises is a pass, or an error of the harness."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples, is_thorough
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner import judge
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import FollowUp, SubjectExchange
from toolparity.conformance.subjects.claims import CLAIMS, READER_CLAIMS, claims_of
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.errors import MalformedBody, MissingExtra
from toolparity.reports.results import EFFECTS, Verdict

PARALLEL = Case("parallel-three", "openai.chat", "plain", "all")
ROUNDS = Case("two-rounds", "anthropic.messages", "plain", "all")
SEARCHES = Case("searches-posts-and-calls", "xai.responses", "stream", "all")
CASES = [PARALLEL._replace(policy="first"), SEARCHES, ROUNDS]
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


def returns(value: Any, method: str = "read", claims: tuple[str, ...] = ()) -> Reference:
    """Return the reference, one of whose methods returns a value, or raises it. A function gets what was asked."""

    def give(asked: Any) -> Any:
        if isinstance(value, BaseException):
            raise value
        return value(asked) if callable(value) else value

    subject = Reference()
    subject.claims = frozenset(claims) if claims or method == "read" else frozenset(("answers",))
    setattr(subject, method, give)
    return subject


def reading(change: Callable[[SubjectExchange, Any], Any]) -> Reference:
    """Return the reference with another answer, which a function makes of the exchange and the answer."""
    return returns(lambda asked: change(asked, Reference().read(asked)), claims=tuple(Reference.claims))


def verdicts(subject: Any, *cases: Case) -> list[Verdict]:
    """The verdicts on these cases; without one, on several of all wires, or in the plain run of three of them."""
    wires = () if is_thorough() else ("openai.chat", "anthropic.messages", "xai.grpc")
    chosen = cases or CaseFilter(scenarios=("parallel-three", "two-rounds", "arguments-*"), wires=wires).cases()
    bench = Judge(subject, twice=False)
    return [verdict for case in chosen for verdict in bench.result(case).verdicts]


def outcomes(subject: Any) -> Counter[tuple[str, str]]:
    return Counter((one.check, one.outcome) for one in verdicts(subject))


def by_law(subject: Any, case: Case) -> dict[str, tuple[str, str]]:
    return {one.check: (one.outcome, one.effect) for one in verdicts(subject, case)}


# Claims


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


def test_every_failure_has_an_effect_and_a_claim_without_the_one_that_it_needs_is_refused() -> None:
    failures = [one for one in verdicts(Mute(*READER_CLAIMS)) if one.outcome == "fail"]
    assert len({one.check for one in failures}) > 5
    assert {one.effect for one in failures} <= EFFECTS.keys()
    with pytest.raises(UnknownSubject, match="claims handoff, but not answers"):
        claims_of("half", ["handoff"])


# Answers and requests


#: Answers of another form than the documented ones, besides those that lack one in a member.
FORMLESS: list[Any] = [None, [], "calls", {}, {"calls": {}}, {"calls": [1]}, {"calls": [{"arguments": {}}]}]
FORMLESS += [{"response": 5}, {"response": {"choices": 5}}, {"response": {"choices": [], "usage": 5}}]
FORMLESS += [{"response": {"choices": [{"blocks": [{}]}]}}]
WRONG_MEMBERS = {"text": 5, "stop": ["end_turn"], "usage": [1], "complete": "yes", "warnings": "dropped"}


def test_an_answer_without_a_form_is_a_failure_with_its_reason() -> None:
    for answer in (*FORMLESS, *({"calls": [], name: value} for name, value in WRONG_MEMBERS.items())):
        (verdict,) = verdicts(returns(answer), PARALLEL)
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


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(["calls", "name", "id", "type", "content", "messages", "input", "tool_calls", "x"])
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


@examples(600, plain=80)
@given(st.sampled_from(CASES), st.sampled_from(("read", "next_request")), st.integers(0, 2000), JSON)
def test_any_json_in_an_answer_and_in_a_request_is_judged(case: Case, method: str, place: int, value: Any) -> None:
    def changed(asked: Any) -> Any:
        """The value with this number, counted from the outside, is another one."""
        whole = copy.deepcopy({"root": getattr(Reference(), method)(asked)})
        places = list(_places(whole))
        holder, key = places[place % len(places)]
        holder[key] = value
        return whole["root"]

    judged = verdicts(returns(changed, method, tuple(Reference.claims)), case)
    assert [verdict for verdict in judged if verdict.outcome == "error"] == []


def _places(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def test_a_subject_that_answers_the_same_response_in_two_ways_is_unstable() -> None:
    count = iter(range(9))
    fickle = returns(lambda exchange: {**Mute().read(exchange), "text": str(next(count))}, claims=("text",))
    (verdict,) = Judge(fickle).result(PARALLEL).verdicts
    assert (verdict.check, verdict.outcome, "unstable" in verdict.reason) == ("conservation", "fail", True)


def test_a_call_that_is_missing_beside_an_error_is_not_lost_without_a_warning() -> None:
    for failed, effect in ((None, "lost"), (True, "refused")):
        (verdict, *_) = verdicts(returns({"calls": [], "failed": failed}), PARALLEL)
        assert (verdict.check, verdict.outcome, verdict.effect) == ("conservation", "fail", effect)
        assert ("without a warning" in verdict.reason) is (failed is None)


# Errors


def test_an_error_of_a_law_or_of_the_harness_does_not_accuse_the_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    (verdict,) = verdicts(returns(MissingExtra("the library is not installed")), PARALLEL)
    assert (verdict.check, verdict.outcome) == ("conservation", "error")

    def fail(evidence: Any) -> Any:
        raise IndexError("past the end")

    monkeypatch.setattr(judge, "LAWS", {**LAWS, "order": LAWS["order"]._replace(check=fail)})
    found = by_law(Mute(), PARALLEL)
    assert (found["order"][0], found["conservation"][0]) == ("error", "pass")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyError("text")


@pytest.mark.parametrize("error", [KeyError("id"), MalformedBody("not JSON", body=""), Unprintable(), RecursionError()])
def test_a_refusal_is_one_failure_and_not_a_loss(error: Exception) -> None:
    for case in CASES:
        found = by_law(returns(error, claims=tuple(Reference.claims)), case)
        assert found.pop("conservation") == ("fail", "refused")
        assert set(found.values()) == {("unsupported", "")}


def test_a_round_or_a_split_that_was_read_is_judged_beside_a_refused_one() -> None:
    def refuse_the_second(exchange: SubjectExchange, answer: Any) -> Any:
        if answer["response"]["choices"][0]["blocks"][-1]["type"] != "tool_call":
            raise KeyError("tool_calls")
        answer["response"]["choices"][0]["stop"]["reason"] = "pause"
        return answer

    judged = by_law(reading(refuse_the_second), ROUNDS)
    assert judged["conservation"] == ("fail", "refused")
    assert judged["stop"] == ("fail", "misreported")
    assert judged["arguments"] == ("unsupported", "")

    def refuse_one_piece(exchange: SubjectExchange, answer: Any) -> Any:
        if exchange.stream and len(exchange.pieces) == 1:
            raise ValueError("one piece")
        return answer

    found = by_law(reading(refuse_one_piece), SEARCHES).items()
    assert [(law, effect) for law, (outcome, effect) in found if outcome == "fail"] == [("any-split", "refused")]


UNFINISHED = ("cut-only-call", "cut-in-the-words", "filtered-call", "context-window-full", "breaks-off-after-a-call")


@pytest.mark.parametrize("scenario", UNFINISHED)
def test_a_loud_refusal_of_an_unfinished_response_keeps_the_laws(scenario: str) -> None:
    """A reader that refuses a cut answer loses nothing."""
    loud = returns(ValueError("cut"), claims=tuple(Reference.claims))
    for case in CaseFilter(scenarios=(scenario,), policies=("all",)).cases():
        judged = by_law(loud, case)
        assert judged["conservation"][0] == "pass", case
        assert {outcome for outcome, _ in judged.values()} <= {"pass", "unsupported"}, case
        assert {judged[law][0] for law in ("arguments", "usage") if law in judged} <= {"unsupported"}, case
        assert judged.get("incomplete", ("pass", ""))[0] == "pass", case


def test_a_subject_that_calls_exit_fails_and_does_not_end_the_run() -> None:
    case = ROUNDS._replace(surface="openai.chat")
    for method in ("read", "next_request"):
        judged = Judge(returns(SystemExit(0), method, tuple(Reference.claims))).result(case).verdicts
        assert any("SystemExit" in one.reason for one in judged if one.outcome == "fail"), judged
        assert "error" not in {one.outcome for one in judged}
