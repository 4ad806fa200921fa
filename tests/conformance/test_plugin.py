"""The suite in somebody else's repository, by pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = """
from conformance.subjects.reference import Reference

class Subject(Reference):
    name = "mine"
    claims = frozenset({"stream", "select"})

    def read(self, ask):
        return SPOIL(super().read(ask))

def SPOIL(given):
    return given
"""
BAD = GOOD.replace("    return given\n", "    given['log'] = []\n    return given\n")


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder of its own, with nothing of this project's settings."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), *PLUGIN, *args]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


PLUGIN = (
    ["-p", "conformance.pytest_plugin"]
    if "toolparity"
    not in {entry.name for entry in __import__("importlib.metadata").metadata.entry_points(group="pytest11")}
    else []
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(GOOD)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.toolparity]\nsubject = "mine:Subject"\nscenarios = ["parallel-three", "text-only"]\n'
    )
    return tmp_path


def test_a_subject_that_keeps_the_laws_gives_a_green_run(repository: Path) -> None:
    ended = run(repository, "-q")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "72 passed" in ended.stdout


def test_cases_have_ids_that_a_person_can_choose_by(repository: Path) -> None:
    ended = run(
        repository, "--collect-only", "-q", "-k", "parallel-three and first and anthropic", "-m", "parity_stream"
    )
    assert "parallel-three[anthropic.messages-stream-first]" in ended.stdout
    assert "1/72 tests collected (71 deselected)" in ended.stdout


def test_a_subject_that_drops_in_silence_gives_a_red_run_that_says_so(repository: Path) -> None:
    (repository / "mine.py").write_text(BAD)
    ended = run(repository, "-q", "-k", "parallel-three")
    assert ended.returncode == 1
    assert "12 failed, 24 passed" in ended.stdout
    assert "dropped-warned: 2 of 3 calls were dropped in silence" in ended.stdout
    assert "toolparity check mine --scenario parallel-three" in ended.stdout


def test_a_known_failure_is_expected_and_a_mended_one_fails_the_run(repository: Path) -> None:
    (repository / "known.yaml").write_text("- {check: dropped-warned, reason: known here}\n")
    (repository / "mine.py").write_text(BAD)
    ended = run(repository, "-q", "-rx", "--parity-baseline", "known.yaml")
    assert ended.returncode == 0, ended.stdout
    assert "12 xfailed" in ended.stdout
    assert "known here" in ended.stdout
    (repository / "mine.py").write_text(GOOD)
    ended = run(repository, "-q", "--parity-baseline", "known.yaml", "--parity-policy", "first")
    assert ended.returncode == 1
    assert "take it out of the baseline" in ended.stdout


def test_settings_that_are_wrong_are_an_error_and_no_green_run(repository: Path) -> None:
    (repository / "pyproject.toml").write_text('[tool.toolparity]\nsubjcet = "mine:Subject"\n')
    ended = run(repository)
    assert ended.returncode == 4
    assert "subjcet is unknown" in ended.stderr
    (repository / "pyproject.toml").write_text('[tool.toolparity]\nsubject = "nowhere:Subject"\n')
    ended = run(repository)
    assert ended.returncode == 4
    assert "nowhere:Subject cannot be imported" in ended.stderr


def test_nothing_run_is_not_green(repository: Path) -> None:
    ended = run(repository, "--parity-scenario", "no-such-scenario")
    assert ended.returncode == 5


def test_without_a_subject_the_plugin_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    ended = run(tmp_path, "-q")
    assert ended.returncode == 0
    assert "1 passed" in ended.stdout


def test_cases_run_in_several_processes(repository: Path) -> None:
    ended = run(repository, "-q", "-n", "2", "--parity-scenario", "text-only")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "36 passed" in ended.stdout
