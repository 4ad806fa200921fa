"""Statistics that several reports share, counted in one pass over the verdicts of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from .results import BAD, EFFECTS, KEPT, OUTCOMES, Effect, Outcome, Result, Role, Run, SubjectInfo, Verdict

Counts = Mapping[Outcome, int]

#: Order in which a cell with several outcomes selects the one to show. A kept law ("pass") precedes a law that the
#: subject does not claim ("unsupported").
WORST_FIRST: tuple[Outcome, ...] = ("error", "fail", "stale", "new", "expected", "pass", "unsupported")

_NOTED: tuple[Outcome, ...] = ("error", "stale", "new", "expected")
#: Outcomes of a broken law, whether or not a baseline expects the failure.
_FAILED: tuple[Outcome, ...] = ("fail", "new", "expected")


class Tally(NamedTuple):
    """The cases of one subject, or of one subject under one law. Each case of the run is counted in one member.

    ``failed``: effect -> cases, each case under its first effect in the order of `EFFECTS`; "" for files without
    effects. ``known``: how many of the failed cases a baseline expects. ``undecided``: cases that the harness could not
    judge. ``unjudged``: the subject answered, and claims nothing that could be judged. ``unasked``: the subject does
    not support the case, for example its wire. ``inapplicable``: no law, or not this law, applies. ``unrun``: other
    subjects ran the case; this one did not.
    """

    passed: int = 0
    failed: Mapping[Effect, int] = MappingProxyType({})
    known: int = 0
    undecided: int = 0
    unjudged: int = 0
    unasked: int = 0
    inapplicable: int = 0
    unrun: int = 0

    @property
    def failures(self) -> int:
        """The number of cases that break a law, expected or not."""
        return sum(self.failed.values())

    @property
    def applicable(self) -> int:
        """The number of cases that are judged: the denominator of every share."""
        return self.passed + self.failures + self.undecided

    @property
    def lacking(self) -> int:
        """The number of applicable cases that do not pass."""
        return self.applicable - self.passed

    @property
    def ratio(self) -> str:
        """The text "412/476": passed and applicable cases."""
        return f"{self.passed:,}/{self.applicable:,}"


class Figures(NamedTuple):
    """Counts of verdicts and cases.

    ``laws``: (subject, law) -> outcome -> number of verdicts. ``places``: (subject, scenario, surface) -> the same.
    ``standings``: one per subject, in the order of the run; subjects that only results name come last. ``bad``:
    (subject, outcome) -> the verdicts that fail the run, in the order of the run. ``total``: outcome -> number of
    verdicts. ``effects``: effect -> number of failures, expected or not.
    """

    laws: dict[tuple[str, str], Counts]
    places: dict[tuple[str, str, str], Counts]
    standings: list[Standing]
    bad: dict[tuple[str, Outcome], list[tuple[Result, Verdict]]]
    total: Counts
    effects: Mapping[Effect, int]

    def surfaces(self) -> list[str]:
        """Return the names of the surfaces that have results, sorted."""
        return sorted({surface for _, _, surface in self.places})

    def law_cell(self, subject: str, law: str) -> Cell:
        """Return the cell of a subject under a law: how many verdicts keep it."""
        counts = self.laws.get((subject, law), {})
        outcome = worst_outcome(counts)
        return Cell(outcome, "" if outcome in (None, "unsupported") else kept_ratio(counts))


class Standing(NamedTuple):
    """The figures of one subject. ``laws``: law -> its cases; laws without a verdict are not in it.

    ``library``: the name that all entry points of one library share. ``behaviours``: the failed cases, where all with
    one reason in the baseline count once.
    """

    name: str
    role: Role
    library: str
    cases: Tally
    laws: Mapping[str, Tally]
    behaviours: int = 0

    @property
    def broken(self) -> int:
        """The number of laws that the subject breaks, expected or not."""
        return sum(1 for tally in self.laws.values() if tally.failures)

    @property
    def effects(self) -> set[Effect]:
        """The effects of the subject's failures."""
        return {effect for tally in self.laws.values() for effect, number in tally.failed.items() if number}


def count_verdicts(run: Run) -> Figures:
    """Count all verdicts of a run."""
    laws: dict[tuple[str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    effects: dict[tuple[str, str], Counter[Effect]] = defaultdict(Counter)
    places: dict[tuple[str, str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    cases: dict[str, _CaseCounter] = {subject.name: _CaseCounter() for subject in run.subjects}
    bad: dict[tuple[str, Outcome], list[tuple[Result, Verdict]]] = defaultdict(list)
    total: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
    for result in run.results:
        place = places[result.subject, result.scenario, result.surface]
        for verdict in result.verdicts:
            outcome, key = verdict.outcome, (result.subject, verdict.check)
            laws[key][outcome] += 1
            place[outcome] += 1
            total[outcome] += 1
            if outcome in _FAILED:
                effects[key][verdict.effect] += 1
            if outcome in BAD:
                bad[result.subject, outcome].append((result, verdict))
        cases.setdefault(result.subject, _CaseCounter()).add(result)
    subjects = {subject.name: subject for subject in run.subjects}
    whole = len({(result.scenario, result.surface, result.mode, result.policy) for result in run.results})
    tallies: dict[str, dict[str, Tally]] = {name: {} for name in cases}
    for (subject, law), counts in laws.items():
        tallies[subject][law] = cases[subject].law_tally(law, counts, effects[subject, law], whole)
    standings = [
        Standing(name, about.role, about.library or name, counter.tally(whole), tallies[name], counter.behaviours)
        for name, counter in cases.items()
        for about in [subjects.get(name, SubjectInfo(name, ""))]
    ]
    failures = sum(effects.values(), Counter[Effect]())
    return Figures(dict(laws), dict(places), standings, dict(bad), total, failures)


#: Effects in the order in which a case with several counts under one. The last one is that of older files.
_RANK: dict[Effect, int] = {effect: rank for rank, effect in enumerate([*EFFECTS, ""])}


class _CaseCounter:
    """Counts the cases of one subject."""

    def __init__(self) -> None:
        self._number = 0
        self._kinds: Counter[str] = Counter()
        self._failed: Counter[Effect] = Counter()
        self._unasked: Counter[str] = Counter()
        self._behaviours: set[str] = set()
        self._unknown = 0

    @property
    def behaviours(self) -> int:
        return len(self._behaviours) + self._unknown

    def add(self, result: Result) -> None:
        self._number += 1
        broken = [verdict for verdict in result.verdicts if verdict.outcome in _FAILED]
        if broken:
            self._failed[min((verdict.effect for verdict in broken), key=_RANK.__getitem__)] += 1
            self._kinds["known"] += all(verdict.outcome == "expected" for verdict in broken)
            behaviours = {verdict.behaviour for verdict in broken}
            self._unknown += "" in behaviours
            self._behaviours |= behaviours - {""}
            return
        kind = _kind(result)
        self._kinds[kind] += 1
        if kind == "unasked":
            self._unasked.update(verdict.check for verdict in result.verdicts)

    def tally(self, whole: int) -> Tally:
        return Tally(failed=self._failed, unrun=whole - self._number, **self._kinds)

    def law_tally(self, law: str, counts: Counts, failed: Mapping[Effect, int], whole: int) -> Tally:
        """Return the cases of a law, which has one verdict in each case to which it applies."""
        asked = self._number - self._kinds["unasked"]
        unjudged = counts.get("unsupported", 0) - self._unasked[law]
        return Tally(
            kept_count(counts),
            failed,
            counts.get("expected", 0),
            counts.get("error", 0),
            unjudged,
            self._kinds["unasked"],
            max(0, asked - judged_count(counts) - unjudged),
            whole - self._number,
        )


def _kind(result: Result) -> str:
    """Return the member of `Tally` that counts a case without failures."""
    outcomes = {verdict.outcome for verdict in result.verdicts}
    if "error" in outcomes:
        return "undecided"
    if outcomes & {*KEPT}:
        return "passed"
    if not outcomes:
        return "inapplicable"
    return "unjudged" if result.rounds else "unasked"


def worst_outcome(counts: Counts) -> Outcome | None:
    """Return the outcome that a cell with these counts shows, or None if the cell has no verdict."""
    return next((outcome for outcome in WORST_FIRST if counts.get(outcome)), None)


def judged_count(counts: Counts) -> int:
    """Return the number of verdicts other than "unsupported"."""
    return sum(counts.values()) - counts.get("unsupported", 0)


def kept_count(counts: Counts) -> int:
    """Return the number of verdicts that keep the law, also against the baseline ("pass", "stale")."""
    return sum(counts.get(outcome, 0) for outcome in KEPT)


def kept_ratio(counts: Counts) -> str:
    """Return a text such as "10/12 (1 stale, 2 expected)": kept of judged verdicts.

    The parentheses contain the outcomes other than "pass", "fail" and "unsupported".
    """
    notes = [f"{counts[outcome]:,} {outcome}" for outcome in _NOTED if counts.get(outcome)]
    return f"{kept_count(counts):,}/{judged_count(counts):,}" + (f" ({', '.join(notes)})" if notes else "")


class Cell(NamedTuple):
    """A cell of a table: the worst outcome, or None without a verdict, and the numbers that it needs, or ""."""

    outcome: Outcome | None
    numbers: str


def place_cell(counts: Counts) -> Cell:
    """Return the cell of a scenario on a surface: how many verdicts have the worst outcome."""
    outcome = worst_outcome(counts)
    if outcome in (None, "pass", "unsupported"):
        return Cell(outcome, "")
    return Cell(outcome, f"{counts[outcome]:,}/{judged_count(counts):,}")
