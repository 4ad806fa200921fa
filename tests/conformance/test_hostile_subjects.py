"""A faulty subject fails laws. Nothing that it returns or raises becomes an error of the harness."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import FollowUp, SubjectExchange
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.errors import MalformedBody
from toolparity.reports.results import Verdict

CASES = [
    Case("parallel-three", "openai.chat", "plain", "first"),
    Case("searches-posts-and-calls", "xai.responses", "stream", "all"),
    Case("two-rounds", "anthropic.messages", "plain", "all"),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(["calls", "name", "id", "type", "content", "messages", "input", "tool_calls", "x"])
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


class Changed(Reference):
    """Returns the reference's answer and request with a JSON value in place of another."""

    def __init__(self, answer: tuple[int, Any] | None = None, request: tuple[int, Any] | None = None) -> None:
        self._answer, self._request = answer, request

    def read(self, exchange: SubjectExchange) -> Any:
        return _changed(super().read(exchange), self._answer)

    def next_request(self, follow_up: FollowUp) -> Any:
        return _changed(super().next_request(follow_up), self._request)


def _changed(whole: Any, change: tuple[int, Any] | None) -> Any:
    """Return a copy in which the value with this number, counted from the outside, is another one."""
    if change is None:
        return whole
    whole = copy.deepcopy({"root": whole})
    places = list(_places(whole))
    holder, key = places[change[0] % len(places)]
    holder[key] = change[1]
    return whole["root"]


def _places(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def verdicts(subject: Any, case: Case) -> list[Verdict]:
    return Judge(subject, twice=False).result(case).verdicts


@examples(600, plain=80)
@given(st.sampled_from(CASES), st.sampled_from(("answer", "request")), st.integers(0, 2000), JSON)
def test_any_json_in_an_answer_and_in_a_request_is_judged(case: Case, member: str, place: int, value: Any) -> None:
    judged = verdicts(Changed(**{member: (place, value)}), case)
    assert [verdict for verdict in judged if verdict.outcome == "error"] == []


class Raises(Reference):
    """Raises an error instead of an answer."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def read(self, exchange: SubjectExchange) -> Any:
        raise self.error


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyError("text")


@pytest.mark.parametrize("error", [KeyError("id"), MalformedBody("not JSON", body=""), Unprintable(), RecursionError()])
def test_a_refusal_is_one_failure_and_not_a_loss(error: Exception) -> None:
    for case in CASES:
        found = {(one.check == "conservation", one.outcome, one.effect) for one in verdicts(Raises(error), case)}
        assert found == {(True, "fail", "refused"), (False, "unsupported", "")}


def test_a_round_that_was_read_is_judged_beside_a_refused_one() -> None:
    class SecondRefused(Reference):
        def read(self, exchange: SubjectExchange) -> Any:
            answer = super().read(exchange)
            if answer["response"]["choices"][0]["blocks"][-1]["type"] != "tool_call":
                raise KeyError("tool_calls")
            answer["response"]["choices"][0]["stop"]["reason"] = "pause"
            return answer

    judged = {one.check: (one.outcome, one.effect) for one in verdicts(SecondRefused(), CASES[2])}
    assert judged["conservation"] == ("fail", "refused")
    assert judged["stop"] == ("fail", "misreported")
    assert judged["arguments"] == ("unsupported", "")


@pytest.mark.parametrize("scenario", ["cut-only-call", "breaks-off-after-a-call", "filtered-call"])
def test_a_loud_refusal_of_an_unfinished_response_keeps_the_laws(scenario: str) -> None:
    surface = scenarios()[scenario].surfaces[0]
    for mode in scenarios()[scenario].modes(surface):
        judged = {one.check: one for one in verdicts(Raises(ValueError("cut")), Case(scenario, surface, mode, "all"))}
        assert judged["conservation"].outcome == "pass"
        assert {one.outcome for one in judged.values()} <= {"pass", "unsupported"}
        if "incomplete" in judged:
            assert judged["incomplete"].outcome == "pass"


def test_an_answer_that_changes_its_form_under_another_split_is_a_refusal() -> None:
    class WholeOnly(Reference):
        def read(self, exchange: SubjectExchange) -> Any:
            if exchange.stream and len(exchange.pieces) == 1:
                raise ValueError("one piece")
            return super().read(exchange)

    (failure,) = [one for one in verdicts(WholeOnly(), CASES[1]) if one.outcome == "fail"]
    assert (failure.check, failure.effect) == ("any-split", "refused")


class Exits(Reference):
    """Calls sys.exit, as the command line of a program does."""

    def read(self, exchange: SubjectExchange) -> Any:
        raise SystemExit(0)


def test_a_subject_that_calls_exit_fails_and_does_not_end_the_run() -> None:
    later = Reference()
    later.next_request = Exits().read  # type: ignore[assignment, method-assign]
    for subject in (Exits(), later):
        judged = Judge(subject).result(Case("two-rounds", "openai.chat", "plain", "all")).verdicts
        assert any("SystemExit" in one.reason for one in judged if one.outcome == "fail"), judged
        assert "error" not in {one.outcome for one in judged}
