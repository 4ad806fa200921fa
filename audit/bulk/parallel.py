"""Audits and canonical lines on all cores: workers read parts of the input, and the parent merges in order.

Conversations span parts: the workers return a record of each exchange, and the parent links the records in order. The
result depends neither on the number of workers nor on the size of the parts. At any time only a few parts per worker
are in progress, whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.sources import FilePart, Numbering, Problem, split_files
from toolparity.cassettes.workers import cores, in_order, rare_collections
from toolparity.normalizer.model import Policy, Wire

from ..canonical import CanonicalPart, canonical_part
from ..conversations import ConversationAudit
from ..conversations.audit import FINDINGS_KEPT
from ..places import shift
from ..summary import EXAMPLES_KEPT, Audit, audit_part

#: The approximate size of a part of a file, in bytes: about a tenth of a second of work. The result of a part repeats
#: the histories of the parts before it, so smaller parts of logs of agents take the linking process more time.
PART_BYTES = 4 * 1024 * 1024

Result = TypeVar("Result")


class Engine(Struct, frozen=True):
    """What processes the parts of an input.

    ``in_parts(work, pieces)`` yields each problem, and each part with what ``work`` returns for it, in order.
    ``part_bytes`` and ``unpack``: see `split_files`.
    """

    in_parts: Callable[..., Iterator[tuple[FilePart, Any] | Problem]]
    part_bytes: int
    unpack: bool


def local_engine(jobs: int = 0) -> Engine:
    """Return the engine of this machine: ``jobs`` worker processes; 0 means one per core."""
    return Engine(partial(in_parts, jobs=jobs), PART_BYTES, unpack=True)


def audit_paths(
    paths: Iterable[str],
    *,
    wire: Wire | None = None,
    format: str | None = None,
    columns: tuple[str, ...] = (),
    policy: Policy = "all",
    limit: int | None = None,
    jobs: int = 0,
    engine: Engine | None = None,
    kept: int | None = None,
    on_problem: Callable[[Problem], None] = lambda problem: None,
    on_progress: Callable[[int], None] = lambda weight: None,
) -> Audit:
    """Audit files and directories. ``jobs``: the number of worker processes; 0 means one per core.

    ``engine``: what processes the parts instead of these workers.
    ``format``: a key of `toolparity.cassettes.sources.FORMATS`, by default the format that each file shows.
    ``columns``: see `toolparity.cassettes.sources.read`.
    ``kept``: how many findings of each code are kept with their places, by default few.
    ``on_problem`` is called with each place that cannot be read, in the order of the input; ``on_progress`` with the
    number of bytes that were processed. Raises ToolparityError if a worker dies.
    """
    whole = Audit()
    conversations = ConversationAudit(kept or FINDINGS_KEPT)
    examples = kept or EXAMPLES_KEPT
    numbering = Numbering()
    work = partial(audit_part, wire=wire, policy=policy, limit=limit, examples=examples)
    engine = engine or local_engine(jobs)
    pieces = split_files(paths, engine.part_bytes, format, columns, unpack=engine.unpack)
    with rare_collections():
        for result in engine.in_parts(work, pieces):
            if isinstance(result, Problem):
                whole.unread(result)
                on_problem(result)
                continue
            piece, part = result
            shift(part, numbering.offset(piece, part.lines))
            whole.merge(part.audit, examples)
            for record in part.records:
                conversations.add(record)
            for problem in part.problems:
                on_problem(problem)
            on_progress(piece.weight)
    whole.conversations = conversations.finish()
    return whole


def canonical_lines(
    paths: Iterable[str],
    *,
    wire: Wire | None = None,
    format: str | None = None,
    columns: tuple[str, ...] = (),
    policy: Policy = "all",
    limit: int | None = None,
    raw: bool = False,
    jobs: int = 0,
) -> Iterator[CanonicalPart | Problem]:
    """Yield the canonical form of each part of the input, with final places, and each place that cannot be read.

    The options are those of `audit_paths` and `canonical_part`. Raises ToolparityError if a worker dies.
    """
    numbering = Numbering()
    work = partial(canonical_part, wire=wire, policy=policy, limit=limit, raw=raw)
    for result in in_parts(work, split_files(paths, PART_BYTES, format, columns, unpack=True), jobs):
        if isinstance(result, Problem):
            yield result
            continue
        piece, part = result
        part.shift(numbering.offset(piece, part.lines))
        yield part


def in_parts(
    work: Callable[[FilePart], Result], pieces: Iterable[FilePart | Problem], jobs: int
) -> Iterator[tuple[FilePart, Result] | Problem]:
    """Yield each part, without its content, with what ``work`` returns for it, and each problem, in order.

    ``jobs``: the number of worker processes; 0 means one per core. Fewer than two parts are processed in this process,
    because starting workers takes longer. Raises ToolparityError if a worker dies.
    """
    jobs = jobs or cores()
    rest = iter(pieces)
    first = list(islice(rest, 2))
    paired = partial(_paired, work)
    if jobs > 1 and len(first) == 2:
        return in_order(paired, chain(first, rest), jobs, "toolparity.audit.summary")
    return map(paired, chain(first, rest))


def _paired(work: Callable[[FilePart], Result], piece: FilePart | Problem) -> tuple[FilePart, Result] | Problem:
    if isinstance(piece, Problem):
        return piece
    return replace(piece, content=None), work(piece)
