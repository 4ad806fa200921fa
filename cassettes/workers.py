"""Work on all cores, with results in the order of the input, whatever the number of workers."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, util
from threading import Thread
from typing import TypeVar

from toolparity.normalizer.errors import ToolparityError

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The number of items per worker that are in progress at a time.
_UNDER_WAY = 4
#: How many objects are allocated between two runs of the garbage collector; Python's default is 700.
_ALLOCATIONS = 20_000


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # missing on some systems
        return os.cpu_count() or 1


def in_order(function: Callable[[Item], Result], items: Iterable[Item], jobs: int, preload: str) -> Iterator[Result]:
    """Apply ``function`` to each item in ``jobs`` processes. ``preload``: the module that the fork server imports.

    Raises what the function raises, and ToolparityError if a worker dies.
    """
    under_way: deque[Future[Result]] = deque()
    pool = ProcessPoolExecutor(jobs, mp_context=_context(preload), initializer=_follow_the_parent)
    try:
        for item in items:
            with interrupts_held():  # a new worker must not receive SIGINT before it ignores it
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
    """Terminate the workers in the middle of their items; the pool has no public method for it before Python 3.14."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.terminate()


def _context(preload: str) -> multiprocessing.context.BaseContext:
    """Return a fork server context, or spawn where there is no fork server.

    Fork servers start fast and, unlike a plain fork, are safe with threads.
    """
    methods = multiprocessing.get_all_start_methods()
    if "forkserver" not in methods:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    return context


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Delay SIGINT until the block ends. Processes that are started in the block inherit the signal mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the garbage collector run rarely. Decoding makes many objects and hardly any cycles."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _follow_the_parent() -> None:
    """Leave interrupts to the parent, and end when it ends."""
    gc.freeze()  # the modules
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_after_the_parent, name="end after the parent", daemon=True).start()


def _end_after_the_parent() -> None:
    """Wait for the end of the parent. A killed parent shuts no pool down, and its workers would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # this is a worker
    connection.wait([parent.sentinel])
    util._run_finalizers(0)  # type: ignore[attr-defined] # not in typeshed; ends the programs of subjects
    os._exit(1)
