"""A change of the product needs a fragment of the changelog."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGES: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "changes.py"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for folder in ("changes", "turns"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.towncrier.fragment]\nfixed = {}\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "turns/turn.py", "Begin")
    return tmp_path


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


def commit(root: Path, file: str, message: str) -> list[str]:
    with (root / file).open("a") as opened:
        opened.write("changed\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)
    found: list[str] = CHANGES["problems"](root)
    return found


def test_a_change_of_the_product_needs_a_fragment_or_a_line_in_its_message(repository: Path) -> None:
    assert CHANGES["problems"](repository) == []  # the first commit has no parent
    (problem,) = commit(repository, "turns/turn.py", "Change a turn")
    assert "without a fragment" in problem
    assert commit(repository, "turns/turn.py", "Change a turn\n\nChangelog: none") == []
    assert commit(repository, "README.md", "Change no product") == []
    (repository / "turns" / "turn.py").write_text("")
    assert commit(repository, "changes/+turn.fixed.md", "Fix a turn") == []
    assert commit(repository, "changes/+turn.mended.md", "Fix a turn") == ["changes/+turn.mended.md: not NAME.TYPE.md"]


def test_a_branch_is_compared_with_that_from_which_it_was_made(repository: Path) -> None:
    git(repository, "update-ref", "refs/remotes/origin/HEAD", "HEAD")
    assert len(commit(repository, "turns/turn.py", "Change a turn")) == 1
    assert commit(repository, "changes/1.fixed.md", "Add the fragment") == []
