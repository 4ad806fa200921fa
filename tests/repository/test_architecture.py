"""The architecture page names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "pages" / "architecture.md").read_text("utf-8")
_SPANS = re.compile(r"`([^`\n]+)`")
#: A file with a suffix or a folder with a final slash. ``<name>`` is a placeholder for any name.
_PATH = re.compile(r"(?:[\w.<>-]+/)+(?:[\w.<>-]+\.[a-z]+)?|[\w-]+\.(?:toml|md)")
PATHS = sorted({word for span in _SPANS.findall(PAGE) for word in span.split() if _PATH.fullmatch(word)})


def test_the_page_names_files_of_every_package() -> None:
    assert len(PATHS) > 100
    assert {"normalizer", "turns", "cassettes", "audit", "conformance", "reports"} <= {
        path.partition("/")[0] for path in PATHS
    }


def test_the_files_that_the_page_names_exist() -> None:
    missing = []
    for path in PATHS:
        found = list(ROOT.glob(re.sub(r"<\w+>", "*", path)))
        missing += [] if found and (not path.endswith("/") or found[0].is_dir()) else [path]
    assert missing == []
