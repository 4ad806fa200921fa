"""Timing that is fair on a busy machine: all readers of one case take turns, and ratios are made turn by turn.

A turn measures every reader once, one straight after the other, in an order that rotates; so whatever slows the machine
slows them all, and the median of the turns' ratios is steady where the times themselves are not. The times are kept as
pyperf benchmarks, for `python -m pyperf compare_to`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median

import pyperf

Job = Callable[[], object]


class Times:
    """The seconds that each reader of a case took, turn by turn."""

    def __init__(self, case: str, seconds: dict[str, list[float]]) -> None:
        self.case = case
        self.seconds = seconds

    def ratio(self, name: str, base: str) -> float:
        """How many times as long as ``base`` a reader takes: the median of the turns' ratios."""
        return median(one / other for one, other in zip(self.seconds[name], self.seconds[base], strict=True))

    def microseconds(self, name: str) -> float:
        """The median time of a reader."""
        return median(self.seconds[name]) * 1e6

    def benchmarks(self) -> list[pyperf.Benchmark]:
        """The same for pyperf."""
        return [
            pyperf.Benchmark([pyperf.Run(values, metadata={"name": f"{self.case}: {name}"})])
            for name, values in self.seconds.items()
        ]


def measure(case: str, jobs: dict[str, Job], turns: int, share: float) -> Times:
    """Let the readers of a case take turns; ``share``: the seconds that each of them gets in one turn."""
    loops = {name: _loops(job, share) for name, job in jobs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    names = list(jobs)
    for turn in range(turns):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            gc.collect()
            seconds[name].append(_time(jobs[name], loops[name]))
    return Times(case, seconds)


def _loops(job: Job, share: float) -> int:
    """How often a job runs in its share of a turn. Runs it a few times, which also warms it up."""
    job()
    once = min(_time(job, 1) for _ in range(3))
    return max(1, int(share / once))


def _time(job: Job, loops: int) -> float:
    laps = range(loops)
    if loops > 1:
        job()  # once unmeasured: the reader before has filled the processor's caches
    start = pyperf.perf_counter()
    for _ in laps:
        job()
    elapsed: float = (pyperf.perf_counter() - start) / loops
    return elapsed
