"""The suite on all cores: scenarios go to workers, their verdicts come back in the order of the cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby

from reports.results import Verdict

from .bench import Bench, Choice
from .evidence import Case
from .subjects import subject
from .workers import cores, in_order

#: Fewer scenarios are done before workers would have started.
_FEW = 8


def verdicts(
    name: str,
    choice: Choice,
    *,
    twice: bool = True,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda cases: None,
) -> Iterator[Verdict]:
    """The verdicts on the subject of a name. ``jobs``: worker processes, 0 for one a core.

    ``on_progress`` is told how many cases were done. Raises UnknownSubject, and ToolparityError where a worker died.
    """
    groups = [list(found) for _, found in groupby(choice.cases(), key=lambda case: case.scenario)]
    work = partial(_judged, name, twice)
    jobs = jobs or cores()
    several = jobs > 1 and len(groups) > _FEW
    done = in_order(work, groups, jobs, "conformance.runner") if several else map(work, groups)
    for cases, found in zip(groups, done, strict=True):
        on_progress(len(cases))
        yield from found


def _judged(name: str, twice: bool, cases: Sequence[Case]) -> list[Verdict]:
    bench = _bench(name, twice)
    found = [verdict for case in cases for verdict in bench.verdicts(case)]
    bench.forget()
    return found


@cache
def _bench(name: str, twice: bool) -> Bench:
    """One a process: a subject that is a program is started once."""
    return Bench(subject(name), twice=twice)
