"""An audit with all cores: the parent splits the input, workers read, decode and count, the parent adds up in order.

The parts do not depend on the number of workers and are merged in their order, so the result does not either. At most
a few parts for each worker are under way at a time, whatever the size of the input.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice

from cassettes.sources import Piece, Problem, pieces
from normalizer.errors import ToolparityError

from .audit import Audit, audit_piece

#: Lines are gathered to about this much before a worker gets them: a few milliseconds of work.
BATCH_BYTES = 1024 * 1024
_UNDER_WAY = 4

_Part = tuple[Audit, list[Problem], int]


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def audit_paths(
    paths: Iterable[str],
    *,
    wire: str | None = None,
    policy: str = "all",
    limit: int | None = None,
    jobs: int = 0,
    on_problem: Callable[[Problem], None] = lambda problem: None,
    on_progress: Callable[[int], None] = lambda weight: None,
) -> Audit:
    """Audit files and directories. ``jobs``: worker processes, 0 for one a core.

    ``on_problem`` is told of each place that cannot be read, in the order of the input; ``on_progress`` of bytes done.
    Raises ToolparityError where a worker died.
    """
    whole = Audit()
    for part, problems, weight in _parts(pieces(paths, BATCH_BYTES), wire, policy, limit, jobs or cores()):
        whole.merge(part)
        for problem in problems:
            on_problem(problem)
        on_progress(weight)
    return whole


def _parts(
    input: Iterator[Piece | Problem], wire: str | None, policy: str, limit: int | None, jobs: int
) -> Iterator[_Part]:
    """One part for each piece, in order. What fits two pieces is done here: workers take longer to start."""
    first = list(islice(input, 2))
    if jobs > 1 and len(first) == 2:
        yield from _by_workers(chain(first, input), wire, policy, limit, jobs)
        return
    for piece in chain(first, input):
        if isinstance(piece, Problem):
            yield _unread(piece)
        else:
            yield (*audit_piece(piece, wire, policy, limit), piece.weight)


def _by_workers(
    input: Iterator[Piece | Problem], wire: str | None, policy: str, limit: int | None, jobs: int
) -> Iterator[_Part]:
    under_way: deque[tuple[Future[tuple[Audit, list[Problem]]] | Problem, int]] = deque()
    pool = ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_leave_interrupts_to_the_parent)
    try:
        for piece in input:
            if isinstance(piece, Problem):
                under_way.append((piece, 0))
            else:
                under_way.append((pool.submit(audit_piece, piece, wire, policy, limit), piece.weight))
            if len(under_way) >= jobs * _UNDER_WAY:
                yield _done(under_way.popleft())
        while under_way:
            yield _done(under_way.popleft())
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
    """End workers in the middle of their piece, which can be a whole file; the pool has no public way before 3.14."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.terminate()


def _done(item: tuple[Future[tuple[Audit, list[Problem]]] | Problem, int]) -> _Part:
    waited_for, weight = item
    if isinstance(waited_for, Problem):
        return _unread(waited_for)
    return (*waited_for.result(), weight)


def _unread(problem: Problem) -> _Part:
    return Audit(problems=1, faults=int(problem.fault)), [problem], 0


def _context() -> multiprocessing.context.BaseContext:
    """Fork servers start fast and, unlike a plain fork, are safe beside threads; some systems only spawn."""
    methods = multiprocessing.get_all_start_methods()
    if "forkserver" not in methods:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["conformance.audit"])
    return context


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
