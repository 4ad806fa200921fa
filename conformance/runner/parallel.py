"""Runs the suite on all cores: workers run scenarios, and the results come back in the order of the cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby
from typing import NamedTuple

from toolparity.reports.results import Result, Traffic

from ..cases.case import Case
from ..subjects import subject
from .judge import CaseFilter, Judge
from .workers import cores, in_order

#: Up to this many scenarios run in this process, because starting workers takes longer.
_FEW = 8


class ScenarioResults(NamedTuple):
    """The results of one scenario, and its wire excerpts."""

    results: list[Result]
    traffic: list[Traffic]


def scenario_results(
    name: str,
    choice: CaseFilter,
    *,
    twice: bool = True,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda cases: None,
) -> Iterator[ScenarioResults]:
    """Yield the results of a subject, scenario by scenario.

    ``jobs``: the number of worker processes; 0 means one per core.

    ``on_progress`` is called with the number of finished cases. Raises UnknownSubject, and ToolparityError if a worker
    dies.
    """
    groups = [list(found) for _, found in groupby(choice.cases(), key=lambda case: case.scenario)]
    work = partial(_judged, name, twice)
    jobs = jobs or cores()
    several = jobs > 1 and len(groups) > _FEW
    done = in_order(work, groups, jobs, "toolparity.conformance.runner.parallel") if several else map(work, groups)
    for cases, found in zip(groups, done, strict=True):
        on_progress(len(cases))
        yield found


def _judged(name: str, twice: bool, cases: Sequence[Case]) -> ScenarioResults:
    bench = _bench(name, twice)
    results = [bench.result(case) for case in cases]
    shown = {case[:3]: case for case in cases if case.policy == "all"}
    shown |= {case[:3]: case for case in cases if case[:3] not in shown}
    traffic = [made for case in shown.values() if (made := bench.traffic(case)) is not None]
    bench.forget()
    return ScenarioResults(results, traffic)


@cache
def _bench(name: str, twice: bool) -> Judge:
    """Return the runner of a subject. There is one per process, so that an executable subject is started only once."""
    return Judge(subject(name), twice=twice, called=name)
