"""Earlier runs and the figures of their subjects."""

from __future__ import annotations

from typing import NamedTuple

from ..escape import cut
from ..results import OUTCOMES, Outcome, Report, Run
from ..statistics import Counts, judged_count, kept_count
from .columns import NAME

#: Maximum number of runs, the latest ones.
_RUNS = 24


class Point(NamedTuple):
    """One run. ``kept`` and ``judged`` are numbers of verdicts."""

    date: str
    version: str
    cases: int
    counts: Counts
    kept: int
    judged: int


class HistoryRow(NamedTuple):
    """A subject with kept and judged verdicts per run; None if the run does not have it."""

    name: str
    points: list[tuple[int, int] | None]


class History(NamedTuple):
    """``points``: oldest run first, the run of this page last. ``left``: number of omitted earlier runs."""

    points: list[Point]
    rows: list[HistoryRow]
    left: int


def history(report: Report) -> History | None:
    """Return the history, or None without an earlier run."""
    earlier = list(report.earlier)
    if report.before is not None and not any(one is report.before for one in earlier):
        earlier.append(report.before)
        earlier.sort(key=lambda run: run.date)
    runs = [*earlier, report.run]
    if len(runs) == 1:
        return None
    shown = runs[-_RUNS:]
    sums = [_sums(run) for run in shown]
    names = dict.fromkeys(subject.name for run in reversed(shown) for subject in run.subjects)
    points = [_point(run, counts) for run, counts in zip(shown, sums, strict=True)]
    rows = [
        HistoryRow(cut(name, NAME), [_judged(counts[name]) if name in counts else None for counts in sums])
        for name in names
    ]
    return History(points, rows, len(runs) - len(shown))


def _sums(run: Run) -> dict[str, dict[Outcome, int]]:
    """Return subject -> outcome -> number of verdicts."""
    counts_by_subject: dict[str, dict[Outcome, int]] = {one.name: dict.fromkeys(OUTCOMES, 0) for one in run.subjects}
    for result in run.results:
        counts = counts_by_subject.setdefault(result.subject, dict.fromkeys(OUTCOMES, 0))
        for verdict in result.verdicts:
            counts[verdict.outcome] += 1
    return counts_by_subject


def _point(run: Run, counts_by_subject: dict[str, dict[Outcome, int]]) -> Point:
    counts = {outcome: sum(counts[outcome] for counts in counts_by_subject.values()) for outcome in OUTCOMES}
    return Point(cut(run.date, NAME), cut(run.toolparity, NAME), len(run.results), counts, *_judged(counts))


def _judged(counts: Counts) -> tuple[int, int]:
    return kept_count(counts), judged_count(counts)
