"""Check that a change of the product has a fragment of the changelog (changes/README.md).

The change is what HEAD has and the branch `origin/HEAD` has not, or else what the last commit changed. In a clone
without its parent, only the names of fragments are checked. Exit code 1 if a fragment is missing or misnamed.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("normalizer", "turns", "cassettes", "audit", "conformance", "reports", "toolparity", ":!reports/published")


def git(root: Path, *arguments: str) -> str:
    """Return the output of a git command, or "" if it fails."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def problems(root: Path) -> list[str]:
    """Return what is wrong with the fragments of a repository."""
    types = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]["fragment"]
    names = [path.name for path in (root / "changes").iterdir() if path.name != "README.md"]
    endings = [[type, "md"] for type in types]
    wrong = [f"changes/{name}: not NAME.TYPE.md" for name in names if name.split(".")[1:] not in endings]
    head, base = git(root, "rev-parse", "HEAD"), git(root, "merge-base", "HEAD", "origin/HEAD")
    if base in ("", head):
        base = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    if not base or not git(root, "diff", "--name-only", base, "HEAD", "--", *PRODUCT):
        return wrong
    paths = ("CHANGELOG.md", "changes", ":!changes/README.md")  # a release moves the fragments to CHANGELOG.md
    noted = git(root, "diff", "--name-only", "--diff-filter=AM", base, "HEAD", "--", *paths)
    if not noted and "\nChangelog: none" not in git(root, "log", "--format=%B", f"{base}..HEAD"):
        wrong.append(f"the product changed since {base[:9]} without a fragment in changes/: see changes/README.md")
    return wrong


if __name__ == "__main__":
    sys.exit("\n".join(problems(ROOT)) or None)
