"""The install lines of the README and of the pages, for an unpublished or a published package.

Each line with ``pip install`` that names toolparity, with or without extras, is one of these. A pinned version stays.
Examples of the action and of the hooks name the repository.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from docs.generate import PAGES, ROOT

#: Whether the package index has the package. Until then, pip installs it from the repository.
PUBLISHED = False

_LINE = re.compile(r"(?P<before>\bpip install\b[^\n`]*?)'toolparity(?P<extras>\[[\w,-]+\])?(?: @ git\+[^' ]+)?'")


_REPOSITORY = re.compile(r"(?<=- )(uses: |repo: https://github\.com/)[\w-]+/toolparity\b")


def shown(text: str) -> str:
    """Return a text with the install lines, and the repository in examples, as they are to be."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    source = "" if PUBLISHED else f" @ git+{urls['Repository']}"
    text = _REPOSITORY.sub(lambda found: found[1] + urls["Repository"].removeprefix("https://github.com/"), text)
    return _LINE.sub(lambda found: f"{found['before']}'toolparity{found['extras'] or ''}{source}'", text)


def files() -> dict[Path, str]:
    """Return the pages."""
    return {path: shown(path.read_text("utf-8")) for path in (ROOT / "README.md", *sorted(PAGES.glob("*.md")))}
