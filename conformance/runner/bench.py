"""What the benches of the generated known-bad subjects share: the reference's answers, and how a subject fared."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import NamedTuple, Protocol, cast

from toolparity.normalizer.errors import ToolparityError

from ..cases.case import Case, CaseRound
from ..cases.expected import Expected
from ..errors import InvalidAnswer
from ..known_bad.generated.answers import traits
from ..subjects import Subject
from ..subjects.reference import Reference
from .judge import CaseFilter, Judge

#: Longer responses, in bytes, kill no subject that others do not kill. They took nine tenths of the memory.
_LONG = 1 << 16


class Mutant(Protocol):
    """A generated subject: its name, and the member that it changes."""

    @property
    def name(self) -> str: ...

    @property
    def field(self) -> str: ...


class Death(NamedTuple):
    """How a generated subject fared. ``case``: the first case in which a law fails it, "" if it survives.

    ``laws``: the laws that fail it there. ``again``: those that fail it in the next scenario in which one does; none if
    its scenario alone kills it. ``changed``: whether it changed any answer that its form shows, or any request.
    """

    name: str
    field: str
    case: str
    scenario: str
    laws: tuple[str, ...]
    changed: bool
    again: tuple[str, ...] = ()

    @property
    def law(self) -> str:
        """The law that alone fails it in both cases, or ""."""
        return self.laws[0] if len({*self.laws, *self.again}) == 1 else ""


def death(mutant: Mutant, verdicts: Iterable[tuple[Case, tuple[str, ...]]]) -> Death:
    """Return how a mutant fared. ``verdicts``: each case that it changes, with the laws that fail it there.

    No further verdict is taken once two scenarios killed it.
    """
    found = Death(mutant.name, mutant.field, "", "", (), changed=False)
    for case, laws in verdicts:
        if not found.case:
            found = found._replace(changed=True, case=case.id if laws else "", laws=laws, scenario=case.scenario)
        elif laws and case.scenario != found.scenario:
            return found._replace(again=laws)
    return found if found.case else found._replace(scenario="")


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
def cached_cases(case_filter: CaseFilter, *, rejected: bool = False) -> list[CachedCase]:
    """Return the selected cases that the reference reads, the smallest first.

    Another policy than `all` is tried where it can act otherwise, on several calls; with ``rejected`` also on calls
    that may not run.
    """
    judge = Judge(cast(Subject, Reference()), twice=False)
    return sorted(_cached(case_filter, judge, rejected), key=lambda cached: cached.size)


def _cached(case_filter: CaseFilter, judge: Judge, rejected: bool) -> Iterator[CachedCase]:
    for _, group in groupby(case_filter.cases(), key=lambda case: case[:3]):
        for case in sorted(group, key=lambda case: case.policy != "all"):
            try:
                rounds = judge.rounds(case)
            except (ToolparityError, InvalidAnswer):
                continue
            if sum(len(piece) for round in rounds for piece in round.exchange.pieces) <= _LONG:
                forms = [None if round.answer.form is None else pickle.dumps(round.answer.form) for round in rounds]
                found = (traits(round.answer.form) for round in rounds if round.answer.form is not None)
                yield CachedCase(case, rounds, forms, frozenset().union(*found))
            if case.policy == "all" and not any(_acts_otherwise(round.expected, rejected) for round in rounds):
                break


def _acts_otherwise(expected: Expected, rejected: bool) -> bool:
    return len(expected.runnable) > 1 or (rejected and len(expected.calls) > len(expected.runnable))
