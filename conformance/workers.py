"""Work on all cores, its results in the order of the input, whatever the number of workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from toolparity.normalizer.errors import ToolparityError

Item = TypeVar("Item")
Result = TypeVar("Result")

#: So many items for each worker are under way at a time.
_UNDER_WAY = 4


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def in_order(function: Callable[[Item], Result], items: Iterable[Item], jobs: int, preload: str) -> Iterator[Result]:
    """``function`` of each item, by ``jobs`` processes. ``preload``: the module that workers begin with.

    Raises what the function raises, and ToolparityError where a worker died.
    """
    under_way: deque[Future[Result]] = deque()
    pool = ProcessPoolExecutor(jobs, mp_context=_context(preload), initializer=_leave_interrupts_to_the_parent)
    try:
        for item in items:
            with _interrupts_held():  # what is started here must not die of an interrupt before it can ignore it
                under_way.append(pool.submit(function, item))
            if len(under_way) >= jobs * _UNDER_WAY:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    except BrokenProcessPool:
        raise ToolparityError(
            "a worker process died", hint="out of memory? --jobs 1 shows where, without workers"
        ) from None
    except KeyboardInterrupt:
        _stop(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End workers in the middle of their item; the pool has no public way before 3.14."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.terminate()


def _context(preload: str) -> multiprocessing.context.BaseContext:
    """Fork servers start fast and, unlike a plain fork, are safe beside threads; some systems only spawn."""
    methods = multiprocessing.get_all_start_methods()
    if "forkserver" not in methods:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    return context


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """An interrupt that comes meanwhile is delivered afterwards; processes that are started inherit the mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
