"""Moves the places in the audit of a part, whose lines were numbered before the lines before it were counted."""

from __future__ import annotations

from msgspec.structs import replace

from toolparity.cassettes.sources import Problem, moved

from .summary import PartAudit


def shift(part: PartAudit, offset: int) -> None:
    """Add ``offset`` to the line numbers of all places in a part.

    The first examples and the worst places of a part stay the same, because all its places move alike.
    """
    if not offset:
        return
    audit = part.audit
    audit.worst = [
        replace(worst, place=moved(worst.place, offset), source=moved(worst.source, offset)) for worst in audit.worst
    ]
    audit.examples = {
        code: [replace(example, place=moved(example.place, offset)) for example in examples]
        for code, examples in audit.examples.items()
    }
    part.problems = [problem_at(problem, offset) for problem in part.problems]
    for record in part.records:
        record.place = moved(record.place, offset)


def problem_at(problem: Problem, offset: int) -> Problem:
    """Return a problem with ``offset`` added to its line; unchanged if it concerns the whole file."""
    if not offset or problem.line is None:
        return problem
    return replace(problem, source=moved(problem.source, offset), line=problem.line + offset)
