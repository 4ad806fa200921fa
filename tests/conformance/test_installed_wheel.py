"""The wheel in the environment of another project. `test_plugin.py` has red and green runs with this tree.

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

#: A test in which another project installs the wheel.
INSTALLED = pytest.mark.page(
    "pyproject.toml", "docs/pages/subjects.md", "toolparity/pytest_plugin.py", "toolparity/cli.py"
)

SUBJECT = """\
import json


class Subject:
    wires = ["openai.chat"]

    def read(self, ask):
        message = json.loads(ask.body)["choices"][0]["message"]
        return {"calls": [{"id": call["id"], **call["function"]} for call in message.get("tool_calls") or []]}
"""


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
    settings = '[tool.toolparity]\nscenarios = ["parallel-three", "text-only"]\n'
    (tmp_path / "pyproject.toml").write_text(settings)
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
def test_a_package_gives_its_subject_a_short_name(project: Project, home: Path) -> None:
    (site,) = home.glob("lib/python*/site-packages")
    info = site / "gateway-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gateway\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[toolparity.subjects]\ngateway = gateway_parity:Subject\n")
    (site / "gateway_parity.py").write_text(SUBJECT)
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
