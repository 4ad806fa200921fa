"""`toolparity report`: results rendered, compared and merged without running anything; and what `check` writes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from toolparity.cli import main
from toolparity.conformance.known_bad import known_bad
from toolparity.conformance.runner import kill, suite, survival
from toolparity.reports import formats, results
from toolparity.reports.formats import FORMATS
from toolparity.reports.results import Kill, LawInfo, Report, Run

from .golden import golden, result, run, verdict

#: A part of the suite that is quick, and that one of the shipped subjects fails.
FEW = ("--scenario", "parallel-three", "--wire", "openai.chat", "--mode", "plain", "--jobs", "1")
GOOD = results.write(golden())


class Done(NamedTuple):
    code: int
    out: str
    err: str


def toolparity(*arguments: object, given: bytes = b"") -> Done:
    done = CliRunner().invoke(main, [str(one) for one in arguments], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the commands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: str, made: Run) -> Path:
    Path(path).write_bytes(results.write(made))
    return Path(path)


def test_results_are_printed_if_no_format_is_selected() -> None:
    done = toolparity("report", written("run.json", golden()))
    lines = done.out.splitlines()
    assert (done.code, done.err, lines[0]) == (0, "", "stop could not be judged for mine in 6 cases")
    assert "7 of 7: mine breaks stop in 14 cases, order in 4" in lines
    assert lines[-1].startswith("35 cases, 69 verdicts in 12.3 s: ")
    Path("run.json.gz").write_bytes(gzip.compress(GOOD))
    assert toolparity("report", "run.json.gz") == toolparity("report", "-", given=GOOD) == done


def test_each_format_is_written_to_its_path_or_one_to_standard_output() -> None:
    path = written("run.json", golden())
    done = toolparity("report", path, *(option for name in FORMATS for option in (f"--{name}", f"out.{name}")))
    assert done == (0, "", "")
    for name in FORMATS:
        assert Path(f"out.{name}").read_bytes() == formats.render(name, Report(golden())), name
    assert toolparity("report", path, "--json", "-").out.encode("utf-8") == path.read_bytes()


def test_several_results_are_one_run() -> None:
    laws = [LawInfo("order", "The law order is kept.", "must")]
    kills = Run("1", "2026-01-01", {}, [], laws, [], [], kills=[Kill("swaps", "order", "It swaps.", {"order": 1})])
    first = written("first.json", run(result(verdict("fail")), result(verdict(), scenario="b")))
    second = written("second.json", replace(run(result(verdict())), date="2027"))
    done = toolparity("report", first, second, written("kills.json", kills))
    assert done.code == 0
    assert done.out.splitlines()[-1] == "2 cases, 2 verdicts in 24.7 s: 2 pass"
    assert "1 of 1 known-bad subjects fail the law written for them; 1 of 1 laws are needed" in done.out.splitlines()


def test_a_regression_and_nothing_else_exits_with_1() -> None:
    for before, after, code in (
        *(("pass", outcome, 1) for outcome in ("fail", "expected", "error")),
        ("expected", "fail", 1),
        ("fail", "fail", 0),
        ("fail", "pass", 0),
        ("pass", "unsupported", 0),
    ):
        old, new = written("old.json", run(result(verdict(before)))), written("new.json", run(result(verdict(after))))
        assert toolparity("report", new).code == 0
        done = toolparity("report", new, "--compare", old)
        assert (done.code, done.out[:13]) == (code, "What changed\n"), (before, after)
        quiet = toolparity("report", new, "--compare", old, "--markdown", "out.md")
        assert (quiet.code, quiet.out) == (code, "")
        assert "since the run of 2026-01-02T03:04:05+00:00" in quiet.err


def test_a_new_scenario_that_fails_does_not_count_as_a_regression() -> None:
    old = written("old.json", run(result(verdict())))
    new = written("new.json", run(result(verdict()), result(verdict("fail"), scenario="later")))
    done = toolparity("report", new, "--compare", old)
    assert (done.code, "1 new case since" in done.out) == (0, True)


def test_the_parts_of_an_old_run_are_compared_as_one() -> None:
    new = written("new.json", run(result(verdict()), result(verdict(), subject="yours")))
    mine, yours = written("a.json", run(result(verdict()))), written("b.json", run(result(verdict(), subject="yours")))
    assert "nothing changed since" in toolparity("report", new, "--compare", mine, "--compare", yours).out


def test_the_page_gets_earlier_runs_by_their_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Report] = []
    monkeypatch.setattr(formats, "render", lambda name, report: reports.append(report) or b"")  # type: ignore[func-returns-value]
    dates = ("2026-03", "2026-01", "2026-02")
    earlier = [a for date in dates for a in ("--earlier", written(f"{date}.json", replace(run(), date=date)))]
    toolparity("report", written("run.json", golden()), *earlier, "--html", "page.html")
    assert [[one.date for one in report.earlier] for report in reports] == [sorted(dates)]


#: Data, what the message contains.
UNREADABLE = [
    (b"<html>", "not JSON, or incomplete"),
    (b" \n", "the file is empty"),
    (GOOD[: len(GOOD) // 2], "not JSON, or incomplete"),
    (gzip.compress(GOOD)[:-30], "end-of-stream"),
    (b"\x1f\x8b\x08" + b"\0" * 40, ""),
    (b"[]", "not the results of a run"),
    (b'{"results": []}', "not the results of a run"),
    (b'{"format": "toolparity-results/1", "x": ' + b"[" * 100_000, "nested too deep"),
    (b'{"format": "toolparity-results/1", "date": "\\ud83d"}', "missing required field `toolparity`"),
    (GOOD.replace(b"results/3", b"results/4", 1), "format 'toolparity-results/4' is not supported"),
    (GOOD.replace(b'"outcome":"fail"', b'"outcome":"fine"', 1), "Invalid enum value 'fine'"),
    (GOOD.replace(b"3.11.7", b"\xff\xfe", 1), "can't decode byte 0xff"),
    (GOOD.replace(b'"3.11.7"', b"[" * 100_000, 1), "nested too deep"),
    (GOOD.replace(b'"round":0', b'"round":-1', 1), "Expected `int` >= 0"),
    (GOOD.replace(b'"seconds":12.345', b'"seconds":NaN', 1), "Expected `float` >= 0.0"),
    (GOOD.replace(b'"environment":', b'"surroundings":', 1), "missing required field `environment`"),
]


def test_unreadable_results_are_one_line_with_their_place() -> None:
    written("run.json", golden())
    for number, (data, message) in enumerate(UNREADABLE):
        Path("bad.json").write_bytes(data)
        for option in [(), ("run.json", "--compare"), ("run.json", "--earlier")][: 1 if number else 3]:
            done = toolparity("report", *option, "bad.json")
            assert (done.code, done.out, done.err.count("\n")) == (4, "", 1), message
            assert done.err.startswith("toolparity: bad.json: ")
            assert message.lower() in done.err.lower()


def test_input_and_output_that_cannot_be_used_are_errors(folder: Path) -> None:
    path = written("run.json", golden())
    for arguments, code, message in (
        ((written("none.json", run()),), 5, "the files have no results: nothing ran\n"),
        ((folder,), 4, f"toolparity: {folder}: Is a directory"),
        (("missing.json",), 4, "toolparity: missing.json: No such file or directory"),
        ((path, "--markdown", "no/such/folder.md"), 2, "no/such/folder.md"),
        ((path, "--json", "-", "--markdown", "-"), 2, "only one format can be written to standard output"),
        (("-", "-"), 2, "standard input can be read only once"),
        (("-", "--compare", "-"), 2, "standard input can be read only once"),
        (("-", "--earlier", "-"), 2, "standard input can be read only once"),
    ):
        done = toolparity("report", *arguments, given=GOOD)
        assert (done.code, message in done.err) == (code, True), (arguments, done)


def test_check_writes_what_report_reads_and_shows_the_same() -> None:
    done = toolparity("check", "documented-goclaw", *FEW, "--json", "run.json", "--junit", "junit.xml")
    assert (done.code, toolparity("report", "run.json").out) == (1, done.out)
    assert toolparity("report", "run.json", "--junit", "-").out.encode() == Path("junit.xml").read_bytes()


def test_each_outcome_of_a_check_has_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {"pass": 0, "expected": 0, "new": 0, "fail": 1, "stale": 3, "error": 4, "unsupported": 5}
    for outcome, code in codes.items():
        monkeypatch.setattr(suite, "run", lambda *_, outcome=outcome, **__: run(result(verdict(outcome))))
        assert toolparity("check", *FEW).code == code, outcome


def test_check_compares_with_an_earlier_run() -> None:
    toolparity("check", "documented-goclaw", *FEW, "--json", "now.json")
    now = results.read(Path("now.json").read_bytes())
    well = [replace(one, verdicts=[replace(v, outcome="pass", reason="") for v in one.verdicts]) for one in now.results]
    written("well.json", replace(now, results=well))
    same = toolparity("check", "documented-goclaw", *FEW, "--compare", "now.json")
    assert same.out.startswith("What changed\nnothing changed since the run of ")
    done = toolparity("check", "documented-goclaw", *FEW, "--compare", "well.json")
    assert done.code == 1
    assert "REGRESSION documented-goclaw conservation parallel-three[openai.chat-plain-first]" in done.out
    assert toolparity("check", *FEW, "--compare", "none.json").code == 4
    for others in (("--compare", "now.json"), ("--earlier", "now.json"), ("normalizer",), ("--no-baseline",)):
        refused = toolparity("check", "--kill", *others)
        assert (refused.code, "--kill runs the known-bad subjects only" in refused.err) == (2, True)


def test_check_prints_its_result_when_the_file_cannot_be_written() -> None:
    assert toolparity("check", *FEW, "--json", "no/such/folder.json").code == 2
    done = toolparity("check", *FEW, "--json", "/dev/full")
    assert (done.code, "/dev/full" in done.err) == (4, True)
    assert done.out.splitlines()[-1].startswith("6 cases, 54 verdicts in ")


def test_the_kill_matrix_is_results_beside_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dict(list(known_bad().items())[::10])
    monkeypatch.setattr(kill, "known_bad", lambda: few)
    monkeypatch.setattr(survival, "run", lambda case_filter, **options: None)
    done = toolparity("check", "--kill", *FEW, "--json", "kills.json")
    assert done.code == 1  # so few cases do not fail them all
    assert done.out == toolparity("report", "kills.json").out
    made = json.loads(Path("kills.json").read_text("utf-8"))
    assert [one["name"] for one in made["kills"]] == [one.name for one in few.values()]
    assert {"name", "law", "sentence", "by"} == {member for kill in made["kills"] for member in kill}
    toolparity("check", *FEW, "--json", "run.json")
    both = toolparity("report", "run.json", "kills.json").out
    assert ("Kill matrix:" in both, "laws kept" in both) == (True, True)
