"""Writes the page of what others fail, from the shipped baselines: ``python docs/peers.py > docs/peers.md``."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from toolparity.conformance.runner import baseline
from toolparity.conformance.runner.withdrawn import WITHDRAWN
from toolparity.conformance.subjects.peers import PEERS

HEAD = """\
# Failures of other implementations

Each row is a law that a shipped subject breaks today, with the reasons and the number of scenarios for each reason. The
link of the law leads to the shortest case of each reason, with its wire and the commands that repeat it. Most of these
scenarios are deliberately hostile and rare in practice. Some failures are a question of scope, such as tools or
dialects that a library does not support. Each reason states what the result of the library shows. `docs/confirm.py`
draws a random sample of these failures and repeats each one with a program that uses only the library and the standard
library. A failure that the suite cannot judge fairly yet is withdrawn: this page lists it as not judged, and no figure
counts it.

The law `any-cut` is newer than most entries: only `anthropic-sdk` and `xai-sdk` were run under it. Its failures in the
other libraries, and what their agents run ([agents.md](agents.md)), are not on this page.

A mistake in an adapter (`conformance/subjects/peers/`) is a bug of this project: please report it. If a library fixes a
failure, the run exits with 3 until the entry is removed from `conformance/baselines/`.
`python docs/peers.py > docs/peers.md` writes this page, and `python docs/reproductions.py` the pages behind it.
"""


def page() -> str:
    """Return the page: one section per subject, one row per law."""
    parts = [HEAD]
    for path in sorted(baseline.SHIPPED.glob("*.yaml")):
        name, entries = path.stem, baseline.read(path)
        parts.append(f"\n## {name}{_version(name)}\n\n| law | scenarios | why |\n|---|---|---|\n")
        for law, group in groupby(sorted(entries, key=lambda entry: entry.check), key=lambda entry: entry.check):
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


def _row(name: str, law: str, entries: list[baseline.BaselineEntry]) -> str:
    scenarios: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        scenarios[entry.reason].add(entry.scenario)
    by_count = sorted(scenarios.items(), key=lambda item: (-len(item[1]), item[0]))
    why = "; ".join(f"{reason} ({len(names)})" for reason, names in by_count).replace("|", "\\|")
    count = len({entry.scenario for entry in entries})
    return f"| [`{law}`](reproductions/{name}.md#{law}) | {count} | {why} |\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
