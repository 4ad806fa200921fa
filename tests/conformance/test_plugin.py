"""The suite in another project's repository, by pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from tests.support import nested_pytest
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.runner.release import required
from toolparity.normalizer.policies import POLICIES
from toolparity.reports import results

from .pages import PLUGIN

pytestmark = pytest.mark.service("conformance/plugin", "toolparity/pytest_plugin.py")

#: The forms of a scenario, plain and streamed on each surface, and the cases of two scenarios under each policy.
FORMS = len(SURFACES) * 2
CASES = 2 * FORMS * len(POLICIES)
#: The forms that the last release requires. Failures of the others are new.
REQUIRED = sum(scenario == "parallel-three" for scenario, *_ in required().cases)
#: One wire, for runs with failures: its forms of a scenario, and the required ones.
ONE_WIRE = ("--parity-wire", "openai.chat")
FORMS_OF_ONE = sum(surface.wire == "openai.chat" for surface in SURFACES.values()) * 2
REQUIRED_OF_ONE = sum(
    scenario == "parallel-three" and SURFACES[surface].wire == "openai.chat"
    for scenario, surface, *_ in required().cases
)
GOOD = """
from toolparity.conformance.subjects.reference import Reference

class Subject(Reference):
    name = "mine"
    claims = frozenset({"stream", "select"})

    def read(self, ask):
        return SPOIL(super().read(ask))

def SPOIL(given):
    return given
"""
BAD = GOOD.replace("    return given\n", "    given['log'] = []\n    return given\n")


def run(folder: Path, *args: str) -> nested_pytest.Ended:
    """pytest in its own folder, with nothing of this project's settings."""
    return nested_pytest.run(folder, *args, XDG_CACHE_HOME=str(folder))


def separate(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The same in a separate process, with the plug-ins that are installed."""
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "XDG_CACHE_HOME": str(folder)}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), *PLUGIN, *args]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(GOOD)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.toolparity]\nsubject = "mine:Subject"\nscenarios = ["parallel-three", "text-only"]\n'
    )
    return tmp_path


def test_a_subject_that_keeps_the_laws_gives_a_green_run(repository: Path) -> None:
    ended = run(repository, "-q", "--parity-policy", "first")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{2 * FORMS} passed" in ended.stdout
    chosen = ("-k", "parallel-three and first and anthropic", "-m", "parity_stream")
    ended = run(repository, "--collect-only", "-q", *chosen)
    assert "parallel-three[anthropic.messages-stream-first]" in ended.stdout
    assert f"1/{CASES} tests collected ({CASES - 1} deselected)" in ended.stdout


def test_a_subject_that_drops_calls_silently_gives_a_red_run_with_the_reason(repository: Path) -> None:
    (repository / "mine.py").write_text(BAD)
    ended = run(repository, "-q", "-k", "parallel-three", *ONE_WIRE)
    assert ended.returncode == 1
    assert f"{REQUIRED_OF_ONE} failed, {FORMS_OF_ONE * (len(POLICIES) - 1)} passed" in ended.stdout
    assert "dropped-warned: lost: 2 of 3 calls were dropped without a warning" in ended.stdout
    assert "the law:  " in ended.stdout
    assert "again:    toolparity check mine:Subject --scenario parallel-three" in ended.stdout


def test_a_known_failure_is_expected_and_a_fixed_one_fails_the_run(repository: Path) -> None:
    (repository / "known.yaml").write_text("- {check: dropped-warned, scenario: parallel-*, reason: known here}\n")
    (repository / "mine.py").write_text(BAD)
    ended = run(repository, "-q", "-rx", "--parity-baseline", "known.yaml", *ONE_WIRE)
    assert ended.returncode == 0, ended.stdout
    assert f"{FORMS_OF_ONE} xfailed" in ended.stdout
    assert "known here" in ended.stdout
    few = ("-q", "-k", "parallel-three", "--parity-surface", "openai.chat")
    tolerant = run(repository, *few, "--parity-fail-on", "error,stale")
    assert (tolerant.returncode, " xfailed" in tolerant.stdout) == (0, True), tolerant.stdout
    assert run(repository, *few, "--parity-baseline", "known.yaml", "--parity-fail-on", "expected").returncode == 1
    (repository / "mine.py").write_text(GOOD)
    ended = run(repository, "-q", "--parity-baseline", "known.yaml", "--parity-policy", "first", *ONE_WIRE)
    assert ended.returncode == 1
    assert "remove the entry from the baseline" in ended.stdout
    settings = (repository / "pyproject.toml").read_text()
    (repository / "pyproject.toml").write_text(settings + 'fail_on = ["error"]\n')
    (repository / "mine.py").write_text(BAD)
    assert run(repository, *few).returncode == 0


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('subjcet = "mine:Subject"', "unknown: subjcet; known: subject, subjects, baseline,"),
        ('subject = "nowhere:Subject"', "nowhere:Subject cannot be imported"),
        ('subject = ["mine:Subject"]', "subject must be a string: ['mine:Subject']"),
        ('subjects = "mine:Subject"', "subjects must be a list of strings: 'mine:Subject'"),
        ('subject = "mine:Subject"\nscenarios = [1]', "scenarios must be a list of strings: [1]"),
        ('subject = "mine:Subject"\nunreleased = 1', "unreleased must be true or false: 1"),
        ('subject = "exec:/nowhere/node subject.mjs"', "/nowhere/node cannot be started"),
        ('subject = "mine:Subject"\nfail_on = ["fial"]', "unknown outcome: 'fial'; known: error, fail,"),
        ('subject = "litellm"', "toolparity subjects install litellm"),
        ("subject = ", "Invalid value"),
    ],
)
def test_wrong_settings_are_an_error_and_not_a_green_run(repository: Path, settings: str, message: str) -> None:
    (repository / "pyproject.toml").write_text(f"[tool.toolparity]\n{settings}\n")
    ended = run(repository)
    assert ended.returncode == 4
    assert message in ended.stderr


def test_a_run_without_a_case_is_not_green(repository: Path) -> None:
    assert run(repository, "--parity-scenario", "no-such-scenario").returncode == 5
    (repository / "mine.py").write_text(GOOD.replace('{"stream", "select"}', "()"))
    ended = run(repository, "-q", "-rs", "--parity-mode", "stream")
    assert f"{CASES // 2} skipped" in ended.stdout
    assert "the subject does not claim to read streams" in ended.stdout


def test_without_a_subject_the_plugin_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    ended = separate(tmp_path, "-q")
    assert ended.returncode == 0
    assert "1 passed" in ended.stdout


def report(folder: Path, *args: str) -> results.Run:
    """The results of a run, without the members that differ from run to run."""
    (separate if "-n" in args else run)(folder, "-q", "--parity-report", "run.json", *args)
    ran = results.read((folder / "run.json").read_bytes())
    timeless = [replace(one, seconds=0) for one in ran.results]
    return replace(
        ran, date="", seconds=0, results=timeless, subjects=[replace(one, seconds=0) for one in ran.subjects]
    )


@pytest.mark.thorough
def test_cases_run_in_several_processes_and_give_the_same_results(repository: Path) -> None:
    (repository / "mine.py").write_text(BAD)
    one = report(repository, "--junit-xml", "one.xml")
    assert report(repository, "--junit-xml", "two.xml", "-n", "2") == one
    assert len(one.results) == CASES
    assert (one.count("fail"), one.count("new")) == (REQUIRED, FORMS - REQUIRED)
    assert {result.called for result in one.results} == {"mine:Subject"}
    roots = [ElementTree.parse(repository / name).getroot() for name in ("one.xml", "two.xml")]
    names = [sorted(str(case.get("name")) for case in root.iter("testcase")) for root in roots]
    assert names[0] == names[1] == sorted(result.case for result in one.results)
    for root in roots:
        assert [suite.get("failures") for suite in root.iter("testsuite")] == [str(REQUIRED)]


def test_results_are_those_of_the_command(repository: Path) -> None:
    from click.testing import CliRunner

    from toolparity.cli import main

    mine = report(repository, "--parity-subject", "documented-goclaw", "--parity-wire", "openai.chat")
    assert mine.count("fail") > 0
    chosen = ("--scenario", "parallel-three", "--scenario", "text-only", "--wire", "openai.chat")
    file = repository / "check.json"
    assert CliRunner().invoke(main, ["check", "documented-goclaw", *chosen, "--json", str(file)]).exit_code == 1
    its = results.read(file.read_bytes())
    judged, expected = ([(one.case, one.verdicts, one.rounds) for one in ran.results] for ran in (its, mine))
    assert judged == expected
    assert its == replace(mine, date=its.date, seconds=its.seconds, results=its.results, subjects=its.subjects)


@pytest.mark.thorough
def test_a_run_of_single_files_does_not_run_the_suite_beside_them(repository: Path) -> None:
    (repository / "tests").mkdir()
    (repository / "tests" / "test_own.py").write_text("def test_own():\n    pass\n")
    file = run(repository, "tests/test_own.py")
    assert "1 passed" in file.stdout
    assert "toolparity: mine:Subject (skipped, because single files were selected)" in file.stdout
    for collected, *args in (
        (1, "tests/test_own.py::test_own"),
        (CASES + 1, "tests"),
        (CASES + 1, "tests/test_own.py", "--parity-subject", "mine:Subject"),
    ):
        listed = run(repository, "-q", "--collect-only", *map(str, args)).stdout
        assert re.search(rf"^{collected} tests? collected", listed, re.MULTILINE)


def test_the_cases_of_several_subjects_are_distinguished(repository: Path) -> None:
    subjects = ("--parity-subject", "mine:Subject", "--parity-subject", "documented-goclaw")
    chosen = ("--parity-scenario", "text-only", "--parity-surface", "xai.grpc")
    ended = run(repository, "-q", "--collect-only", *chosen, *subjects)
    assert "mine:text-only[xai.grpc-plain-first]" in ended.stdout
    assert "documented-goclaw:text-only[xai.grpc-plain-first]" in ended.stdout
    assert "12 tests collected" in ended.stdout
