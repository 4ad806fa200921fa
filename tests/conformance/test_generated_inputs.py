"""The generated known-bad subjects that change their input: every member of the exchange and of the results."""

from __future__ import annotations

import pytest
from msgspec.structs import fields, replace

from toolparity.conformance.known_bad.generated import equivalents, inputs
from toolparity.conformance.runner import input_bench, survival
from toolparity.conformance.runner.input_bench import InputBench
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.conformance.subjects import CallResult, SubjectExchange

FEW = CaseFilter(scenarios=("parallel-three", "two-rounds", "single-call", "error-in-the-words", "limit-three"))


def test_every_member_has_subjects() -> None:
    changed = {mutant.member for mutant in inputs().values()}
    read = {field.name for field in fields(SubjectExchange)} - {"base_url", "tools", "tools_url", "final"}
    assert changed == read | {"results"} | {f"results.{field.name}" for field in fields(CallResult)}


def test_the_subjects_are_killed() -> None:
    names = [name for name in inputs() if name not in equivalents()]
    # Of concatenated messages, only a repeated end shows that they were several.
    few = replace(FEW, scenarios=(*FEW.scenarios, "figures-with-a-second-finish"))
    figures = survival.run(few, names, jobs=1)
    assert figures.survivors == []
    assert figures.subjects > 40


def test_the_same_meaning_changes_nothing() -> None:
    """Proof of `same-meaning`: the reference gives the same answers, and writes the same requests."""
    names = [name for name, kind in equivalents().items() if kind == "same-meaning"]
    figures = survival.run(FEW, names, jobs=1)
    assert set(figures.equivalents) == set(names)
    bench = InputBench(FEW)
    assert not any(bench.kill(inputs()[name]).changed for name in names)


def test_concatenated_messages_are_read_or_refused() -> None:
    """Each answer is the same, except that errors become unreadable, and ends that were sent twice."""
    mutant = inputs()["input/join:pieces@messages"]
    subject = input_bench._Misinformed(mutant)
    refused = 0
    for cached in InputBench(replace(FEW, wires=("xai.grpc",)))._cases:
        for round in cached.rounds:
            if input_bench._reads_differently(mutant, subject, round):
                assert round.expected.failed
                assert "error" in subject.read(round.exchange)
                refused += 1
    assert refused


def test_a_survivor_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_bench, "LAWS", {"usage": input_bench.LAWS["usage"]})
    assert survival.run(FEW, ["input/as-first:policy"], jobs=1).survivors == ["input/as-first:policy"]
