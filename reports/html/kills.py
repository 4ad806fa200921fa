"""Kill matrix: which law failed which known-bad subject."""

from __future__ import annotations

from typing import NamedTuple

from ..escape import cut
from ..kill_matrix import generated_text, surviving_mutants, unneeded_laws
from ..results import Run
from .columns import NAME, WORDS


class KillCount(NamedTuple):
    """A count of cases. ``own`` is True in the column of the law that must fail this subject."""

    number: int
    own: bool


class KillRow(NamedTuple):
    """A known-bad subject. ``dead`` is True if its own law failed it."""

    name: str
    sentence: str
    law: str
    dead: bool
    cells: list[KillCount]


class Matrix(NamedTuple):
    """The matrix. ``unneeded_laws`` contains the laws that fail none of the known-bad subjects written for them.

    ``generated``: the figures of the generated known-bad subjects, "" if none ran.
    """

    laws: list[str]
    rows: list[KillRow]
    dead: int
    unneeded_laws: list[str]
    generated: str


def matrix(run: Run) -> Matrix | None:
    """Return the matrix, or None if the run has no known-bad subjects."""
    if not run.kills:
        return None
    laws = list(dict.fromkeys([*(law.id for law in run.laws), *(kill.law for kill in run.kills)]))
    rows = [
        KillRow(
            cut(kill.name, NAME),
            cut(kill.sentence, WORDS),
            cut(kill.law, NAME),
            bool(kill.by.get(kill.law)),
            [KillCount(kill.by.get(law, 0), law == kill.law) for law in laws],
        )
        for kill in run.kills
    ]
    dead = len(rows) - len(surviving_mutants(run))
    generated = "" if run.generated is None else generated_text(run.generated)
    unneeded = [cut(law.id, NAME) for law in unneeded_laws(run)]
    return Matrix([cut(law, NAME) for law in laws], rows, dead, unneeded, generated)
