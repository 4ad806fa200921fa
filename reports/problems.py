"""Lists of failures that the terminal and the Markdown share: scenarios with problems, titles, examples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from .compare import count_text
from .results import BROKEN, Outcome, Result, Run, Verdict
from .sentences import effects_of
from .statistics import WORST_FIRST, Cell, Counts, Figures, place_cell, worst_outcome


def broken_count(counts: Counts) -> int:
    """Return the number of verdicts that break the law, expected or not, or that the harness could not decide."""
    return sum(counts.get(outcome, 0) for outcome in BROKEN)


def scenario_rows(run: Run, counts: Figures, subject: str) -> list[tuple[str, list[Cell]]]:
    """Return the id of each scenario with problems with a cell per surface, the most severe row first."""
    surfaces = counts.surfaces()
    rows = [
        (scenario.id, [counts.places.get((subject, scenario.id, surface), {}) for surface in surfaces])
        for scenario in run.scenarios
    ]
    problems = [row for row in rows if any(broken_count(cell) or cell.get("stale") for cell in row[1])]
    return [(id, [*map(place_cell, cells)]) for id, cells in sorted(problems, key=lambda row: _severity(row[1]))]


def _severity(cells: Sequence[Counts]) -> tuple[int, int]:
    """Return a sort key for rows: by worst outcome, then by its count. Rows without a problem have equal keys."""
    keys = [
        (WORST_FIRST.index(outcome), -counts[outcome])
        for counts in cells
        if (outcome := worst_outcome(counts)) not in (None, "pass", "unsupported")
    ]
    return min(keys, default=(len(WORST_FIRST), 0))


def bad_title(subject: str, law: str, outcome: Outcome, entries: Sequence[tuple[Result, Verdict]]) -> str:
    """Return the title of a list of `Figures.bad`, such as "litellm breaks order in 2 cases (2 altered)"."""
    cases = count_text(len(entries), "case")
    if outcome == "stale":
        return f"{subject} keeps {law} in {cases} in which the baseline expects a failure"
    if outcome == "error":
        return f"{law} could not be judged for {subject} in {cases}"
    effects = effects_of(entries)
    return f"{subject} breaks {law} in {cases}" + (f" ({effects})" if effects else "")


def pick_examples(failures: Sequence[tuple[Result, Verdict]], most: int) -> list[tuple[Result, Verdict]]:
    """Return up to ``most`` examples: first one for each reason, then further ones."""
    firsts: dict[str, int] = {}
    for number, (_, verdict) in enumerate(failures):
        firsts.setdefault(verdict.reason, number)
    chosen = [*firsts.values()][:most]
    known = set(chosen)
    others = (number for number in range(len(failures)) if number not in known)
    return [failures[number] for number in (*chosen, *islice(others, most - len(chosen)))]
