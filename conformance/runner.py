"""The suite on all cores: scenarios go to workers, their results come back in the order of the cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby
from typing import NamedTuple

from toolparity.reports.results import Result, Traffic

from .bench import Bench, Choice
from .evidence import Case
from .subjects import subject
from .workers import cores, in_order

#: Fewer scenarios are done before workers would have started.
_FEW = 8


class Part(NamedTuple):
    """The results of one scenario, and the traffic that they are about."""

    results: list[Result]
    traffic: list[Traffic]


def parts(
    name: str,
    choice: Choice,
    *,
    twice: bool = True,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda cases: None,
) -> Iterator[Part]:
    """The results of the subject of a name, scenario by scenario. ``jobs``: worker processes, 0 for one a core.

    ``on_progress`` is told how many cases were done. Raises UnknownSubject, and ToolparityError where a worker died.
    """
    groups = [list(found) for _, found in groupby(choice.cases(), key=lambda case: case.scenario)]
    work = partial(_judged, name, twice)
    jobs = jobs or cores()
    several = jobs > 1 and len(groups) > _FEW
    done = in_order(work, groups, jobs, "toolparity.conformance.runner") if several else map(work, groups)
    for cases, found in zip(groups, done, strict=True):
        on_progress(len(cases))
        yield found


def _judged(name: str, twice: bool, cases: Sequence[Case]) -> Part:
    bench = _bench(name, twice)
    results = [bench.result(case) for case in cases]
    shown = {case[:3]: case for case in cases if case.policy == "all"}
    shown |= {case[:3]: case for case in cases if case[:3] not in shown}
    traffic = [made for case in shown.values() if (made := bench.traffic(case)) is not None]
    bench.forget()
    return Part(results, traffic)


@cache
def _bench(name: str, twice: bool) -> Bench:
    """One a process: a subject that is a program is started once."""
    return Bench(subject(name), twice=twice, called=name)
