"""The figures that several reports tell, counted in one pass over the verdicts of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from .results import BAD, BROKEN, KEPT, OUTCOMES, Kill, Law, Outcome, Result, Run, Verdict

Counts = Mapping[Outcome, int]

#: What a cell shows that has several: the first of these that it has. A law that is kept says more than one that a
#: subject does not claim.
WORST_FIRST: tuple[Outcome, ...] = ("error", "fail", "stale", "new", "expected", "pass", "unsupported")

_NOTED: tuple[Outcome, ...] = ("error", "stale", "new", "expected")
#: A law is broken, whether or not a baseline expects it.
_FAILED: tuple[Outcome, ...] = ("fail", "new", "expected")


class Figures(NamedTuple):
    """``laws``: (subject, law) -> outcome -> verdicts. ``places``: (subject, scenario, surface) -> the same.
    ``cases``: subject -> worst outcome -> cases. ``bad``: (subject, law) -> what the run is failed for, in order.
    ``total``: outcome -> verdicts.
    """

    laws: dict[tuple[str, str], Counts]
    places: dict[tuple[str, str, str], Counts]
    cases: dict[str, Counts]
    bad: dict[tuple[str, str], list[tuple[Result, Verdict]]]
    total: Counts

    def surfaces(self) -> list[str]:
        """Those that there are results of, by name."""
        return sorted({surface for _, _, surface in self.places})


class Standing(NamedTuple):
    """How a subject did. ``laws``: how many it breaks, expected or not. ``passed`` of ``applied``: cases in which it
    claims something.
    """

    name: str
    laws: int
    passed: int
    applied: int


def standings(run: Run, counts: Figures) -> list[Standing]:
    """One a subject, in the order of the run, those that only results name last.

    The headline, the badge and the tables of subjects have their figures from here.
    """
    laws: dict[str, int] = defaultdict(int)
    for (subject, _), found in counts.laws.items():
        laws[subject] += any(found.get(outcome) for outcome in _FAILED)
    made = []
    for name in dict.fromkeys([*(subject.name for subject in run.subjects), *counts.cases]):
        cases = counts.cases.get(name, {})
        made.append(Standing(name, laws[name], cases.get("pass", 0), judged(cases)))
    return made


def breaking(found: Sequence[Standing]) -> str:
    """ "10 of 11 subjects break a law"; a failure that a baseline expects is a failure."""
    count = sum(1 for one in found if one.laws)
    noun, verb = ("subject" if len(found) == 1 else "subjects"), ("breaks" if count == 1 else "break")
    return f"{count:,} of {len(found):,} {noun} {verb} a law"


def passing(found: Sequence[Standing]) -> str:
    """ "13,237 of 15,361 cases pass"."""
    return f"{sum(one.passed for one in found):,} of {sum(one.applied for one in found):,} cases pass"


def figures(run: Run) -> Figures:
    """Of all the verdicts of a run."""
    laws: dict[tuple[str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    places: dict[tuple[str, str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    cases: dict[str, dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    bad: dict[tuple[str, str], list[tuple[Result, Verdict]]] = defaultdict(list)
    total: dict[Outcome, int] = dict.fromkeys(WORST_FIRST, 0)
    for result in run.results:
        place = places[result.subject, result.scenario, result.surface]
        here: dict[Outcome, int] = defaultdict(int)
        for verdict in result.verdicts:
            outcome = verdict.outcome
            laws[result.subject, verdict.check][outcome] += 1
            place[outcome] += 1
            here[outcome] += 1
            total[outcome] += 1
            if outcome in BAD:
                bad[result.subject, verdict.check].append((result, verdict))
        if (found := worst(here)) is not None:
            cases[result.subject][found] += 1
    return Figures(dict(laws), dict(places), dict(cases), dict(bad), {name: total[name] for name in OUTCOMES})


def worst(counts: Counts) -> Outcome | None:
    """What a cell with these counts shows; null: nothing was judged there."""
    return next((outcome for outcome in WORST_FIRST if counts.get(outcome)), None)


def judged(counts: Counts) -> int:
    """How many verdicts say whether the law is kept."""
    return sum(counts.values()) - counts.get("unsupported", 0)


def kept(counts: Counts) -> int:
    """How many say that it is; also where that was not expected."""
    return sum(counts.get(outcome, 0) for outcome in KEPT)


def ratio(counts: Counts) -> str:
    """ "10/12 (1 stale, 2 expected)": how many are kept, of how many, and what else than passes and plain failures
    there is.
    """
    notes = [f"{counts[outcome]:,} {outcome}" for outcome in _NOTED if counts.get(outcome)]
    return f"{kept(counts):,}/{judged(counts):,}" + (f" ({', '.join(notes)})" if notes else "")


def broken(counts: Counts) -> int:
    """How many say that it is not, or that nobody can tell; whether or not that was expected."""
    return sum(counts.get(outcome, 0) for outcome in BROKEN)


def gravest(cells: Sequence[Counts]) -> tuple[int, int]:
    """To sort rows by: the worst of their outcomes first, then those with more of it; rows that are well are alike."""
    found = [
        (WORST_FIRST.index(outcome), -counts[outcome])
        for counts in cells
        if (outcome := worst(counts)) not in (None, "pass", "unsupported")
    ]
    return min(found, default=(len(WORST_FIRST), 0))


def varied(found: Sequence[tuple[Result, Verdict]], most: int) -> list[tuple[Result, Verdict]]:
    """So many of these as examples: first one for each reason, then more of the same."""
    firsts: dict[str, int] = {}
    for place, (_, verdict) in enumerate(found):
        firsts.setdefault(verdict.reason, place)
    chosen = [*firsts.values()][:most]
    known = set(chosen)
    others = (place for place in range(len(found)) if place not in known)
    return [found[place] for place in (*chosen, *islice(others, most - len(chosen)))]


def alive(run: Run) -> list[Kill]:
    """The known-bad subjects that the law named for them did not fail."""
    return [kill for kill in run.kills if not kill.by.get(kill.law)]


def idle(run: Run) -> list[Law]:
    """The laws that failed nobody who was there for them."""
    busy = {kill.law for kill in run.kills if kill.by.get(kill.law)}
    return [law for law in run.laws if law.id not in busy]


def summary(counts: Counts) -> str:
    """ "3 fail, 27,799 pass", worst first."""
    return ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in OUTCOMES if counts.get(outcome))


def seen_outcomes(total: Counts) -> Iterator[tuple[Outcome, str]]:
    """The outcomes that occur, with what they mean: a legend."""
    return ((outcome, OUTCOMES[outcome]) for outcome in OUTCOMES if total.get(outcome))
