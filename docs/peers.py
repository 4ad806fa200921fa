"""Writes the page of what others fail, from the shipped baselines: ``python docs/peers.py > docs/peers.md``."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import groupby

from conformance import baseline
from conformance.subjects.peers import PEERS

HEAD = """\
# What other implementations fail

Each row is a law that a shipped subject breaks today: in how many scenarios, why, and a command that repeats the
shortest case. Most of these scenarios are hostile on purpose, and rare in the field; some are a matter of what a
library sets out to do. They were looked at by class: what was the adapter's fault or the suite's was mended and is
not here.

A mistake in an adapter (`conformance/subjects/peers/`) is a bug of this project: please tell us. A failure that was
mended in a library ends the run with 3 until it is taken out of `conformance/baselines/`, so that this page stays true.
This page is written by `python docs/peers.py > docs/peers.md`.
"""


def page() -> str:
    """A section a subject, a row a law."""
    made = [HEAD]
    for path in sorted(baseline.SHIPPED.glob("*.yaml")):
        name, entries = path.stem, baseline.read(path)
        made.append(f"\n## {name}{_version(name)}\n\n| law | scenarios | why | again |\n|---|---|---|---|\n")
        for law, found in groupby(sorted(entries, key=lambda entry: entry.check), key=lambda entry: entry.check):
            made.append(_row(name, law, list(found)))
    return "".join(made)


def _version(name: str) -> str:
    """As pinned; the SDKs are tested in the version that is installed beside this project."""
    if name not in PEERS:
        return ""
    head = f"{PEERS[name].distribution}=="
    pins = PEERS[name].pins.read_text("utf-8").splitlines()
    return " " + next(line for line in pins if line.startswith(head)).removeprefix(head).split(" ")[0]


def _row(name: str, law: str, found: list[baseline.Known]) -> str:
    reasons = Counter(reason for entry in found for reason in entry.reason.split("; "))
    why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common()).replace("|", "\\|")
    told = [found[0].scenario, found[0].surface, found[0].mode]
    options = zip(("scenario", "surface", "mode"), told, strict=True)
    again = " ".join(f"--{option} {value}" for option, value in options if value != "*")
    return f"| `{law}` | {len(found)} | {why} | `toolparity check {name} {again} --policy all --baseline none` |\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
