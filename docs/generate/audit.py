"""The tables of the audit: of conversations, and of what it reads of the samples of logs."""

from __future__ import annotations

import json
from pathlib import Path

from docs.generate import ROOT, filled
from toolparity.audit.conversations import CODES, RECOGNIZED, UNJUDGED

_SAMPLES = ROOT / "tests" / "cassettes" / "sources" / "logs" / "samples" / "samples.json"


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
    columns = ("exchanges", "exchanges_read", "calls", "calls_read", "exit_code")
    samples = (
        f"| `{name}` | {_tool(one['written_by'])} | {' | '.join(str(one[column]) for column in columns)} |"
        for name, one in json.loads(_SAMPLES.read_text("utf-8")).items()
        if one["written_by"] != "by hand"
    )
    head = "| sample | written by | exchanges | exchanges read | calls | calls read | exit code |"
    tables["samples"] = [head, "|---|---|---|---|---|---|---|", *samples]
    return filled("audit.md", {name: "\n".join(lines) for name, lines in tables.items()})


def _tool(versions: dict[str, str]) -> str:
    """Return the tool, which is the first, and its version."""
    name, version = next(iter(versions.items()))
    return f"{name} {version}"
