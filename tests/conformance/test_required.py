"""A release freezes what it requires: a later case is new, is reported, and fails no run."""

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
def _frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that requires one law of one scenario."""
    cases = frozenset((("single-call", "openai.chat", "plain"),))
    monkeypatch.setattr(release, "required", lambda: ReleaseRequirements("0.0.1", frozenset(("conservation",)), cases))


def outcomes(result: Result, *, unreleased: bool = False) -> list[str]:
    (applied,) = apply([result], known("mine", [], unreleased=unreleased))
    return [verdict.outcome for verdict in applied.verdicts]


def test_the_file_of_the_release_reads_back_and_everything_that_it_requires_exists() -> None:
    required, now = release.required(), read(release_file())
    assert required == read(release.FILE.read_text("utf-8"))
    assert len(required.cases) > 1000
    assert (now.cases >= required.cases, now.laws >= required.laws) == (True, True)
    with pytest.raises(InvalidScenario, match=r"release 0\.1\.0 requires .* removed: no-such openai\.chat plain"):
        read("release 0.1.0\nlaws order\nno-such openai.chat/plain\n")
    with pytest.raises(InvalidScenario, match="requires cases or laws that were removed: honesty"):
        read("release 0.1.0\nlaws honesty\n")


@pytest.mark.usefixtures("_frozen")
def test_a_failure_that_the_release_does_not_require_is_new_and_an_expected_one_stays() -> None:
    same_scenario = replace(BROKEN, scenario="single-call")
    required = replace(same_scenario, verdicts=[Verdict("conservation", "fail", "why"), Verdict("order", "pass")])
    assert outcomes(BROKEN) == outcomes(same_scenario) == ["new"]
    assert outcomes(required) == ["fail", "pass"]
    assert outcomes(BROKEN, unreleased=True) == ["fail"]
    assert outcomes(replace(BROKEN, verdicts=[Verdict("order", "expected")])) == ["expected"]


@pytest.mark.usefixtures("_frozen")
def test_new_failures_are_reported_and_end_with_0() -> None:
    given = ["check", "documented-goclaw", "--scenario", "parallel-three", "--wire", "openai.chat", "--jobs", "1"]
    run = CliRunner().invoke(main, given)
    assert (run.exit_code, " new" in run.output.splitlines()[-1]) == (0, True), run.output
    assert CliRunner().invoke(main, [*given, "--unreleased"]).exit_code == 1
