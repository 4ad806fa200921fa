"""Timing on a busy machine: the readers of a case take turns, and the fastest run of each counts.

A turn measures every reader once, in an order that rotates. The time is the processor time of the thread, without the
time of other programs. Their load still makes a run slower, so the fastest of many runs is the most stable figure.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

Job = Callable[[], object]


class Times:
    """The seconds that each reader of a case took, turn by turn."""

    def __init__(self, seconds: dict[str, list[float]]) -> None:
        self.seconds = seconds

    def ratio(self, name: str, base: str) -> float:
        """Return the fastest run of a reader divided by the fastest of ``base``."""
        return min(self.seconds[name]) / min(self.seconds[base])

    def spread(self, name: str, base: str) -> tuple[float, float]:
        """Return the lowest and the highest ratio of the fastest runs in each fifth of the turns."""
        own, others = self.seconds[name], self.seconds[base]
        size = max(1, len(own) // 5)
        starts = range(0, len(own) - size + 1, size)
        ratios = [min(own[start : start + size]) / min(others[start : start + size]) for start in starts]
        return min(ratios), max(ratios)

    def microseconds(self, name: str) -> float:
        """Return the fastest run of a reader in microseconds."""
        return min(self.seconds[name]) * 1e6


def measure(jobs: dict[str, Job], turns: int, share: float) -> Times:
    """Measure the readers of a case for ``turns`` turns. Each reader runs about ``share`` seconds per turn."""
    loops = {name: _loops(job, share) for name, job in jobs.items()}
    gc.collect()
    gc.freeze()  # the collections between the runs need not look at the modules of SDKs
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    names = list(jobs)
    for turn in range(turns):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            gc.collect()
            seconds[name].append(_time(jobs[name], loops[name]))
    return Times(seconds)


def _loops(job: Job, share: float) -> int:
    """Return how often a job runs in its share of a turn. This runs the job a few times, which also warms it up."""
    job()
    once = min(_time(job, 1) for _ in range(3))
    return max(1, int(share / once))


def _time(job: Job, loops: int) -> float:
    laps = range(loops)
    if loops > 1:
        job()  # once unmeasured, because the previous reader has filled the CPU caches
    start = time.thread_time()
    for _ in laps:
        job()
    return (time.thread_time() - start) / loops
