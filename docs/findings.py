"""Writes the page of finding codes from their table: ``python docs/findings.py > docs/findings.md``."""

from __future__ import annotations

import sys

from toolparity.normalizer.findings import CODES

HEAD = """\
# Findings

A finding says where the wire and the canonical form could be read differently; it never changes what was decoded.
This page is written by `python docs/findings.py > docs/findings.md`; the table is `CODES` in `normalizer/findings.py`.

| code | severity | what it means | what to do |
|---|---|---|---|
"""


def page() -> str:
    """The page, one row a code, in the table's order."""
    return HEAD + "".join(f"| `{code}` | {row.severity} | {row.means} | {row.do} |\n" for code, row in CODES.items())


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
