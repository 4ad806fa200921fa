"""What the benches of the generated known-bad subjects share: the reference's answers, and how a subject fared."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, cast

from toolparity.normalizer.errors import ToolparityError

from ..cases.case import Case, CaseRound
from ..errors import InvalidAnswer
from ..known_bad.generated.answers import traits
from ..subjects import Subject
from ..subjects.reference import Reference
from .judge import CaseFilter, Judge

#: Longer responses, in bytes, kill no subject that others do not kill. They took nine tenths of the memory.
_LONG = 1 << 16


class Death(NamedTuple):
    """How a generated subject fared. ``case``: the first case in which a law fails it, "" if it survives.

    ``laws``: the laws that fail it there. ``changed``: whether it changed any answer that its form shows, or any
    request.
    """

    name: str
    field: str
    case: str
    scenario: str
    laws: tuple[str, ...]
    changed: bool


class CachedCase(NamedTuple):
    """A case with the reference's answers: ``forms`` has the canonical form of each round as a pickle, or None."""

    case: Case
    rounds: list[CaseRound]
    forms: list[bytes | None]
    traits: frozenset[str]

    @property
    def size(self) -> int:
        return sum(len(form or b"") for form in self.forms)


@cache
def cached_cases(case_filter: CaseFilter) -> list[CachedCase]:
    """Return the selected cases that the reference reads, the smallest first."""
    judge = Judge(cast(Subject, Reference()), twice=False)
    return sorted(_cached(case_filter, judge), key=lambda cached: cached.size)


def _cached(case_filter: CaseFilter, judge: Judge) -> Iterator[CachedCase]:
    for case in case_filter.cases():
        try:
            rounds = judge.rounds(case)
        except (ToolparityError, InvalidAnswer):
            continue
        if sum(len(piece) for round in rounds for piece in round.exchange.pieces) > _LONG:
            continue
        forms = [None if round.answer.form is None else pickle.dumps(round.answer.form) for round in rounds]
        found = (traits(round.answer.form) for round in rounds if round.answer.form is not None)
        yield CachedCase(case, rounds, forms, frozenset().union(*found))
