"""An audit on all cores: the parent splits the input, workers audit the parts, and the parent merges them in order.

The parts do not depend on the number of workers, so neither does the result. At any time only a few parts per worker
are in progress, whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice

from toolparity.cassettes.sources import FilePart, Problem, split_files
from toolparity.normalizer.model import Policy, Wire

from ..workers import cores, in_order
from .summary import Audit, audit_piece

#: The approximate size of a batch of lines for one worker, in bytes: a few milliseconds of work.
BATCH_BYTES = 1024 * 1024

_Part = tuple[Audit, list[Problem], int]


def audit_paths(
    paths: Iterable[str],
    *,
    wire: Wire | None = None,
    policy: Policy = "all",
    limit: int | None = None,
    jobs: int = 0,
    on_problem: Callable[[Problem], None] = lambda problem: None,
    on_progress: Callable[[int], None] = lambda weight: None,
) -> Audit:
    """Audit files and directories. ``jobs``: the number of worker processes; 0 means one per core.

    ``on_problem`` is called with each place that cannot be read, in the order of the input; ``on_progress`` with the
    number of bytes that were processed. Raises ToolparityError if a worker dies.
    """
    whole = Audit()
    for part, problems, weight in _parts(split_files(paths, BATCH_BYTES), wire, policy, limit, jobs or cores()):
        whole.merge(part)
        for problem in problems:
            on_problem(problem)
        on_progress(weight)
    return whole


def _parts(
    input: Iterator[FilePart | Problem], wire: Wire | None, policy: Policy, limit: int | None, jobs: int
) -> Iterator[_Part]:
    """Yield one part for each piece, in order.

    An input of fewer than two pieces is audited in this process, because starting workers takes longer.
    """
    first = list(islice(input, 2))
    work = partial(_part, wire, policy, limit)
    if jobs > 1 and len(first) == 2:
        return in_order(work, chain(first, input), jobs, "toolparity.conformance.audit.summary")
    return map(work, chain(first, input))


def _part(wire: Wire | None, policy: Policy, limit: int | None, piece: FilePart | Problem) -> _Part:
    if isinstance(piece, Problem):
        audit = Audit()
        audit.unread(piece)
        return audit, [piece], 0
    return (*audit_piece(piece, wire, policy, limit), piece.weight)
