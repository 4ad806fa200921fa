"""The tables of the audit of conversations."""

from __future__ import annotations

from pathlib import Path

from docs.generate import filled
from toolparity.audit.conversations import CODES, RECOGNIZED, UNJUDGED


def files() -> dict[Path, str]:
    """Return the page."""
    findings = (f"| `{code}` | {row.severity} | {row.means} | {row.do} |" for code, row in CODES.items())
    unjudged = (f"| `{reason}` | {text} |" for reason, text in UNJUDGED.items())
    recognized = (f"| `{kind}` | {text} |" for kind, text in RECOGNIZED.items())
    tables = {
        "findings": ["| code | severity | what it means | what to do |", "|---|---|---|---|", *findings],
        "unjudged": ["| reason | meaning |", "|---|---|", *unjudged],
        "recognized": ["| kind | meaning |", "|---|---|", *recognized],
    }
    return filled("audit.md", {name: "\n".join(lines) for name, lines in tables.items()})
