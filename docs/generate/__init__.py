"""The programs behind the pages. Each module in `docs.__main__.NAMES` has a function ``files``.

``files`` returns the current content of the files that the module writes. A page is written by hand except for its
blocks, which are between two comments: ``<!-- generated: NAME -->`` and ``<!-- end: NAME -->``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES, DATA, PROGRAMS = (ROOT / "docs" / name for name in ("pages", "data", "programs"))


def filled(page: str, blocks: Mapping[str, str]) -> dict[Path, str]:
    """Return the path and the text of a page with these blocks. The page must have a place for each of them."""
    path = PAGES / page
    text = path.read_text("utf-8")
    for name, content in blocks.items():
        start, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->\n"
        before, found, rest = text.partition(start)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise ValueError(f"{page} has no block {name!r}: write {start.strip()} and {end.strip()} where it belongs")
        text = f"{before}{start}\n{content.strip()}\n\n{end}{after}"
    return {path: text}
