"""The law of each known-bad subject fails it in the case of the table; `toolparity check --kill` searches all cases."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

from toolparity.conformance.known_bad import known_bad
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner.judge import CaseFilter, Judge

TABLE = Path(__file__).with_name("known_bad.toml")


def test_each_known_bad_subject_fails_its_law(proves: Callable[[str], None]) -> None:
    table = tomllib.loads(TABLE.read_text("utf-8"))
    assert table.keys() == known_bad().keys()
    cases = {case.id: case for case in CaseFilter().cases()}
    survivors = []
    for name, subject in known_bad().items():
        (verdict,) = Judge(subject.make(), twice=False).result(cases[table[name]], [LAWS[subject.law]]).verdicts
        if verdict.outcome != "fail":
            survivors.append(f"{name}: {subject.law} is {verdict.outcome} in {table[name]}")
            continue
        proves(f"known-bad {name}")
        proves(f"law {subject.law}")
    assert survivors == []
