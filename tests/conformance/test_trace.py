"""The trace of known failures is complete: each has scenarios or a reason, never both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolparity.cassettes.errors import InvalidScenario
from toolparity.conformance.cases import coverage

CATALOGUES = [Path(__file__).resolve().parents[3] / "shared" / name for name in ("failures.md", "failures3.md")]
pytestmark = pytest.mark.recorded


@pytest.fixture(autouse=True)
def _uncached() -> Iterator[None]:
    """Each test reads the tables again."""
    coverage.failures.cache_clear()
    coverage.trace.cache_clear()
    yield
    coverage.failures.cache_clear()
    coverage.trace.cache_clear()


def test_the_list_of_failures_is_that_of_the_catalogue() -> None:
    if not all(path.is_file() for path in CATALOGUES):
        pytest.skip("the catalogue of failures is not part of this repository")
    lines = [line for path in CATALOGUES for line in path.read_text("utf-8").splitlines()]
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert set(coverage.failures()) == {id for id in rows if re.fullmatch(r"[A-Z][A-Z0-9]*-[0-9]+", id)}


def test_every_failure_is_traced_to_scenarios_or_to_a_reason_of_several_words() -> None:
    found = coverage.trace()
    assert found.ids == list(coverage.failures())
    assert len(found.guards) > 4 * len(found.left_out)
    assert list(found.left_out) == sorted(found.left_out, key=coverage.sort_key)
    assert all(len(reason.split()) >= 8 for reason in found.left_out.values())
    assert sorted(["IDX-10", "IDX-2", "ARG-03"], key=coverage.sort_key) == ["ARG-03", "IDX-2", "IDX-10"]


@pytest.mark.parametrize(
    ("guards", "message"),
    [
        ({}, "IDX-01 has neither"),
        ({"IDX-999": ["single-call"]}, "IDX-999 is not a known failure"),
        ({"MIS-01": ["single-call"]}, r"MIS-01 has scenarios \(single-call\) and a reason"),
    ],
)
def test_a_gap_in_the_trace_is_named(
    guards: dict[str, list[str]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {**(coverage.guarded() if guards else {}), **guards}
    monkeypatch.setattr(coverage, "guarded", lambda: table)
    with pytest.raises(InvalidScenario, match=message):
        coverage.trace()


def test_an_invalid_list_of_failures_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "FOLDER", tmp_path)
    invalid = {"IDX-01 idx-2": "not a failure id", "IDX-10 IDX-2": "not sorted", "IDX-2 IDX-2": "repeated"}
    for text, message in invalid.items():
        (tmp_path / "failures.txt").write_text(text)
        with pytest.raises(InvalidScenario, match=message):
            coverage.failures()
