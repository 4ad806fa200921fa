"""The trace is whole: every known failure has scenarios or a reason, never both, and the page says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolparity.cassettes.errors import InvalidScenario
from toolparity.conformance.cases import coverage

ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = [ROOT.parent / "shared" / name for name in ("failures.md", "failures3.md")]
pytestmark = pytest.mark.recorded


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Each test reads the tables anew."""
    for cached in (coverage.failures, coverage.trace):
        cached.cache_clear()
    yield
    for cached in (coverage.failures, coverage.trace):
        cached.cache_clear()


def test_the_list_of_failures_is_that_of_the_catalogue() -> None:
    if not all(path.is_file() for path in CATALOGUES):
        pytest.skip("the catalogue of failures is not part of this repository")
    lines = [line for path in CATALOGUES for line in path.read_text("utf-8").splitlines()]
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    known = {id for id in rows if re.fullmatch(r"[A-Z][A-Z0-9]*-[0-9]+", id)}
    assert set(coverage.failures()) == known


def test_every_failure_is_traced_and_most_of_them_to_scenarios() -> None:
    found = coverage.trace()
    assert found.ids == list(coverage.failures())
    assert len(found.guards) > 4 * len(found.left_out)


def test_reasons_are_in_order_and_say_something() -> None:
    given = coverage.trace().left_out
    assert list(given) == sorted(given, key=coverage.sort_key)
    assert all(len(reason.split()) >= 8 for reason in given.values())


@pytest.mark.parametrize(
    ("guards", "message"),
    [
        ({}, "IDX-01 has neither"),
        ({"IDX-999": ["single-call"]}, "IDX-999 is not a known failure"),
        ({"MIS-01": ["single-call"]}, r"MIS-01 has scenarios \(single-call\) and a reason"),
    ],
    ids=["a gap", "a stranger", "both"],
)
def test_a_hole_in_the_trace_is_named(
    guards: dict[str, list[str]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {**(coverage.guarded() if guards else {}), **guards}
    monkeypatch.setattr(coverage, "guarded", lambda: table)
    with pytest.raises(InvalidScenario, match=message):
        coverage.trace()


@pytest.mark.parametrize(
    ("text", "message"),
    [("IDX-01 idx-2", "not a failure id"), ("IDX-10 IDX-2", "not sorted"), ("IDX-2 IDX-2", "repeated")],
)
def test_a_list_of_failures_that_is_none_is_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failures.txt").write_text(text)
    monkeypatch.setattr(coverage, "FOLDER", tmp_path)
    with pytest.raises(InvalidScenario, match=message):
        coverage.failures()


def test_numbers_count_as_numbers_in_the_order_of_ids() -> None:
    assert sorted(["IDX-10", "IDX-2", "ARG-03"], key=coverage.sort_key) == ["ARG-03", "IDX-2", "IDX-10"]
