"""The kill run of the generated known-bad subjects: which of them survive, and what the suite needs to fail the others.

The reference reads every case once. Each subject changes these answers, and the laws judge the changed ones until one
fails. A subject that no law fails survives.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from toolparity.normalizer.errors import ToolparityError
from toolparity.reports import results

from ..answer import SubjectAnswer, parse_answer
from ..cases.case import Case, CaseRound, Evidence
from ..errors import InvalidAnswer
from ..known_bad.generated import AnswerMutant, equivalents, mutants
from ..known_bad.generated.answers import traits
from ..known_bad.generated.brief import CLAIMS, brief_form
from ..laws import LAWS
from ..subjects import Subject
from ..subjects.reference import Reference
from ..workers import cores, in_order
from .judge import CaseFilter, Judge, verdict_of

#: The laws that judge a changed answer. The others read the response again, or compare two answers that are changed
#: alike.
_LAWS = [law for law in LAWS.values() if law.id not in ("any-split", "alike", "answered", "replay", "handoff")]
#: How many subjects a worker takes at a time.
_CHUNK = 24


class Death(NamedTuple):
    """How a generated subject fared. ``case``: the first case in which a law fails it, "" if it survives.

    ``laws``: the laws that fail it there. ``changed``: whether it changed any answer that its form shows.
    """

    name: str
    field: str
    case: str
    scenario: str
    laws: tuple[str, ...]
    changed: bool


class _CachedCase(NamedTuple):
    """A case with the reference's answers: ``forms`` has the canonical form of each round as a pickle, or None."""

    case: Case
    rounds: list[CaseRound]
    forms: list[bytes | None]
    traits: frozenset[str]

    @property
    def size(self) -> int:
        return sum(len(form or b"") for form in self.forms)


class _BriefReference(Reference):
    """The reference with the claims of the brief form."""

    name = "brief reference"
    claims = CLAIMS


class Bench:
    """All selected cases with the reference's answers, the smallest first."""

    def __init__(self, case_filter: CaseFilter) -> None:
        judge = Judge(cast(Subject, Reference()), twice=False)
        cases = (_cached(case, judge) for case in case_filter.cases())
        self._cases = sorted((case for case in cases if case is not None), key=lambda cached: cached.size)
        self._unchanged: dict[tuple[Case, bool], tuple[str, ...]] = {}
        self._by_case = {cached.case: cached for cached in self._cases}

    def kill(self, mutant: AnswerMutant) -> Death:
        """Return how the subject fares."""
        changed = False
        for cached in self._cases:
            if not mutant.needs <= cached.traits or (mutant.brief and cached.case.policy != "all"):
                continue
            rounds = self._changed(mutant, cached)
            if rounds is None:
                continue
            changed = True
            failed = self._failed(mutant, cached, rounds)
            if laws := tuple(law for law in failed if law not in self._failed_unchanged(mutant, cached)):
                return Death(mutant.name, mutant.field, cached.case.id, cached.case.scenario, laws, True)
        return Death(mutant.name, mutant.field, "", "", (), changed)

    def _changed(self, mutant: AnswerMutant, cached: _CachedCase) -> list[CaseRound] | None:
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

    def _failed_unchanged(self, mutant: AnswerMutant, cached: _CachedCase) -> tuple[str, ...]:
        """Return the laws that fail the reference itself on the bench: they say nothing about a subject."""
        key = (cached.case, mutant.brief)
        if key not in self._unchanged:
            rounds = _brief_rounds(cached) if mutant.brief else cached.rounds
            nothing = mutant._replace(change=lambda form: False)
            self._unchanged[key] = self._failed(nothing, cached, rounds)
        return self._unchanged[key]

    def _failed(self, mutant: AnswerMutant, cached: _CachedCase, rounds: list[CaseRound]) -> tuple[str, ...]:
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


def _cached(case: Case, judge: Judge) -> _CachedCase | None:
    try:
        rounds = judge.rounds(case)
    except (ToolparityError, InvalidAnswer):
        return None
    forms = [None if round.answer.form is None else pickle.dumps(round.answer.form) for round in rounds]
    found = (traits(round.answer.form) for round in rounds if round.answer.form is not None)
    return _CachedCase(case, rounds, forms, frozenset().union(*found))


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


def _brief_rounds(cached: _CachedCase) -> list[CaseRound]:
    pairs = zip(cached.rounds, cached.forms, strict=True)
    return [replace(round, answer=_plain(form)) for round, form in pairs]


@cache
def _bench(case_filter: CaseFilter) -> Bench:
    """Return the bench of a worker."""
    return Bench(case_filter)


def _kill_chunk(case_filter: CaseFilter, names: list[str]) -> list[Death]:
    return [_bench(case_filter).kill(mutants()[name]) for name in names]


def run(
    case_filter: CaseFilter,
    names: Sequence[str] | None = None,
    *,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda subjects: None,
) -> results.GeneratedKills:
    """Run the generated subjects, all or the named ones.

    ``on_progress`` is called with the number of subjects that are done. Raises ToolparityError if a worker dies.
    """
    chosen = list(mutants()) if names is None else list(names)
    jobs = jobs or cores()
    # Neighbours in the list take equally long, so each chunk takes subjects from all over it.
    count = max(1, -(-len(chosen) // _CHUNK))
    chunks = [chosen[start::count] for start in range(count)]
    kill = partial(_kill_chunk, case_filter)
    done = in_order(kill, chunks, jobs, __name__) if jobs > 1 and count > 1 else map(kill, chunks)
    deaths: dict[str, Death] = {}
    for part in done:
        deaths.update((death.name, death) for death in part)
        on_progress(len(part))
    return _figures(case_filter, [deaths[name] for name in chosen])


def _figures(case_filter: CaseFilter, deaths: Sequence[Death]) -> results.GeneratedKills:
    changed = [death for death in deaths if death.changed]
    killed = [death for death in changed if death.case]
    alive = [death.name for death in changed if not death.case]
    known = equivalents()
    used, fields = (Counter(getattr(death, member) for death in killed) for member in ("scenario", "field"))
    return results.GeneratedKills(
        subjects=len(changed),
        laws=dict(Counter(law for death in killed for law in death.laws).most_common()),
        alone=dict(Counter(death.laws[0] for death in killed if len(death.laws) == 1).most_common()),
        scenarios=dict(used.most_common()),
        idle_scenarios=sorted({case.scenario for case in case_filter.cases()} - used.keys()),
        fields=dict(fields),
        idle_fields=sorted({death.field for death in deaths} - fields.keys()),
        equivalents={name: known[name] for name in alive if name in known},
        stale=[death.name for death in killed if death.name in known],
        survivors=[name for name in alive if name not in known],
        gaps=[death.name for death in deaths if not death.changed and not death.name.startswith("brief/")],
    )
