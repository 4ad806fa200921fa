"""Timing on a busy machine: the readers of a case take turns, and each turn gives its own ratios.

A turn measures every reader once, in an order that rotates. Other load on the machine slows all readers of a turn, so
the median of the ratios is stable even if the times are not. The times are available as pyperf benchmarks, for
`python -m pyperf compare_to`.
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
        """Return the median over all turns of a reader's time divided by that of ``base``."""
        return median(one / other for one, other in zip(self.seconds[name], self.seconds[base], strict=True))

    def microseconds(self, name: str) -> float:
        """Return the median time of a reader in microseconds."""
        return median(self.seconds[name]) * 1e6

    def benchmarks(self) -> list[pyperf.Benchmark]:
        """Return the times as pyperf benchmarks."""
        return [
            pyperf.Benchmark([pyperf.Run(values, metadata={"name": f"{self.case}: {name}"})])
            for name, values in self.seconds.items()
        ]


def measure(case: str, jobs: dict[str, Job], turns: int, share: float) -> Times:
    """Measure the readers of a case for ``turns`` turns. Each reader runs about ``share`` seconds per turn."""
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
    """Return how often a job runs in its share of a turn. This runs the job a few times, which also warms it up."""
    job()
    once = min(_time(job, 1) for _ in range(3))
    return max(1, int(share / once))


def _time(job: Job, loops: int) -> float:
    laps = range(loops)
    if loops > 1:
        job()  # once unmeasured, because the previous reader has filled the CPU caches
    start = pyperf.perf_counter()
    for _ in laps:
        job()
    elapsed: float = (pyperf.perf_counter() - start) / loops
    return elapsed
