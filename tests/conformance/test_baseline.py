"""Baselines: what is expected to fail may fail, and must not pass unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from toolparity.cassettes.cli import exits
from toolparity.cli import main
from toolparity.conformance.errors import InvalidBaseline
from toolparity.conformance.runner import baseline
from toolparity.conformance.runner.baseline import BaselineEntry, updated_entries
from toolparity.conformance.runner.status import Known, apply
from toolparity.reports.results import Result, Verdict

CHECK = ["check", "documented-goclaw", "--scenario", "parallel-three", "--wire", "openai.chat", "--jobs", "1", "--once"]


def result(outcome: str, mode: str = "plain", law: str = "order", reason: str = "it broke") -> Result:
    return Result("mine", "parallel-three", "openai.chat", mode, "all", [Verdict(law, outcome, reason)])  # type: ignore[arg-type]


def apply_baseline(results: list[Result], entries: list[BaselineEntry]) -> list[Result]:
    return apply(results, Known(expected=entries))


def outcomes(results: list[Result]) -> list[str]:
    return [verdict.outcome for result in results for verdict in result.verdicts]


def test_a_failure_that_an_entry_names_is_expected_and_says_why() -> None:
    (found,) = apply_baseline([result("fail")], [BaselineEntry("order", scenario="parallel-*", reason="fixed in 2.1")])
    assert (found.verdicts[0].outcome, found.verdicts[0].reason) == ("expected", "it broke (expected: fixed in 2.1)")


def test_another_failure_is_not_expected() -> None:
    assert outcomes(
        apply_baseline([result("fail")], [BaselineEntry("order", mode="stream"), BaselineEntry("usage")])
    ) == ["fail"]


def test_an_entry_is_stale_only_where_all_that_it_names_passes() -> None:
    entry = BaselineEntry("order", reason="a bug")
    assert outcomes(apply_baseline([result("pass"), result("fail", "stream")], [entry])) == ["pass", "expected"]
    assert outcomes(apply_baseline([result("pass"), result("pass", "stream")], [entry])) == ["stale", "pass"]
    assert outcomes(apply_baseline([result("unsupported")], [entry])) == ["unsupported"]
    assert outcomes(apply_baseline([], [entry])) == []


def test_an_update_keeps_entries_that_still_hold_with_their_reasons_and_takes_out_the_others() -> None:
    known = [
        BaselineEntry("order", scenario="parallel-*", reason="a bug", link="https://example.org/1"),
        BaselineEntry("usage"),
    ]
    found = [*apply_baseline([result("fail")], known), result("fail", law="stop"), result("new", law="replay")]
    assert [(entry.check, entry.reason, entry.link) for entry in updated_entries(found, known)] == [
        ("order", "a bug", "https://example.org/1"),
        ("stop", "it broke", ""),
        ("replay", "it broke", ""),
    ]


def test_an_entry_that_is_written_says_of_an_error_no_more_than_its_type() -> None:
    told = "the body was not read: ValidationError: 3 errors for Thing, at https://errors.example.org"
    (entry,) = updated_entries([result("fail", reason=told)], [])
    assert entry.reason == "the body was not read: ValidationError"
    (entry,) = updated_entries([result("fail", reason="2 calls: a and b")], [])
    assert entry.reason == "2 calls: a and b"


def test_what_is_no_baseline_says_where(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    for text in ("check: order", "- {chekc: order}", "- [", "\x00"):
        file.write_text(text)
        with pytest.raises(InvalidBaseline, match=r"b\.yaml"):
            baseline.read(file)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("check: nolaw", "no law is named 'nolaw'"),
        ("check: order, scenario: paralel-*", "no scenario is named 'paralel-\\*'"),
        ("check: order, surface: openai", "no surface is named 'openai'"),
        ("check: order, mode: streamed", "no mode is named 'streamed'"),
        ("check: order, policy: last", "no policy is named 'last'"),
    ],
)
def test_an_entry_that_can_never_match_is_refused(tmp_path: Path, entry: str, reason: str) -> None:
    file = tmp_path / "b.yaml"
    file.write_text(f"- {{check: '*', scenario: 'parallel-*'}}\n- {{{entry}}}\n")
    with pytest.raises(InvalidBaseline, match=f"entry 2 can never match: {reason}"):
        baseline.read(file)


def test_the_command_goes_from_red_to_written_to_green_to_stale(tmp_path: Path) -> None:
    file = tmp_path / "known.yaml"
    told = ["--baseline", str(file)]
    missing = CliRunner().invoke(main, [*CHECK, *told])
    assert missing.exit_code == 4
    assert "the baseline does not exist" in missing.output
    file.write_text("[]")
    assert CliRunner().invoke(main, [*CHECK, *told]).exit_code == 1
    file.unlink()
    assert CliRunner().invoke(main, [*CHECK, *told, "--update-baseline"]).exit_code == 0
    assert CliRunner().invoke(main, [*CHECK, *told]).exit_code == 0
    assert CliRunner().invoke(main, [*CHECK, "--no-baseline"]).exit_code == 1
    mended = CliRunner().invoke(main, ["check", "normalizer", *CHECK[2:], *told])
    assert mended.exit_code == 3, mended.output
    assert "remove the entry from the baseline" in mended.output
    assert CliRunner().invoke(main, [*CHECK, *told, "--no-baseline"]).exit_code == 2


def test_nothing_run_is_never_green() -> None:
    assert CliRunner().invoke(main, ["check", "--scenario", "no-such-thing"]).exit_code == 2
    assert CliRunner().invoke(main, ["check", "anthropic-sdk", "--wire", "openai.chat", "--jobs", "1"]).exit_code == 5


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ([], exits.FAILED_AND_STALE, "the run fails on: 24 fail, 1 stale"),
        (["--fail-on", "fail"], exits.FAILED, "the run fails on: 24 fail\n"),
        (["--fail-on", "error,stale"], exits.STALE_BASELINE, "the run fails on: 1 stale\n"),
        (["--fail-on", "stale", "--fail-on", "fail"], exits.FAILED_AND_STALE, "the run fails on: 24 fail, 1 stale"),
        (["--fail-on", "error"], exits.ALL_WELL, ""),
    ],
)
def test_the_named_outcomes_decide_the_exit_code_and_are_counted(
    options: list[str], code: int, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "known.yaml"
    file.write_text("- {check: order, scenario: parallel-three}\n")  # the subject keeps the order
    ended = CliRunner().invoke(main, [*CHECK, "--baseline", str(file), *options])
    assert ended.exit_code == code, ended.output
    assert told in ended.stderr
    assert ("the run fails on" in ended.stderr) == bool(code)


def test_a_known_failure_fails_the_run_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "known.yaml"
    told = [*CHECK, "--baseline", str(file)]
    assert CliRunner().invoke(main, [*told, "--update-baseline"]).exit_code == 0
    assert CliRunner().invoke(main, told).exit_code == 0
    named = CliRunner().invoke(main, [*told, "--fail-on", "error,fail,stale,new,expected"])
    assert named.exit_code == exits.FAILED
    assert "the run fails on: 26 expected" in named.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--fail-on", "fial"], "did you mean fail"),
        (["--fail-on", "fail,"], "unknown outcome: ''"),
        (["--fail-on", "pass"], "unknown outcome: 'pass'"),
        (["--fail-on", "fail", "--update-baseline"], "cannot be combined"),
    ],
)
def test_outcomes_that_cannot_fail_a_run_are_a_usage_error(options: list[str], told: str) -> None:
    ended = CliRunner().invoke(main, [*CHECK, *options])
    assert ended.exit_code == exits.USAGE
    assert told in ended.stderr
