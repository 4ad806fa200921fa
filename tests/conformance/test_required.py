"""A release freezes what it requires: what came later is new, is reported, and fails no one."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from toolparity.cassettes.errors import InvalidScenario
from toolparity.cli import main
from toolparity.conformance.runner import release
from toolparity.conformance.runner.release import ReleaseRequirements, read, release_file
from toolparity.conformance.runner.status import apply, known
from toolparity.reports.results import Result, Verdict

BROKEN = Result("mine", "parallel-three", "openai.chat", "plain", "all", [Verdict("order", "fail", "why")])


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> ReleaseRequirements:
    """A release that knew of no scenario but one."""
    known = ReleaseRequirements(
        "0.0.1", frozenset(("conservation",)), frozenset((("single-call", "openai.chat", "plain"),))
    )
    monkeypatch.setattr(release, "required", lambda: known)
    return known


def downgrade_new(results: list[Result], *, unreleased: bool = False) -> list[Result]:
    return apply(results, known("mine", [], unreleased=unreleased))


def outcomes(results: list[Result]) -> list[str]:
    return [verdict.outcome for result in results for verdict in result.verdicts]


def test_the_file_is_that_of_this_release_and_nothing_that_it_requires_is_gone() -> None:
    known = release.required()
    assert known.release
    assert len(known.cases) > 1000
    assert known == read(release.FILE.read_text("utf-8"))


def test_what_the_file_would_be_now_reads_back_to_everything_that_there_is() -> None:
    now = read(release_file())
    assert now.cases >= release.required().cases
    assert now.laws >= release.required().laws


def test_what_a_release_requires_cannot_vanish_without_a_word() -> None:
    with pytest.raises(InvalidScenario, match=r"release 0\.1\.0 requires .* removed: no-such openai\.chat plain"):
        read("release 0.1.0\nlaws order\nno-such openai.chat/plain\n")
    with pytest.raises(InvalidScenario, match="requires cases or laws that were removed: honesty"):
        read("release 0.1.0\nlaws honesty\n")


def test_a_failure_where_nothing_is_required_yet_is_new(frozen: ReleaseRequirements) -> None:
    law = replace(BROKEN, scenario="single-call")
    required_one = replace(law, verdicts=[Verdict("conservation", "fail", "why"), Verdict("order", "pass")])
    assert outcomes(downgrade_new([BROKEN])) == ["new"]
    assert outcomes(downgrade_new([law])) == ["new"]
    assert outcomes(downgrade_new([required_one])) == ["fail", "pass"]
    assert outcomes(downgrade_new([BROKEN], unreleased=True)) == ["fail"]


def test_an_expected_failure_stays_expected(frozen: ReleaseRequirements) -> None:
    assert outcomes(downgrade_new([replace(BROKEN, verdicts=[Verdict("order", "expected")])])) == ["expected"]


def test_new_failures_are_told_and_turn_nobody_red(frozen: ReleaseRequirements) -> None:
    given = ["check", "documented-goclaw", "--scenario", "parallel-three", "--wire", "openai.chat", "--jobs", "1"]
    run = CliRunner().invoke(main, given)
    assert run.exit_code == 0, run.output
    assert " new" in run.output.splitlines()[-1]
    assert CliRunner().invoke(main, [*given, "--unreleased"]).exit_code == 1
