"""What the program that runs the reproductions selects and records (docs/generate/confirm.py)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from docs.generate import confirm
from tests.support.published import published
from toolparity.conformance.reproductions import Accusation, confirmation
from toolparity.reports.results import Result, SubjectReport, Verdict


def accused(name: str, law: str = "order") -> Accusation:
    verdict = Verdict(law, "expected", "it broke")
    result = Result(name, "parallel-three", "openai.chat", "plain", "all", [verdict], [SubjectReport()])
    return Accusation(result, verdict, "1.0")


def selected(**options: Any) -> list[Accusation]:
    defaults = {"names": [], "reasons": False, "number": None, "seed": 1}
    return confirm.selected(argparse.Namespace(**{**defaults, **options}))


def test_a_sample_has_one_of_each_library_in_turn() -> None:
    found = [accused(name) for name in "aaaab"]
    assert sorted(one.result.subject for one in confirm.sample(found, 2, seed=1)) == ["a", "b"]
    assert len(confirm.sample(found, 60, seed=1)) == 5


@pytest.mark.page("reports/published", "docs/generate/confirm.py", "docs/generate/peers.py")
def test_every_reason_has_more_scripts_than_every_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "load", lambda path: published())
    laws, reasons = selected(), selected(reasons=True)
    assert {one.result.subject for one in laws} == {one.result.subject for one in reasons}
    assert len(laws) < len(reasons)
    assert {one.result.subject for one in selected(names=["litellm"])} == {"litellm"}
    assert len(selected(number=7)) == 7


def test_a_library_that_is_not_installed_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    assert confirm.outcome(accused("litellm")) == ("not installed", "")


def test_a_recording_replaces_the_accusations_of_the_same_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "confirmed.json"
    path.write_text("[]")
    monkeypatch.setattr(confirmation, "RECORD", path)
    confirm.record([accused("b"), accused("a"), accused("a")])
    confirm.record([accused("b", "stop")])
    entries = [(entry["subject"], entry["law"]) for entry in json.loads(path.read_bytes())]
    assert entries == [("a", "order"), ("b", "stop")]
