"""The wheel in the environment of another project, whose subject of a few lines is red and green.

The wheel is built here, and its requirements come from the environment of the tests: nothing is downloaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

import pytest

from .pages import blocks, do

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("normalizer", "turns", "cassettes", "audit", "conformance", "reports")

#: A test in which another project installs the wheel. `test_plugin.py` has the same runs with this tree.
INSTALLED = pytest.mark.page(
    "pyproject.toml", "docs/pages/subjects.md", "toolparity/pytest_plugin.py", "toolparity/cli.py"
)

#: One call runs under `first`, the others are reported; the seeded bug: the last one is taken, as each overwrites the
#: one before.
RIGHT = """\
import json


class Subject:
    wires = ["openai.chat"]
    claims = ["select"]

    def read(self, ask):
        message = json.loads(ask.body)["choices"][0]["message"]
        calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls") or []]
        kept = calls[:1] if ask.policy == "first" else calls
        left = [call for call in calls if call not in kept]
        lines = [f"{len(calls)} calls, {len(left)} dropped: {[call['name'] for call in left]}"] if left else []
        return {"policy": ask.policy, "calls": kept, "dropped": left, "warnings": lines}
"""
WRONG = RIGHT.replace("calls[:1]", "calls[-1:]")
SETTINGS = (
    '[tool.toolparity]\nsubject = "my_subject:Subject"\nscenarios = ["parallel-three", "two-rounds", "text-only"]\n'
)


class Project(NamedTuple):
    """``folder``: the repository; ``home``: the environment."""

    folder: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """Of a shell in which the environment is active."""
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "PYTEST", "PIP", "COLUMNS"))
        }
        return {**kept, "PATH": path, "VIRTUAL_ENV": str(self.home), "XDG_CACHE_HOME": str(self.home / "cache")}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel."""
    pytest.importorskip("pip", reason="the wheel is installed with pip, which is not there")
    shelf = tmp_path_factory.mktemp("shelf")
    _done(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(shelf))
    (wheel,) = shelf.glob("toolparity-*.whl")
    home = tmp_path_factory.mktemp("home") / "venv"
    venv.create(home, symlinks=True)
    python = str(home / "bin" / "python")
    _done(
        shelf, sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", str(wheel)
    )
    (site,) = home.glob("lib/python*/site-packages")
    # Only the folders are lent: what is in .pth files there, such as where this tree is, is not read.
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "lent.pth").write_text("\n".join(sorted(lent)) + "\n")
    script = home / "bin" / "pytest"
    script.write_text(f"#!{python}\nimport sys\n\nimport pytest\n\nsys.exit(pytest.console_main())\n")
    script.chmod(0o755)
    return home


def _done(folder: Path, *command: str) -> None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture
def project(home: Path, tmp_path: Path) -> Project:
    (tmp_path / "my_subject.py").write_text(WRONG)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    return Project(tmp_path, home)


@INSTALLED
def test_the_wheel_is_used_and_not_this_tree(project: Project) -> None:
    names = ", ".join(PACKAGES)
    asked = (
        f"import sys; from toolparity import {names}; print(*(one.__file__ for one in ({names})), *sys.path, sep='\\n')"
    )
    paths = [Path(line) for line in project.run("python", "-c", asked).stdout.splitlines() if line]
    assert len(paths) > len(PACKAGES)
    assert all(path.is_relative_to(project.home) for path in paths[: len(PACKAGES)])
    assert not any(path == ROOT or path.is_relative_to(ROOT / "tests") for path in paths)


@INSTALLED
def test_a_seeded_bug_is_red_and_its_law_is_named_until_it_is_fixed(project: Project) -> None:
    command = ("toolparity", "check", "my_subject:Subject", "--scenario", "parallel-three", "--scenario", "two-rounds")
    red, checked = project.run("pytest", "-q", "--parity-subject", "my_subject:Subject"), project.run(*command)
    assert (red.returncode, checked.returncode) == (1, 1), red.stdout + red.stderr + checked.stderr
    assert "same-first: executed: the last call of 3 would run instead of the first one that can run" in red.stdout
    assert "the law:  Under the policy first, every provider yields the first client call that can run." in red.stdout
    assert "again:    toolparity check my_subject:Subject --scenario parallel-three" in red.stdout
    assert "my_subject:Subject breaks same-first in 4 cases" in checked.stdout
    (project.folder / "my_subject.py").write_text(RIGHT)
    green, checked = project.run("pytest", "-q"), project.run(*command)
    assert (green.returncode, checked.returncode) == (0, 0), green.stdout + green.stderr + checked.stderr
    assert "failed" not in green.stdout
    assert " passed, " in green.stdout  # the others are skipped: it claims no streams


@INSTALLED
def test_a_package_gives_its_subject_a_short_name(project: Project, home: Path) -> None:
    (site,) = home.glob("lib/python*/site-packages")
    info = site / "gateway-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gateway\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[toolparity.subjects]\ngateway = gateway_parity:Subject\n")
    (site / "gateway_parity.py").write_text(RIGHT)
    smoked = project.run("toolparity", "smoke", "gateway")
    assert smoked.returncode == 0, smoked.stdout + smoked.stderr
    ended = project.run("pytest", "-q", "--parity-subject", "gateway")
    assert ended.returncode == 0, ended.stdout
    (site / "gateway_parity.py").write_text("import nothing_of_the_kind\n")
    broken = project.run("toolparity", "check", "gateway")
    assert broken.returncode == 4
    assert "gateway cannot be imported" in broken.stderr


@INSTALLED
def test_the_page_about_subjects_can_be_followed_from_its_beginning_to_its_end(home: Path, tmp_path: Path) -> None:
    project = Project(tmp_path, home)
    printed, done, shown = "", 0, list(blocks("subjects.md"))
    first = next(block for block in shown if block.language == "python")
    assert len([line for line in first.text.splitlines() if line.strip()]) <= 15
    for block in shown:
        printed = do(block, tmp_path, project.environment, printed)
        done += not block.mark.startswith("not run: ")
    assert done > 15
