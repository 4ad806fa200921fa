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
# What other implementations fail

Each row is a law that a shipped subject breaks today, and why, with the number of scenarios for each reason; behind
each law stands the shortest case of each reason, with the wire and commands that repeat it. Most of these scenarios
are hostile on purpose, and rare in the field; some are a matter of what a library sets out to do, such as tools that
it does not know or providers whose dialect it does not speak. Every failure was looked at, in the library's source
where the wire did not explain it: what was the adapter's fault or the suite's was mended and is not here. A failure
that the suite cannot judge fairly yet is withdrawn: it appears here as not judged, and no figure counts it.

A mistake in an adapter (`conformance/subjects/peers/`) is a bug of this project: please tell us. A failure that was
mended in a library ends the run with 3 until it is taken out of `conformance/baselines/`, so that this page stays true.
This page is written by `python docs/peers.py > docs/peers.md`, those behind it by `python docs/reproductions.py`.
"""


def page() -> str:
    """A section a subject, a row a law."""
    made = [HEAD]
    for path in sorted(baseline.SHIPPED.glob("*.yaml")):
        name, entries = path.stem, baseline.read(path)
        made.append(f"\n## {name}{_version(name)}\n\n| law | scenarios | why |\n|---|---|---|\n")
        for law, found in groupby(sorted(entries, key=lambda entry: entry.check), key=lambda entry: entry.check):
            made.append(_row(name, law, list(found)))
        made += _not_judged(name)
    return "".join(made)


def _not_judged(name: str) -> Iterator[str]:
    """The withdrawn accusations of a subject."""
    reasons: dict[str, list[baseline.Known]] = defaultdict(list)
    for entry in WITHDRAWN.get(name, ()):
        reasons[entry.reason].append(entry)
    for reason, entries in reasons.items():
        laws, scenarios = (dict.fromkeys(getattr(one, of) for one in entries) for of in ("check", "scenario"))
        told = " and ".join(f"`{law}`" for law in laws)
        yield f"\nNot judged by {told}: {reason} ({', '.join(f'`{one}`' for one in scenarios)}).\n"


def _version(name: str) -> str:
    """As pinned; the SDKs are tested in the version that is installed beside this project."""
    if name not in PEERS:
        return ""
    head = f"{PEERS[name].distribution}=="
    pins = PEERS[name].pins.read_text("utf-8").splitlines()
    return " " + next(line for line in pins if line.startswith(head)).removeprefix(head).split(" ")[0]


def _row(name: str, law: str, found: list[baseline.Known]) -> str:
    scenarios: dict[str, set[str]] = defaultdict(set)
    for entry in found:
        scenarios[entry.reason].add(entry.scenario)
    told = sorted(scenarios.items(), key=lambda one: (-len(one[1]), one[0]))
    why = "; ".join(f"{reason} ({len(some)})" for reason, some in told).replace("|", "\\|")
    count = len({entry.scenario for entry in found})
    return f"| [`{law}`](reproductions/{name}.md#{law}) | {count} | {why} |\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
