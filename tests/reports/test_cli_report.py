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


class Done(NamedTuple):
    code: int
    out: str
    err: str


def toolparity(*arguments: object, given: bytes = b"") -> Done:
    done = CliRunner().invoke(main, [str(one) for one in arguments], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: str, made: Run) -> Path:
    Path(path).write_bytes(results.write(made))
    return Path(path)


@pytest.mark.usefixtures("folder")
def test_results_are_printed_where_no_format_is_asked_for() -> None:
    done = toolparity("report", written("run.json", golden()))
    assert done.code == 0
    assert done.out.splitlines()[0] == "order could not be judged for mine in 4 cases"
    assert "mine breaks order in 10 cases (6 altered)" in done.out.splitlines()
    assert done.out.splitlines()[-1].startswith("35 cases, 69 verdicts in 12.3 s: ")
    assert done.err == ""


@pytest.mark.usefixtures("folder")
def test_each_format_is_written_to_its_path() -> None:
    made = golden()
    wanted = [argument for name in FORMATS for argument in (f"--{name}", f"out.{name}")]
    done = toolparity("report", written("run.json", made), *wanted)
    assert done == (0, "", "")
    for name in FORMATS:
        assert Path(f"out.{name}").read_bytes() == formats.render(name, Report(made)), name


@pytest.mark.usefixtures("folder")
def test_a_format_goes_to_standard_output_alone() -> None:
    path = written("run.json", golden())
    done = toolparity("report", path, "--json", "-")
    assert done.out.encode("utf-8") == path.read_bytes()
    done = toolparity("report", path, "--json", "-", "--markdown", "-")
    assert done.code == 2
    assert "only one format can be written to standard output" in done.err


@pytest.mark.usefixtures("folder")
def test_packed_results_and_those_of_standard_input_are_read() -> None:
    data = results.write(golden())
    Path("run.json.gz").write_bytes(gzip.compress(data))
    plain = toolparity("report", written("run.json", golden()))
    assert toolparity("report", "run.json.gz") == plain
    assert toolparity("report", "-", given=data) == plain


@pytest.mark.usefixtures("folder")
def test_standard_input_is_read_once() -> None:
    for option in ((), ("--compare",), ("--earlier",)):
        done = toolparity("report", "-", *option, "-", given=results.write(golden()))
        assert done.code == 2
        assert "standard input can be read only once" in done.err


@pytest.mark.usefixtures("folder")
def test_several_results_are_one_run() -> None:
    laws = [LawInfo("order", "The law order is kept.", "must")]
    kills = Run("1", "2026-01-01", {}, [], laws, [], [], kills=[Kill("swaps", "order", "It swaps.", {"order": 1})])
    first = written("first.json", run(result(verdict("fail")), result(verdict(), scenario="b")))
    second = written("second.json", replace(run(result(verdict())), date="2027"))
    done = toolparity("report", first, second, written("kills.json", kills))
    assert done.code == 0
    assert done.out.splitlines()[-1] == "2 cases, 2 verdicts in 24.7 s: 2 pass"
    assert "1 of 1 known-bad subjects fail the law written for them; 1 of 1 laws are needed" in done.out.splitlines()


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("pass", "fail", 1),
        ("pass", "expected", 1),
        ("pass", "error", 1),
        ("expected", "fail", 1),
        ("fail", "fail", 0),
        ("fail", "pass", 0),
        ("pass", "unsupported", 0),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_regression_and_nothing_else_exits_with_1(before: str, after: str, code: int) -> None:
    old, new = written("old.json", run(result(verdict(before)))), written("new.json", run(result(verdict(after))))
    assert toolparity("report", new).code == 0
    done = toolparity("report", new, "--compare", old)
    assert done.code == code
    assert done.out.startswith("What changed\n")
    quiet = toolparity("report", new, "--compare", old, "--markdown", "out.md")
    assert (quiet.code, quiet.out) == (code, "")
    assert "since the run of 2026-01-02T03:04:05+00:00" in quiet.err


@pytest.mark.usefixtures("folder")
def test_a_new_scenario_that_fails_does_not_count_as_a_regression() -> None:
    old = written("old.json", run(result(verdict())))
    new = written("new.json", run(result(verdict()), result(verdict("fail"), scenario="later")))
    done = toolparity("report", new, "--compare", old)
    assert done.code == 0
    assert "1 new case since" in done.out


@pytest.mark.usefixtures("folder")
def test_the_parts_of_an_old_run_are_compared_as_one() -> None:
    new = written("new.json", run(result(verdict()), result(verdict(), subject="yours")))
    mine, yours = written("a.json", run(result(verdict()))), written("b.json", run(result(verdict(), subject="yours")))
    done = toolparity("report", new, "--compare", mine, "--compare", yours)
    assert "nothing changed since" in done.out


@pytest.mark.usefixtures("folder")
def test_earlier_runs_are_given_to_the_page_by_their_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Report] = []
    monkeypatch.setattr(formats, "render", lambda name, report: given.append(report) or b"")  # type: ignore[func-returns-value]
    dates = ("2026-03", "2026-01", "2026-02")
    earlier = [a for date in dates for a in ("--earlier", written(f"{date}.json", replace(run(), date=date)))]
    toolparity("report", written("run.json", golden()), *earlier, "--html", "page.html")
    (report,) = given
    assert [one.date for one in report.earlier] == sorted(dates)


@pytest.mark.usefixtures("folder")
def test_results_without_a_case_are_an_error() -> None:
    done = toolparity("report", written("run.json", run()))
    assert done.code == 5
    assert done.err == "the files have no results: nothing ran\n"


GOOD = results.write(golden())
UNREADABLE = {
    "no JSON": (b"<html>", "not JSON, or incomplete"),
    "an empty file": (b" \n", "the file is empty"),
    "cut": (GOOD[: len(GOOD) // 2], "not JSON, or incomplete"),
    "cut, and packed": (gzip.compress(GOOD)[:-30], "end-of-stream"),
    "packed, and damaged": (b"\x1f\x8b\x08" + b"\0" * 40, "Error"),
    "a list": (b"[]", "not the results of a run"),
    "an object": (b'{"results": []}', "not the results of a run"),
    "a later format": (GOOD.replace(b"results/3", b"results/4", 1), "format 'toolparity-results/4' is not supported"),
    "an odd outcome": (GOOD.replace(b'"outcome":"fail"', b'"outcome":"fine"', 1), "Invalid enum value 'fine'"),
    "no text": (GOOD.replace(b"3.11.7", b"\xff\xfe", 1), "can't decode byte 0xff"),
    "nested": (GOOD.replace(b'"3.11.7"', b"[" * 100_000, 1), "nested too deep"),
    "a round before the first": (GOOD.replace(b'"round":0', b'"round":-1', 1), "Expected `int` >= 0"),
    "a member missing": (
        GOOD.replace(b'"environment":', b'"surroundings":', 1),
        "missing required field `environment`",
    ),
}


@pytest.mark.parametrize(
    "option", [(), ("run.json", "--compare"), ("run.json", "--earlier")], ids=["it", "old", "past"]
)
@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_read_is_one_line_with_its_place(name: str, option: tuple[str, ...]) -> None:
    data, why = UNREADABLE[name]
    written("run.json", golden())
    Path("bad.json").write_bytes(data)
    done = toolparity("report", *option, "bad.json")
    assert done.code == 4
    assert done.out == ""
    assert done.err.startswith("toolparity: bad.json: ")
    assert why.lower() in done.err.lower() or name == "packed, and damaged"
    assert done.err.count("\n") == 1


def test_missing_and_unwritable_files_are_errors(folder: Path) -> None:
    assert toolparity("report", folder).err.startswith(f"toolparity: {folder}: Is a directory")
    assert toolparity("report", "none.json").err.startswith("toolparity: none.json: No such file or directory")
    done = toolparity("report", written("run.json", golden()), "--markdown", "no/such/folder.md")
    assert done.code == 2
    assert "no/such/folder.md" in done.err


@pytest.mark.usefixtures("folder")
def test_check_writes_what_report_reads_and_shows_the_same() -> None:
    done = toolparity("check", "documented-goclaw", *FEW, "--json", "run.json", "--junit", "junit.xml")
    assert done.code == 1
    shown = toolparity("report", "run.json")
    assert shown.code == 0
    assert shown.out == done.out
    assert toolparity("report", "run.json", "--junit", "-").out.encode() == Path("junit.xml").read_bytes()


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("pass", 0), ("expected", 0), ("new", 0), ("fail", 1), ("stale", 3), ("error", 4), ("unsupported", 5)],
)
def test_check_exits_with_what_its_verdicts_deserve(outcome: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "run", lambda *_, **__: run(result(verdict(outcome))))
    assert toolparity("check", *FEW).code == code


@pytest.mark.usefixtures("folder")
def test_check_compares_with_an_earlier_run() -> None:
    toolparity("check", "documented-goclaw", *FEW, "--json", "now.json")
    now = results.read(Path("now.json").read_bytes())
    well = [replace(one, verdicts=[replace(v, outcome="pass", reason="") for v in one.verdicts]) for one in now.results]
    written("well.json", replace(now, results=well))
    assert toolparity("check", "documented-goclaw", *FEW, "--compare", "now.json").out.startswith(
        "What changed\nnothing changed since the run of "
    )
    done = toolparity("check", "documented-goclaw", *FEW, "--compare", "well.json")
    assert done.code == 1
    assert "REGRESSION documented-goclaw conservation parallel-three[openai.chat-plain-first]" in done.out
    assert toolparity("check", *FEW, "--compare", "none.json").code == 4
    for others in (("--compare", "now.json"), ("--earlier", "now.json"), ("normalizer",), ("--no-baseline",)):
        refused = toolparity("check", "--kill", *others)
        assert (refused.code, "--kill runs the known-bad subjects only" in refused.err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_check_prints_its_result_when_the_file_cannot_be_written() -> None:
    assert toolparity("check", *FEW, "--json", "no/such/folder.json").code == 2
    done = toolparity("check", *FEW, "--json", "/dev/full")
    assert done.code == 4
    assert done.out.splitlines()[-1].startswith("6 cases, 48 verdicts in ")
    assert "/dev/full" in done.err


@pytest.mark.usefixtures("folder")
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
    both = toolparity("report", "run.json", "kills.json")
    assert "Kill matrix:" in both.out
    assert "laws kept" in both.out
