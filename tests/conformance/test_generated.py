"""The generated known-bad subjects: systematic, each one killed, and each exemption proved."""

from __future__ import annotations

import pickle
import tomllib
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from tests.support.thoroughness import spread
from toolparity.conformance.known_bad import generated
from toolparity.conformance.known_bad.generated import answers, equivalents, mutants
from toolparity.conformance.known_bad.generated.fields import OWNERS, fields, objects
from toolparity.conformance.runner import answer_bench, survival
from toolparity.conformance.runner.bench import cached_cases
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.conformance.subjects.reference import Reference

#: Scenarios in which the members of the sampled subjects occur.
FEW = CaseFilter(
    scenarios=("single-call", "two-of-each-kind", "parallel-three", "*-thinking", "server-search", "cut-only-call"),
    surfaces=("openai.responses", "anthropic.messages"),
)


def test_every_member_of_the_canonical_form_has_subjects() -> None:
    changed = {mutant.field for mutant in mutants().values()}
    assert {field.path for field in fields()} <= changed
    assert {f"blocks.{owner}" for owner in OWNERS if owner.endswith(("text", "call", "opaque"))} <= changed
    assert len(mutants()) > 1000


def test_the_sampled_subjects_are_killed() -> None:
    names = [name for name in mutants() if not name.startswith("brief/") and "@" not in name]
    chosen = spread(names, 60)
    figures = survival.run(FEW, [name for name in chosen if name not in equivalents()], jobs=1)
    assert figures.survivors == []
    assert figures.subjects > len(chosen) // 2


def test_a_survivor_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the law `content`, nothing sees the signature."""
    monkeypatch.setattr(answer_bench, "_LAWS", [law for law in answer_bench._LAWS if law.id != "content"])
    name = "drop:reasoning.signature"
    assert survival.run(FEW, [name], jobs=1).survivors == [name]


def test_the_equivalents_change_only_sentences() -> None:
    """Proof of `documented-free-text`: a listed subject changes a sentence into another one, and nothing else."""
    text = (resources.files(generated) / "equivalents.toml").read_text("utf-8")
    table = tomllib.loads(text)
    members = table["documented-free-text"]["members"]
    for name in table["documented-free-text"]["names"]:
        mutant = mutants()[name]
        assert mutant.field in members
        owner, member = mutant.field.split(".")
        form = _form()
        before = [reference[member] for reference in form["selection"][owner]]
        assert mutant.change(form), name
        after = form["selection"][owner]
        assert all(reference[member] and isinstance(reference[member], str) for reference in after)
        for reference, sentence in zip(after, before, strict=True):
            reference[member] = sentence
        assert form == _form()


@pytest.mark.thorough
def test_the_tables_of_members_are_needed() -> None:
    """No operator is left out for a member that some answer would show."""
    seen = {trait for cached in cached_cases(CaseFilter()) for trait in cached.traits}
    assert {path for path in answers._NEVER_EMPTY if f"absent:{path}" in seen} == set()
    assert {path for path in answers._ALWAYS_EMPTY if f"present:{path}" in seen} == set()
    assert {path for path in answers._SAME_IN_ALL if f"several:{path}" in seen} <= {"dropped.reason", "rejected.reason"}
    values = {path: set(_values(path)) for path in answers._FIRST_CHOICE}
    assert values == {path: {0} for path in answers._FIRST_CHOICE}


def _values(path: str) -> Iterator[Any]:
    owner, _, member = path.partition(".")
    for cached in cached_cases(CaseFilter()):
        for form in cached.forms:
            if form is not None:
                yield from (each[member] for each in objects(pickle.loads(form), owner))


def _form() -> Any:
    """Return a canonical form with a kept, a dropped and a rejected call."""
    references = [
        {"block": index, "choice": 0, "id": f"call_{index}", "name": "look", "reason": reason}
        for index, reason in enumerate((None, "policy first keeps one call", "its arguments were truncated"))
    ]
    selection = {group: [ref] for group, ref in zip(("kept", "dropped", "rejected"), references, strict=True)}
    return {"response": {"choices": []}, "selection": {"policy": "first", "limit": None, "choice": 0, **selection}}


def test_the_reference_of_the_bench_keeps_the_laws() -> None:
    """A subject that changes nothing is a gap and never a kill."""
    assert Reference.claims
    assert survival.run(FEW, ["move:opaque.raw", "drop:error.type"], jobs=1).gaps == ["drop:error.type"]
