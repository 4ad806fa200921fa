"""The kill matrix: how often each law fails each known-bad subject.

It covers the first scenario in which the law that is named for the subject fails it. A law that fails no subject, or a
subject that its law does not fail, is a gap in the suite.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import groupby

from toolparity import __version__
from toolparity.reports import results

from ..cases.case import Case
from ..known_bad import known_bad
from ..laws import LAWS, Law
from . import suite
from .judge import CaseFilter, Judge
from .workers import cores, in_order


def run(
    choice: CaseFilter, *, jobs: int = 0, on_progress: Callable[[int], None] = lambda subjects: None
) -> results.Run:
    """Run every known-bad subject against the suite until its law fails it, then check all laws in that scenario.

    ``on_progress`` is called with 1 for each finished subject. Raises ToolparityError if a worker dies.
    """
    began, date = time.monotonic(), suite.now()
    bad = known_bad()
    jobs = jobs or cores()
    work = partial(_put, choice)
    done = in_order(work, list(bad), jobs, "toolparity.conformance.runner.kill") if jobs > 1 else map(work, bad)
    kills = []
    for one, counts in zip(bad.values(), done, strict=True):
        kills.append(results.Kill(one.name, one.law, one.sentence, dict(counts)))
        on_progress(1)
    return results.Run(
        __version__,
        date,
        suite.environment(),
        subjects=[],
        laws=suite.law_reports(),
        scenarios=[],
        results=[],
        kills=kills,
        seconds=round(time.monotonic() - began, 3),
    )


def _put(choice: CaseFilter, name: str) -> Counter[str]:
    """Count how often each law fails the subject in the first scenario in which its own law does.

    If there is no such scenario, count over all scenarios.
    """
    bad = known_bad()[name]
    bench, own = Judge(bad.make(), twice=False), [LAWS[bad.law]]
    for _, group in groupby(choice.cases(), key=lambda case: case.scenario):
        cases = list(group)
        if _failed(bench, cases, own)[bad.law]:
            return _failed(bench, cases, LAWS.values())
        bench.forget()
    return _failed(bench, choice.cases(), LAWS.values())


def _failed(bench: Judge, cases: Iterable[Case], laws: Collection[Law]) -> Counter[str]:
    verdicts = (verdict for case in cases for verdict in bench.result(case, laws).verdicts)
    return Counter(verdict.check for verdict in verdicts if verdict.outcome == "fail")
