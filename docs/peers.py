"""Writes the page of what others fail, from the published results: ``python docs/peers.py > docs/peers.md``."""

from __future__ import annotations

import runpy
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from toolparity.conformance.cli.publish import FOLDER, RESULTS
from toolparity.conformance.reproductions.accusations import failures
from toolparity.conformance.reproductions.topics import ENTRIES
from toolparity.conformance.runner import baseline
from toolparity.conformance.runner.withdrawn import WITHDRAWN
from toolparity.conformance.subjects.peers import PEERS
from toolparity.reports.files import load

REPRODUCTIONS = Path(__file__).resolve().parent / "reproductions.py"
HEAD = """\
# Failures of other implementations

Each row is a law that a shipped subject breaks today, with the reasons and the number of cases for each reason. A case
is a scenario on one surface, plain or streamed. The link of the law leads to the shortest case of each reason, with its
wire and the commands that repeat it. A law without a link compares several answers, which no script can show. Most of
these scenarios are deliberately hostile and rare in practice. Some failures are a question of scope, such as tools or
dialects that a library does not support. Each reason states what the result of the library shows. `docs/confirm.py`
repeats the shortest case of each reason with a script of at most 20 lines that needs only the library;
[confirmed.json](reproductions/confirmed.json) has those that it confirmed. A failure that the suite cannot judge fairly
yet is withdrawn: this page lists it as not judged, and no figure counts it. [agents.md](agents.md) shows what the
agents of these libraries run.

A mistake in an adapter (`conformance/subjects/peers/`) is a bug of this project: please report it. If a library fixes a
failure, the run exits with 3 until the entry is removed from `conformance/baselines/`.
`python docs/peers.py > docs/peers.md` writes this page, and `python docs/reproductions.py` the pages behind it.
"""


def page() -> str:
    """Return the page: one section per subject, one row per law."""
    known = runpy.run_path(str(REPRODUCTIONS))["by_reason"](failures(load(FOLDER / RESULTS)))
    parts = [HEAD]
    for path in sorted(baseline.SHIPPED.glob("*.yaml")):
        name = path.stem
        parts.append(f"\n## {name}{_version(name)}\n\n| law | cases | why |\n|---|---|---|\n")
        cases = [case for case in known if case.subject == name]
        for law, group in groupby(cases, key=lambda case: str(case.law)):
            parts.append(_row(name, law, list(group)))
        parts += _not_judged(name)
    return "".join(parts)


def _not_judged(name: str) -> Iterator[str]:
    """Return a sentence for each withdrawn failure of a subject."""
    reasons: dict[str, list[baseline.BaselineEntry]] = defaultdict(list)
    for entry in WITHDRAWN.get(name, ()):
        reasons[entry.reason].append(entry)
    for reason, entries in reasons.items():
        laws = " and ".join(dict.fromkeys(f"`{entry.check}`" for entry in entries))
        scenarios = ", ".join(dict.fromkeys(f"`{entry.scenario}`" for entry in entries))
        yield f"\nNot judged by {laws}: {reason} ({scenarios}).\n"


def _version(name: str) -> str:
    """Return the pinned version; official SDKs have none, because the suite uses the installed one."""
    return f" {PEERS[name].pinned}" if name in PEERS else ""


def _row(name: str, law: str, cases: list[Any]) -> str:
    by_count = sorted(cases, key=lambda case: (-case.cases, case.reason))
    why = "; ".join(f"{case.reason} ({case.cases})" for case in by_count).replace("|", "\\|")
    shown = f"[`{law}`](reproductions/{name}.md#{law})" if law in ENTRIES else f"`{law}`"
    return f"| {shown} | {sum(case.cases for case in cases)} | {why} |\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
