"""The tables of what other implementations fail, from the published results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from docs.generate import filled
from toolparity.conformance.cli.publish import FOLDER, RESULTS, summary
from toolparity.conformance.reproductions.accusations import Accusation, failures
from toolparity.conformance.runner import baseline
from toolparity.conformance.runner.withdrawn import WITHDRAWN
from toolparity.conformance.subjects.peers import PEERS
from toolparity.reports.files import load
from toolparity.reports.html.shell import filter_link

#: The published page, as seen from this one.
PUBLISHED = "../../reports/published/index.html"


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


def files() -> dict[Path, str]:
    """Return the page."""
    return filled("peers.md", {"failures": "".join(_subjects())})


def _subjects() -> Iterator[str]:
    """Yield one section per subject, with one row per law."""
    known = by_reason(failures(load(FOLDER / RESULTS)))
    for path in sorted(baseline.SHIPPED.glob("*.yaml")):
        name = path.stem
        yield f"\n## {name}{_version(name)}\n\n{_about(name)}| law | cases | why |\n|---|---|---|\n"
        of_subject = [reason for reason in known if reason.subject == name]
        for law, group in groupby(of_subject, key=lambda reason: reason.law):
            yield _row(name, law, list(group))
        yield from _not_judged(name)


def _not_judged(name: str) -> Iterator[str]:
    """Return a sentence for each withdrawn failure of a subject."""
    reasons: dict[str, list[baseline.BaselineEntry]] = defaultdict(list)
    for entry in WITHDRAWN.get(name, ()):
        reasons[entry.reason].append(entry)
    for reason, entries in reasons.items():
        laws = " and ".join(dict.fromkeys(f"`{entry.check}`" for entry in entries))
        scenarios = ", ".join(dict.fromkeys(f"`{entry.scenario}`" for entry in entries))
        yield f"\nNot judged by {laws}: {reason} ({scenarios}).\n"


def _about(name: str) -> str:
    """Return the badge of a published implementation, with a link to its cases, and its version and date, or ""."""
    for one in summary().subjects:
        if one.name == name and one.badge:
            image = f"[![{name}](../../reports/published/{one.badge})]({PUBLISHED}{filter_link(subject=name)})"
            return f"{image} {one.version}, run on {one.date}\n\n"
    return ""


def _version(name: str) -> str:
    """Return the pinned version; official SDKs have none, because the suite uses the installed one."""
    return f" {PEERS[name].pinned}" if name in PEERS else ""


def _row(name: str, law: str, reasons: list[Reason]) -> str:
    by_count = sorted(reasons, key=lambda reason: (-reason.cases, reason.text))
    why = "; ".join(f"{reason.text} ({reason.cases})" for reason in by_count).replace("|", "\\|")
    link = PUBLISHED + filter_link(subject=name, law=law, verdict="broken")
    return f"| [`{law}`]({link}) | {sum(reason.cases for reason in reasons)} | {why} |\n"
