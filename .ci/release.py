"""Check that a tag can be released, and write the section of the changelog for it.

    python .ci/release.py v0.2.0 OWNER/REPOSITORY notes.md

Exit code 1 with one line for each thing to change.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def section(changelog: str, version: str) -> str:
    """Return the text below the heading of a version, or "" if there is none."""
    found = re.search(rf"^## {re.escape(version)}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def problems(root: Path, tag: str, repository: str) -> list[str]:
    """Return what must change before a repository is released with this tag."""
    found = []
    version = _VERSION.findall((root / "toolparity" / "__init__.py").read_text("utf-8"))[0]
    if tag != f"v{version}":
        found.append(
            f"the tag is {tag}, but toolparity/__init__.py has {version}: tag v{version}, or change __version__"
        )
    stated = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {}).get("Repository")
    if stated != (expected := f"https://github.com/{repository}"):
        found.append(f"Repository in [project.urls] of pyproject.toml is {stated or 'missing'}: set it to {expected}")
    if not section((root / "CHANGELOG.md").read_text("utf-8"), version):
        found.append(f"CHANGELOG.md has no section {version}: run pipx run towncrier build --version {version}")
    if left := [path.name for path in (root / "changes").iterdir() if path.name != "README.md"]:
        found.append(f"changes/ has {len(left)} fragments, such as {left[0]}: run towncrier, which removes them")
    return found


def main(tag: str, repository: str, notes: str) -> int:
    found = problems(ROOT, tag, repository)
    for problem in found:
        print(f"::error::{problem}")
    if not found:
        Path(notes).write_text(section((ROOT / "CHANGELOG.md").read_text("utf-8"), tag[1:]) + "\n", "utf-8")
    return int(bool(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for argument in ("tag", "repository", "notes"):
        parser.add_argument(argument)
    sys.exit(main(**vars(parser.parse_args())))
