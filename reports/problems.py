"""Scenarios with problems, which the terminal and the Markdown list."""

from __future__ import annotations

from collections.abc import Sequence

from .results import BROKEN, Run
from .statistics import WORST_FIRST, Cell, Counts, Figures, place_cell, worst_outcome


def broken_count(counts: Counts) -> int:
    """Return the number of verdicts that break the law, expected or not, or that the harness could not decide."""
    return sum(counts.get(outcome, 0) for outcome in BROKEN)


def scenario_rows(run: Run, counts: Figures, subject: str) -> tuple[list[str], list[tuple[str, list[Cell]]]]:
    """Return the surfaces, and each scenario with problems with a cell per surface, the most severe row first.

    Surfaces that the subject does not support in any of these scenarios are left out.
    """
    surfaces = counts.surfaces()
    rows = [
        (scenario.id, [counts.places.get((subject, scenario.id, surface), {}) for surface in surfaces])
        for scenario in run.scenarios
    ]
    problems = [row for row in rows if any(broken_count(cell) or cell.get("stale") for cell in row[1])]
    shown = [n for n in range(len(surfaces)) if any(cells[n].keys() - {"unsupported"} for _, cells in problems)]
    rows = sorted(problems, key=lambda row: _severity(row[1]))
    return [surfaces[n] for n in shown], [(id, [place_cell(cells[n]) for n in shown]) for id, cells in rows]


def _severity(cells: Sequence[Counts]) -> tuple[int, int]:
    """Return a sort key for rows: by worst outcome, then by its count. Rows without a problem have equal keys."""
    keys = [
        (WORST_FIRST.index(outcome), -counts[outcome])
        for counts in cells
        if (outcome := worst_outcome(counts)) not in (None, "pass", "unsupported")
    ]
    return min(keys, default=(len(WORST_FIRST), 0))
