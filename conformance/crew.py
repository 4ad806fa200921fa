"""An audit with all cores: the parent splits the input, workers read, decode and count, the parent adds up in order.

The parts do not depend on the number of workers and are merged in their order, so the result does not either. At most
a few parts for each worker are under way at a time, whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice

from toolparity.cassettes.sources import Piece, Problem, pieces

from .audit import Audit, audit_piece
from .workers import cores, in_order

#: Lines are gathered to about this much before a worker gets them: a few milliseconds of work.
BATCH_BYTES = 1024 * 1024

_Part = tuple[Audit, list[Problem], int]


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
    work = partial(_part, wire, policy, limit)
    if jobs > 1 and len(first) == 2:
        return in_order(work, chain(first, input), jobs, "toolparity.conformance.audit")
    return map(work, chain(first, input))


def _part(wire: str | None, policy: str, limit: int | None, piece: Piece | Problem) -> _Part:
    if isinstance(piece, Problem):
        audit = Audit()
        audit.unread(piece)
        return audit, [piece], 0
    return (*audit_piece(piece, wire, policy, limit), piece.weight)
