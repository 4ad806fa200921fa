"""Writes the page of what others fail, from the published results: ``python docs/peers.py > docs/peers.md``."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from toolparity.conformance.cli.publish import FOLDER, RESULTS
from toolparity.conformance.reproductions.accusations import Accusation, failures
from toolparity.conformance.runner import baseline
from toolparity.conformance.runner.withdrawn import WITHDRAWN
from toolparity.conformance.subjects.peers import PEERS
from toolparity.reports.files import load
from toolparity.reports.html.shell import filter_link

#: The published page, as seen from this one.
PUBLISHED = "../reports/published/index.html"
HEAD = """\
# Failures of other implementations

Each row is a law that a shipped subject breaks today, with the reasons and the number of cases for each reason. A case
is a scenario on one surface, plain or streamed. The link of a law leads to its cases on the published page: open it
from a checkout. The page has the response, the difference and the command that repeats a case, and `toolparity report
upstream SUBJECT CASE` prints a script that repeats it without this project ([reports.md](reports.md#bug-reports)). Most
of these scenarios are deliberately hostile and rare in practice. Some failures are a question of scope, such as tools
or dialects that a library does not support. Each reason states what the result of the library shows. `python -m
docs.confirm` repeats the shortest case of each reason with a script of at most 20 lines that needs only the library;
[confirmed.json](reproductions/confirmed.json) has those that it confirmed. A failure that the suite cannot judge fairly
yet is withdrawn: this page lists it as not judged, and no figure counts it. [agents.md](agents.md) shows what the
agents of these libraries run.

A mistake in an adapter (`conformance/subjects/peers/`) is a bug of this project: please report it. If a library fixes a
failure, the run exits with 3 until the entry is removed from `conformance/baselines/`.
`python docs/peers.py > docs/peers.md` writes this page.
"""


class Reason(NamedTuple):
    """A reason why a subject breaks a law. ``accusation``: the shortest of its ``cases``."""

    subject: str
    law: str
    text: str
    accusation: Accusation
    cases: int


def by_reason(found: Iterable[Accusation]) -> list[Reason]:
    """Return the reasons of failures, ordered by subject, law and reason."""
    best: dict[tuple[str, str, str], Accusation] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for accusation in found:
        key = accusation.result.subject, accusation.verdict.check, accusation.known_reason
        counts[key] += 1
        if key not in best or accusation.size < best[key].size:
            best[key] = accusation
    return [Reason(*key, best[key], counts[key]) for key in sorted(best)]


def page() -> str:
    """Return the page: one section per subject, one row per law."""
    known = by_reason(failures(load(FOLDER / RESULTS)))
    parts = [HEAD]
    for path in sorted(baseline.SHIPPED.glob("*.yaml")):
        name = path.stem
        parts.append(f"\n## {name}{_version(name)}\n\n| law | cases | why |\n|---|---|---|\n")
        of_subject = [reason for reason in known if reason.subject == name]
        for law, group in groupby(of_subject, key=lambda reason: reason.law):
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


def _row(name: str, law: str, reasons: list[Reason]) -> str:
    by_count = sorted(reasons, key=lambda reason: (-reason.cases, reason.text))
    why = "; ".join(f"{reason.text} ({reason.cases})" for reason in by_count).replace("|", "\\|")
    link = PUBLISHED + filter_link(subject=name, law=law, verdict="broken")
    return f"| [`{law}`]({link}) | {sum(reason.cases for reason in reasons)} | {why} |\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
