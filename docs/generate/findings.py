"""The table of finding codes."""

from __future__ import annotations

from pathlib import Path

from docs.generate import filled
from toolparity.normalizer.findings import CODES

HEAD = """\
| code | severity | what it means | what to do |
|---|---|---|---|
"""


def files() -> dict[Path, str]:
    """Return the page."""
    rows = (f"| `{code}` | {row.severity} | {row.means} | {row.do} |\n" for code, row in CODES.items())
    return filled("findings.md", {"codes": HEAD + "".join(rows)})
