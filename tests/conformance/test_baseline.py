"""Baselines and releases: an expected or a later failure may fail, and must not pass unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Ended
from msgspec.structs import replace

from toolparity.cassettes.cli import exits
from toolparity.cassettes.errors import InvalidScenario
from toolparity.cli import main
from toolparity.conformance.errors import InvalidBaseline
from toolparity.conformance.runner import baseline, release, status
from toolparity.conformance.runner.baseline import BaselineEntry, updated_entries
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.conformance.runner.release import ReleaseRequirements, read, release_file
from toolparity.conformance.runner.status import Known, apply
from toolparity.reports.results import Result, Verdict


def result(outcome: str, mode: str = "plain", law: str = "order", reason: str = "it broke") -> Result:
    return Result("mine", "parallel-three", "openai.chat", mode, "all", [Verdict(law, outcome, reason)])  # type: ignore[arg-type]


def outcomes(results: list[Result], *entries: BaselineEntry, known: Known | None = None) -> list[str]:
    applied = apply(results, known or Known(expected=list(entries)))
    return [verdict.outcome for one in applied for verdict in one.verdicts]


def test_a_failure_is_expected_only_if_an_entry_names_it() -> None:
    entry = BaselineEntry("order", scenario="parallel-*", reason="fixed in 2.1")
    (found,) = apply([result("fail")], Known(expected=[entry]))
    assert (found.verdicts[0].outcome, found.verdicts[0].reason) == ("expected", "it broke (expected: fixed in 2.1)")
    assert outcomes([result("fail")], BaselineEntry("order", mode="stream"), BaselineEntry("usage")) == ["fail"]


def test_an_expected_failure_has_the_effect_of_its_entry() -> None:
    entry, unpinned = BaselineEntry("order", effect="altered"), BaselineEntry("order")
    for effect, outcome in (("altered", "expected"), ("lost", "fail")):
        failed = replace(result("fail"), verdicts=[Verdict("order", "fail", "it broke", effect=effect)])  # type: ignore[arg-type]
        assert (outcomes([failed], entry), outcomes([failed], unpinned)) == ([outcome], ["expected"])
        assert [one.effect for one in updated_entries([failed], [entry])] == [effect]
    assert outcomes([result("pass")], entry) == ["stale"]


def test_a_file_joins_entries_that_differ_in_one_member(tmp_path: Path) -> None:
    scenarios, laws = ("single-call", "two-rounds"), ("usage", "stop")
    known = [BaselineEntry(law, scenario, effect="misreported", reason="x") for scenario in scenarios for law in laws]
    known += [BaselineEntry("usage", "parallel-*"), BaselineEntry("stop", "single-call", link="https://example.org")]
    baseline.write(file := tmp_path / "b.yaml", [*known, *known])
    assert ({*baseline.read(file)}, file.read_text().count("check:")) == ({*known}, 3)
    assert "scenario: [single-call, two-rounds]" in file.read_text()


def test_an_entry_is_stale_only_where_all_that_it_names_passes() -> None:
    entry = BaselineEntry("order", reason="a bug")
    assert outcomes([result("pass"), result("fail", "stream")], entry) == ["pass", "expected"]
    assert outcomes([result("pass"), result("pass", "stream")], entry) == ["stale", "pass"]
    assert outcomes([result("unsupported")], entry) == ["unsupported"]
    assert outcomes([], entry) == []
    few = CaseFilter(("parallel-three",), wires=("openai.chat",))
    for named, outcome in ((entry, "pass"), (BaselineEntry("order", "parallel-three", "openai.chat"), "stale")):
        (found,) = apply([result("pass")], Known(expected=[named]), few.left_out())
        assert found.verdicts[0].outcome == outcome


def test_an_update_keeps_entries_that_still_hold_and_writes_short_reasons_for_others() -> None:
    entry = BaselineEntry("order", scenario="parallel-*", reason="a bug", link="https://example.org/1")
    known = [entry, BaselineEntry("usage")]
    found = [*apply([result("fail")], Known(expected=known)), result("fail", law="stop"), result("new", law="replay")]
    assert [(entry.check, entry.reason, entry.link) for entry in updated_entries(found, known)] == [
        ("order", "a bug", "https://example.org/1"),
        ("stop", "it broke", ""),
        ("replay", "it broke", ""),
    ]
    few = CaseFilter(("parallel-three",), wires=("openai.chat",)).left_out()
    kept, new = updated_entries([result("fail", law="stop"), result("fail", "stream", law="stop")], known, few)[1:]
    assert (kept.check, new) == (
        "usage",
        BaselineEntry("stop", "parallel-three", "openai.chat", policy="all", reason="it broke"),
    )
    error = "the body was not read: ValidationError: 3 errors for Thing, at https://errors.example.org"
    for reason, short in ((error, "the body was not read: ValidationError"), ("2 calls: a and b", "2 calls: a and b")):
        assert [one.reason for one in updated_entries([result("fail", reason=reason)], [])] == [short]


def test_an_invalid_baseline_is_refused_with_its_file_and_entry(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    for text in ("check: order", "- {chekc: order}", "- [", "\x00"):
        file.write_text(text)
        with pytest.raises(InvalidBaseline, match=r"b\.yaml"):
            baseline.read(file)
    for entry, reason in {
        "check: nolaw": "no law is named 'nolaw'",
        "check: order, scenario: paralel-*": "no scenario is named 'paralel-\\*'",
        "check: order, surface: openai": "no surface is named 'openai'",
        "check: order, mode: streamed": "no mode is named 'streamed'",
        "check: order, policy: last": "no policy is named 'last'",
    }.items():
        file.write_text(f"- {{check: '*', scenario: 'parallel-*'}}\n- {{{entry}}}\n")
        with pytest.raises(InvalidBaseline, match=f"entry 2 can never match: {reason}"):
            baseline.read(file)


def check(*options: str, subject: str = "documented-goclaw") -> Ended:
    given = ["check", subject, "--scenario", "parallel-three", "--wire", "openai.chat", "--jobs", "1", "--once"]
    return CliRunner().invoke(main, [*given, *options])


def test_the_command_goes_from_red_to_written_to_green_to_stale(tmp_path: Path) -> None:
    file = tmp_path / "known.yaml"
    with_file = ("--baseline", str(file))
    missing = check(*with_file)
    assert (missing.exit_code, "the baseline does not exist" in missing.output) == (4, True)
    file.write_text("[]")
    assert check(*with_file).exit_code == 1
    file.unlink()
    assert check(*with_file, "--update-baseline").exit_code == 0
    assert check(*with_file).exit_code == 0
    named = check(*with_file, "--fail-on", "error,fail,stale,new,expected")
    assert (named.exit_code, "the run fails on: 28 expected" in named.stderr) == (1, True)
    assert check("--no-baseline").exit_code == 1
    assert check(*with_file, "--no-baseline").exit_code == 2
    fixed = check(*with_file, subject="normalizer")
    assert (fixed.exit_code, "remove the entry from the baseline" in fixed.output) == (3, True), fixed.output
    assert check("--baseline", f"documented-goclaw={file}", *with_file, "normalizer").exit_code == 3


def test_the_named_outcomes_decide_the_exit_code_and_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "known.yaml"
    file.write_text("- {check: order, scenario: parallel-three, surface: openai.chat}\n")  # the subject keeps the order
    for options, code, message in (
        ((), exits.FAILED_AND_STALE, "the run fails on: 24 fail, 1 stale"),
        (("--fail-on", "fail"), exits.FAILED, "the run fails on: 24 fail\n"),
        (("--fail-on", "error,stale"), exits.STALE_BASELINE, "the run fails on: 1 stale\n"),
        (("--fail-on", "stale", "--fail-on", "fail"), exits.FAILED_AND_STALE, "the run fails on: 24 fail, 1 stale"),
        (("--fail-on", "error"), exits.ALL_WELL, ""),
        (("--fail-on", "fial"), exits.USAGE, "did you mean fail"),
        (("--fail-on", "fail,"), exits.USAGE, "unknown outcome: ''"),
        (("--fail-on", "pass"), exits.USAGE, "unknown outcome: 'pass'"),
        (("--fail-on", "fail", "--update-baseline"), exits.USAGE, "cannot be combined"),
    ):
        ended = check("--baseline", str(file), *options)
        assert (ended.exit_code, message in ended.stderr) == (code, True), ended.output
        assert ("the run fails on" in ended.stderr) == (code not in (exits.ALL_WELL, exits.USAGE))


@pytest.fixture
def _frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that requires one law of one scenario."""
    cases = frozenset((("single-call", "openai.chat", "plain"),))
    monkeypatch.setattr(release, "required", lambda: ReleaseRequirements("0.0.1", frozenset(("conservation",)), cases))


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
    first, required = result("fail"), replace(result("fail"), scenario="single-call")
    both = replace(required, verdicts=[Verdict("conservation", "fail", "why"), Verdict("order", "pass")])
    now, unreleased = status.known("mine", []), status.known("mine", [], unreleased=True)
    assert outcomes([first, required, both], known=now) == ["new", "new", "fail", "pass"]
    assert outcomes([first], known=unreleased) == ["fail"]
    assert outcomes([result("expected")], known=now) == ["expected"]


@pytest.mark.usefixtures("_frozen")
def test_new_failures_are_reported_and_end_with_0_but_severe_ones_only_with_a_baseline(tmp_path: Path) -> None:
    expected = tmp_path / "expected.yaml"
    expected.write_text("- {check: usage, scenario: single-call, reason: known}\n", "utf-8")
    ended = check("--baseline", str(expected))
    assert (ended.exit_code, " new" in ended.output.splitlines()[-1]) == (0, True), ended.output
    first = check()
    assert (first.exit_code, first.output.splitlines()[-1]) == (1, "the run fails on: 24 fail")
    assert check("--unreleased").exit_code == 1
