"""Plays five requirement documents with the public interface: ``python docs/programs/documents [DOCUMENT…]``.

For each heading, in order, it prints what the document requires, in our words, and what happened in a turn with an
emulated provider. It exits with 1 if a requirement does not hold. The documents are not part of this repository;
`docs/pages/flows.md` lists the tests of each heading.
"""

from __future__ import annotations

import sys

import d000
import d001
import d002
import d003_a
import d003_b
import d004
from play import Heading, played

DOCUMENTS: dict[str, tuple[str, list[Heading]]] = {
    "000": ("Tool Call Sequence Handling", d000.HEADINGS),
    "001": ("Limiting Tool Use Blocks Implementation Plan", d001.HEADINGS),
    "002": ("Multi-Tool Call Architecture", d002.HEADINGS),
    "003": ("Sequential Tool Calling Implementation Plans", [*d003_a.HEADINGS, *d003_b.HEADINGS]),
    "004": ("Tool Execution Flow", d004.HEADINGS),
}


def main(chosen: list[str]) -> int:
    """Play the documents, or those whose numbers are given. Return the exit code."""
    unknown = [number for number in chosen if number not in DOCUMENTS]
    if unknown:
        print(f"no such document: {unknown[0]}; they are {', '.join(DOCUMENTS)}", file=sys.stderr)
        return 2
    results = []
    for number, (title, headings) in DOCUMENTS.items():
        if not chosen or number in chosen:
            print(f"\n{number}, {title}")
            results += [played(heading) for heading in headings]
    failed = results.count(False)
    print(f"\n{results.count(True)} headings hold, {failed} fail, {results.count(None)} only introduce others.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
