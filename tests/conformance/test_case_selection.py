"""Which cases a run picks, what a plain run leaves to other cases, and what a subject declares out of its scope."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.answer import parse_answer
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.errors import InvalidAnswer
from toolparity.conformance.laws import LAWS
from toolparity.conformance.laws.requests import targets
from toolparity.conformance.oracle import judged_wires
from toolparity.conformance.runner import judge
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.runner.smoke import smoke_results
from toolparity.conformance.subjects import FollowUp, SubjectExchange
from toolparity.conformance.subjects.reference import Reference

REASON = "its documentation lists no hosted tools"
STREAMED, PLAIN = (Case("parallel-three", "openai.chat", mode, "all") for mode in ("stream", "plain"))


def surfaces(**chosen: tuple[str, ...]) -> set[str]:
    return {case.surface for case in CaseFilter(**chosen).cases()}


def test_a_wire_is_every_provider_that_uses_it_and_a_surface_is_one_provider() -> None:
    assert surfaces() == set(SURFACES)
    assert surfaces(wires=("openai.chat",)) >= {"openai.chat", "xai.chat"}
    assert surfaces(surfaces=("openai.chat",)) == {"openai.chat"}
    assert surfaces(surfaces=("xai.chat",)) == surfaces(wires=("xai.chat",)) == {"xai.chat"}
    assert surfaces(wires=("anthropic.messages",), surfaces=("xai.chat",)) == {"anthropic.messages", "xai.chat"}
    assert surfaces(wires=("openai.chat",), providers=("xai",)) == {"xai.chat"}


# Exhaustive runs


class Recorder(Reference):
    """The reference, which records for which wires it writes requests, and how many times it reads a response."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.reads = 0

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        self.reads += 1
        return super().read(exchange)

    def next_request(self, follow_up: FollowUp) -> Any:
        self.written.add(follow_up.to)
        return super().next_request(follow_up)


def judged(case: Case, law: str, *, exhaustive: bool = False) -> Recorder:
    subject = Recorder()
    result = Judge(subject, twice=False, exhaustive=exhaustive).result(case, [LAWS[law]])
    assert {verdict.outcome for verdict in result.verdicts} <= {"pass"}
    return subject


def test_the_scenarios_cover_every_pair_of_wires_together() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for case in CaseFilter(policies=("all",)).cases():
        rounds = scenarios()[case.scenario].file.rounds
        if len(rounds) > 1 and rounds[0].calls:  # calls that a later request answers
            source = SURFACES[case.surface].wire
            found[source].update(wire for wire, _ in targets(case, source))
    wires = {spec.name for spec in judged_wires()}
    assert found == {wire: wires - {wire} for wire in wires}


def test_one_case_is_handed_over_to_two_wires_and_exhaustively_to_all() -> None:
    some, others = judged(PLAIN, "handoff").written, judged(STREAMED, "handoff").written
    assert (len(some), len(others), some & others) == (2, 2, set())
    every = judged(PLAIN, "handoff", exhaustive=True).written
    assert every == {spec.name for spec in judged_wires()} - {"openai.chat"}


def test_a_long_stream_is_split_byte_by_byte_in_an_exhaustive_run_only() -> None:
    for scenario, surface, more in (("long-arguments", "cohere.chat", True), ("text-only", "ollama.chat", False)):
        case = Case(scenario, surface, "stream", "all")
        plain, exhaustive = (judged(case, "any-split", exhaustive=every).reads for every in (False, True))
        assert (exhaustive > plain, exhaustive >= plain) == (more, True)


def test_a_case_has_its_excerpt_when_its_siblings_take_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_KEPT_BYTES", 0)
    runner = Judge(Reference(), twice=False)
    runner.result(STREAMED)
    assert runner.traffic(STREAMED) is not None
    assert runner.traffic(PLAIN) is None


# Responses out of scope


class Selective(Reference):
    """The reference, except for the responses that ``excludes`` is true of."""

    def __init__(self, excludes: Any) -> None:
        self._excludes = excludes

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        return {"unsupported": REASON} if self._excludes(exchange) else super().read(exchange)


def outcomes(subject: Reference, case: Case) -> dict[str, tuple[str, str]]:
    return {verdict.check: (verdict.outcome, verdict.reason) for verdict in Judge(subject).result(case).verdicts}


def test_a_response_out_of_scope_is_unsupported_and_its_other_form_is_judged() -> None:
    without_streams = Selective(lambda exchange: exchange.stream)
    assert outcomes(without_streams, STREAMED) == {"conservation": ("unsupported", REASON)}
    plain = outcomes(without_streams, PLAIN)
    assert plain["conservation"] == ("pass", "")
    assert {outcome for outcome, _ in plain.values()} <= {"pass", "unsupported"}


def test_the_same_bytes_in_other_pieces_cannot_be_out_of_scope() -> None:
    outcome, reason = outcomes(Selective(lambda exchange: len(exchange.pieces) >= 60), STREAMED)["any-split"]
    assert (outcome, "other pieces" in reason) == ("fail", True)


def test_an_answer_that_is_not_a_reason_alone_is_invalid() -> None:
    for answer in ({"unsupported": ""}, {"unsupported": None}, {"unsupported": "x", "calls": []}):
        with pytest.raises(InvalidAnswer, match="not a reason alone"):
            parse_answer(answer)


def test_smoke_does_not_pass_a_subject_that_supports_nothing() -> None:
    results = list(smoke_results(Selective(lambda exchange: True)))
    assert {(result.fault, REASON in result.text) for result in results} == {("implementation", True)}
