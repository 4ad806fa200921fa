"""Kill matrix: which law failed which known-bad subject."""

from __future__ import annotations

from typing import NamedTuple

from ..escape import cut
from ..results import Run
from ..statistics import alive, idle
from .columns import NAME, WORDS


class Cell(NamedTuple):
    """A count of cases. ``own`` is True in the column of the law that must fail this subject."""

    number: int
    own: bool


class Row(NamedTuple):
    """A known-bad subject. ``dead`` is True if its own law failed it."""

    name: str
    sentence: str
    law: str
    dead: bool
    cells: list[Cell]


class Matrix(NamedTuple):
    """The matrix. ``idle`` contains the laws that fail none of the known-bad subjects written for them."""

    laws: list[str]
    rows: list[Row]
    dead: int
    idle: list[str]


def matrix(run: Run) -> Matrix | None:
    """Return the matrix, or None if the run has no known-bad subjects."""
    if not run.kills:
        return None
    laws = list(dict.fromkeys([*(law.id for law in run.laws), *(one.law for one in run.kills)]))
    rows = [
        Row(
            cut(one.name, NAME),
            cut(one.sentence, WORDS),
            cut(one.law, NAME),
            bool(one.by.get(one.law)),
            [Cell(one.by.get(law, 0), law == one.law) for law in laws],
        )
        for one in run.kills
    ]
    dead = len(rows) - len(alive(run))
    return Matrix([cut(law, NAME) for law in laws], rows, dead, [cut(law.id, NAME) for law in idle(run)])
