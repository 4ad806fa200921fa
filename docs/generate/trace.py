"""The trace: which scenarios guard against each known failure, or why none does."""

from __future__ import annotations

from pathlib import Path

from docs.generate import filled
from toolparity.conformance.cases.coverage import trace
from toolparity.conformance.cases.scenarios import scenarios


def files() -> dict[Path, str]:
    """Return the page."""
    coverage = trace()
    guarding = {scenario for names in coverage.guards.values() for scenario in names}
    counts = (
        f"{len(coverage.ids)} failures: {len(coverage.guards)} guarded by {len(guarding)} of {len(scenarios())} "
        f"scenarios, {len(coverage.left_out)} left out. "
        "The other scenarios guard against failures that were not observed yet."
    )
    rows = (
        f"| {id} | {', '.join(f'`{name}`' for name in coverage.guards[id])} |"
        for id in coverage.ids
        if id in coverage.guards
    )
    reasons = (f"| {id} | {coverage.left_out[id]} |" for id in coverage.ids if id in coverage.left_out)
    blocks = {
        "guarded": "\n".join([counts, "", "| failure | scenarios |", "|---|---|", *rows]),
        "left out": "\n".join(["| failure | reason |", "|---|---|", *reasons]),
    }
    return filled("trace.md", blocks)
