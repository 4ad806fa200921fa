"""The bench of the generated known-bad subjects that change answers.

The reference reads every case once. Each subject changes these answers, and the laws judge the changed ones until one
fails.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, cast

from msgspec.structs import replace

from ..answer import SubjectAnswer, parse_answer
from ..cases.case import Case, CaseRound, Evidence
from ..errors import InvalidAnswer
from ..known_bad.generated import AnswerMutant
from ..known_bad.generated.brief import CLAIMS, brief_form
from ..laws import LAWS
from ..subjects import Subject
from ..subjects.reference import Reference
from .bench import CachedCase, Death, cached_cases, death
from .judge import CaseFilter, verdict_of

#: The laws that judge a changed answer. The others read the response again, or compare two answers that are changed
#: alike.
_LAWS = [law for law in LAWS.values() if law.id not in ("any-split", "alike", "answered", "replay", "handoff")]


class _BriefReference(Reference):
    """The reference with the claims of the brief form."""

    name = "brief reference"
    claims = CLAIMS


class AnswerBench:
    """All selected cases, in which subjects change the reference's answers."""

    def __init__(self, case_filter: CaseFilter) -> None:
        self._cases = cached_cases(case_filter)
        self._unchanged: dict[tuple[Case, bool], tuple[str, ...]] = {}
        self._by_case = {cached.case: cached for cached in self._cases}

    def kill(self, mutant: AnswerMutant) -> Death:
        """Return how the subject fares."""
        return death(mutant, self._verdicts(mutant))

    def _verdicts(self, mutant: AnswerMutant) -> Iterator[tuple[Case, tuple[str, ...]]]:
        """Yield each case that the subject changes, with the laws that fail it there. It dies once in a scenario."""
        killed_in = ""
        for cached in self._cases:
            if cached.case.scenario == killed_in:
                continue
            if not mutant.needs <= cached.traits or (mutant.brief and cached.case.policy != "all"):
                continue
            rounds = self._changed(mutant, cached)
            if rounds is None:
                continue
            failed = self._failed(mutant, cached, rounds)
            laws = tuple(law for law in failed if law not in self._failed_unchanged(mutant, cached))
            killed_in = cached.case.scenario if laws else killed_in
            yield cached.case, laws

    def _changed(self, mutant: AnswerMutant, cached: CachedCase) -> list[CaseRound] | None:
        """Return the rounds with changed answers, or None if the subject changes none of them."""
        rounds, changed = [], False
        for round, form in zip(cached.rounds, cached.forms, strict=True):
            answer = None
            if form is not None:
                answer = _answer(mutant, round, form)
            changed = changed or answer is not None
            if answer is None and mutant.brief:
                answer = _plain(form)
            rounds.append(round if answer is None else replace(round, answer=answer))
        return rounds if changed else None

    def _failed_unchanged(self, mutant: AnswerMutant, cached: CachedCase) -> tuple[str, ...]:
        """Return the laws that fail the reference itself on the bench: they say nothing about a subject."""
        key = (cached.case, mutant.brief)
        if key not in self._unchanged:
            rounds = _brief_rounds(cached) if mutant.brief else cached.rounds
            nothing = mutant._replace(change=lambda form: False)
            self._unchanged[key] = self._failed(nothing, cached, rounds)
        return self._unchanged[key]

    def _failed(self, mutant: AnswerMutant, cached: CachedCase, rounds: list[CaseRound]) -> tuple[str, ...]:
        def sibling(case: Case, chunking: str | None) -> list[CaseRound] | None:
            other = self._by_case.get(case)
            if other is None or chunking is not None:
                return None
            return self._changed(mutant, other) or (_brief_rounds(other) if mutant.brief else other.rounds)

        def next_request(follow_up: Any) -> Any:
            raise InvalidAnswer("this subject only reads")

        subject = _BriefReference() if mutant.brief else Reference()
        evidence = Evidence(cached.case, cast(Subject, subject), rounds, [], sibling, next_request)
        verdicts = (verdict_of(law, evidence) for law in _LAWS)
        return tuple(verdict.check for verdict in verdicts if verdict is not None and verdict.outcome == "fail")


def _answer(mutant: AnswerMutant, round: CaseRound, pickled: bytes) -> SubjectAnswer | None:
    """Return the changed answer, or None if the subject does not change it."""
    if not mutant.applies(round.exchange):
        return None
    form = pickle.loads(pickled)
    if not mutant.change(form):
        return None
    try:
        if not mutant.brief:
            return parse_answer(form)
        brief = brief_form(form)
        return None if brief == brief_form(pickle.loads(pickled)) else parse_answer(brief)
    except (InvalidAnswer, KeyError, TypeError) as error:
        return SubjectAnswer(error=f"invalid answer: {error}", complete=False)


def _plain(form: bytes | None) -> SubjectAnswer:
    """Return the unchanged answer in the brief form."""
    if form is None:
        return SubjectAnswer(error="the reference refused the response", complete=False)
    return parse_answer(brief_form(pickle.loads(form)))


def _brief_rounds(cached: CachedCase) -> list[CaseRound]:
    pairs = zip(cached.rounds, cached.forms, strict=True)
    return [replace(round, answer=_plain(form)) for round, form in pairs]
