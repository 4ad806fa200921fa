"""The kill matrix: how often each law fails each known-bad subject.

It covers the first scenario in which the law that is named for the subject fails it. A law that fails no subject is a
gap in the suite, and so is a subject that its law does not fail.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path

from toolparity import __version__
from toolparity.cassettes.workers import cores, in_order
from toolparity.reports import results

from ..cases.case import Case
from ..known_bad import known_bad
from ..laws import LAWS, Law
from . import suite, survival
from .judge import CaseFilter, Judge
from .kill_state import Counts, KillState


def run(
    case_filter: CaseFilter,
    *,
    jobs: int = 0,
    tables: bool = False,
    state: Path | None = None,
    on_progress: Callable[[int], None] = lambda subjects: None,
) -> results.Run:
    """Run every known-bad subject against the suite until its law fails it, then check all laws in that scenario.

    ``tables``: also run the subjects of the tables of mistakes. ``state``: a file that keeps the results of what is
    done; a run that finds some there resumes. ``on_progress`` is called with 1 for each finished subject, and for each
    of the tasks of `survival`. Raises ToolparityError if a worker dies or the state is of another run.
    """
    started, date = time.monotonic(), suite.now()
    subjects, kept = known_bad(), KillState(state, case_filter)
    jobs = jobs or cores()
    counts = {name: found.by for name in subjects if (found := kept.get(Counts, name)) is not None}
    on_progress(len(counts))
    left = [name for name in subjects if name not in counts]
    count = partial(_count_failures, case_filter)
    done = in_order(count, left, jobs, __name__) if jobs > 1 else map(count, left)
    for name, by in zip(left, done, strict=True):
        counts[name] = dict(by)
        kept.add(Counts(name, counts[name]))
        on_progress(1)
    kills = [results.Kill(name, bad.law, bad.sentence, counts[name]) for name, bad in subjects.items()]
    return results.Run(
        __version__,
        date,
        suite.environment(),
        subjects=[],
        laws=suite.law_reports(),
        scenarios=[],
        results=[],
        kills=kills,
        generated=survival.run(case_filter, jobs=jobs, tables=tables, kept=kept, on_progress=on_progress),
        seconds=round(time.monotonic() - started, 3),
    )


def _count_failures(case_filter: CaseFilter, name: str) -> Counter[str]:
    """Count how often each law fails the subject in the first scenario in which its own law does.

    If there is no such scenario, count over all scenarios.
    """
    subject = known_bad()[name]
    judge, own_law = Judge(subject.make(), twice=False), [LAWS[subject.law]]
    likely = sorted(case_filter.cases(), key=lambda case: not fnmatchcase(case.scenario, subject.shown_by))
    for _, group in groupby(likely, key=lambda case: case.scenario):
        cases = list(group)
        if _failures(judge, cases, own_law)[subject.law]:
            return _failures(judge, cases, LAWS.values())
        judge.forget()
    return _failures(judge, case_filter.cases(), LAWS.values())


def _failures(judge: Judge, cases: Iterable[Case], laws: Collection[Law]) -> Counter[str]:
    verdicts = (verdict for case in cases for verdict in judge.result(case, laws).verdicts)
    return Counter(verdict.check for verdict in verdicts if verdict.outcome == "fail")
