"""What a plain run leaves to other cases, and `--exhaustive` does in each: pairs of wires, and the finest splits."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.laws import LAWS
from toolparity.conformance.laws.requests import targets
from toolparity.conformance.oracle import judged_wires
from toolparity.conformance.runner import judge
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import FollowUp, SubjectExchange
from toolparity.conformance.subjects.reference import Reference


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
    plain, streamed = (Case("parallel-three", "openai.chat", mode, "all") for mode in ("plain", "stream"))
    some, others = judged(plain, "handoff").written, judged(streamed, "handoff").written
    assert (len(some), len(others), some & others) == (2, 2, set())
    every = judged(plain, "handoff", exhaustive=True).written
    assert every == {spec.name for spec in judged_wires()} - {"openai.chat"}


def test_a_long_stream_is_split_byte_by_byte_in_an_exhaustive_run_only() -> None:
    reads = {}
    for scenario, surface in (("long-arguments", "cohere.chat"), ("text-only", "ollama.chat")):
        case = Case(scenario, surface, "stream", "all")
        for exhaustive in (False, True):
            reads[scenario, exhaustive] = judged(case, "any-split", exhaustive=exhaustive).reads
    assert reads["long-arguments", True] > reads["long-arguments", False]
    assert reads["text-only", True] == reads["text-only", False]


def test_a_case_has_its_excerpt_when_its_siblings_take_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_KEPT_BYTES", 0)
    runner = Judge(Reference(), twice=False)
    case = Case("single-call", "openai.chat", "stream", "all")
    runner.result(case)
    assert runner.traffic(case) is not None
    assert runner.traffic(case._replace(mode="plain")) is None
