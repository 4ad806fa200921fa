"""The bench of the generated known-bad subjects that change their input: the reference reads the changed input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from toolparity.normalizer.errors import ToolparityError

from ..answer import parse_answer, same_answer
from ..cases.case import Case, CaseRound
from ..errors import InvalidAnswer
from ..known_bad.generated.inputs import InputMutant
from ..laws import LAWS
from ..laws.requests import follow_up
from ..subjects import FollowUp, Subject, SubjectExchange
from ..subjects.reference import Reference
from .bench import CachedCase, Death, cached_cases, death
from .judge import CaseFilter, Judge


class _Misinformed(Reference):
    """The reference with a changed input."""

    def __init__(self, mutant: InputMutant) -> None:
        self._mutant = mutant

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        return super().read(self._mutant.exchange(exchange))

    def next_request(self, follow_up: FollowUp) -> Any:
        return super().next_request(self._mutant.follow_up(follow_up))


class InputBench:
    """All selected cases, which subjects read with a changed input."""

    def __init__(self, case_filter: CaseFilter) -> None:
        self._cases = cached_cases(case_filter)

    def kill(self, mutant: InputMutant) -> Death:
        """Return how the subject fares."""
        return death(mutant, self._verdicts(mutant))

    def _verdicts(self, mutant: InputMutant) -> Iterator[tuple[Case, tuple[str, ...]]]:
        """Yield each case that the subject changes, with the laws that fail it there. It dies once in a scenario."""
        subject = _Misinformed(mutant)
        judge, killed_in = Judge(cast(Subject, subject), twice=False), ""
        for cached in self._cases:
            if cached.case.scenario == killed_in:
                continue
            if cached.case.policy != "all" and not mutant.selects:
                continue
            if not self._changes(mutant, subject, cached):
                continue
            verdicts = judge.result(cached.case, LAWS.values()).verdicts
            judge.forget()
            laws = tuple(verdict.check for verdict in verdicts if verdict.outcome == "fail")
            killed_in = cached.case.scenario if laws else killed_in
            yield cached.case, laws

    def _changes(self, mutant: InputMutant, subject: _Misinformed, cached: CachedCase) -> bool:
        """Return whether the subject reads a response of the case differently, or writes another request."""
        if any(_reads_differently(mutant, subject, round) for round in cached.rounds):
            return True
        followed = [round for round in cached.rounds if round.following] if cached.case.policy == "all" else []
        return any(_writes_differently(mutant, subject, round) for round in followed)


def _reads_differently(mutant: InputMutant, subject: _Misinformed, round: CaseRound) -> bool:
    if mutant.exchange(round.exchange) is round.exchange:
        return False
    try:
        return not same_answer(parse_answer(subject.read(round.exchange)), round.answer)
    except (ToolparityError, InvalidAnswer, TypeError, ValueError, KeyError, AttributeError):
        return True


def _writes_differently(mutant: InputMutant, subject: _Misinformed, round: CaseRound) -> bool:
    wanted = follow_up(round, round.exchange.wire, round.exchange.provider)
    if mutant.follow_up(wanted) == wanted:
        return False
    try:
        return bool(subject.next_request(wanted) != Reference().next_request(wanted))
    except (ToolparityError, TypeError, ValueError, KeyError, AttributeError):
        return True
