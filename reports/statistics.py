"""Statistics that several reports share, counted in one pass over the verdicts of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from .results import (
    BAD,
    BROKEN,
    EFFECTS,
    KEPT,
    OUTCOMES,
    Effect,
    GeneratedKills,
    Kill,
    LawInfo,
    Outcome,
    Result,
    Run,
    Verdict,
)

Counts = Mapping[Outcome, int]

#: Order in which a cell with several outcomes selects the one to show. A kept law ("pass") precedes a law that the
#: subject does not claim ("unsupported").
WORST_FIRST: tuple[Outcome, ...] = ("error", "fail", "stale", "new", "expected", "pass", "unsupported")

_NOTED: tuple[Outcome, ...] = ("error", "stale", "new", "expected")
#: Outcomes of a broken law, whether or not a baseline expects the failure.
_FAILED: tuple[Outcome, ...] = ("fail", "new", "expected")


class Figures(NamedTuple):
    """Counts of verdicts and cases.

    ``laws``: (subject, law) -> outcome -> number of verdicts. ``places``: (subject, scenario, surface) -> the same.
    ``cases``: subject -> worst outcome -> number of cases. ``bad``: (subject, law) -> the verdicts that fail the run,
    in the order of the run. ``total``: outcome -> number of verdicts. ``effects``: effect -> number of failures,
    expected or not.
    """

    laws: dict[tuple[str, str], Counts]
    places: dict[tuple[str, str, str], Counts]
    cases: dict[str, Counts]
    bad: dict[tuple[str, str], list[tuple[Result, Verdict]]]
    total: Counts
    effects: Mapping[Effect, int]

    def surfaces(self) -> list[str]:
        """Return the names of the surfaces that have results, sorted."""
        return sorted({surface for _, _, surface in self.places})


class Standing(NamedTuple):
    """The figures of one subject.

    ``laws`` is the number of laws that it breaks, expected or not. ``applied`` is the number of cases in which it
    claims something, ``passed`` the number of these that pass.
    """

    name: str
    laws: int
    passed: int
    applied: int


def standings(run: Run, counts: Figures) -> list[Standing]:
    """Return one standing per subject, in the order of the run. Subjects that only results name come last.

    The headline, the badge and the tables of subjects take their figures from here.
    """
    laws: dict[str, int] = defaultdict(int)
    for (subject, _), counts_of_law in counts.laws.items():
        laws[subject] += any(counts_of_law.get(outcome) for outcome in _FAILED)
    rows = []
    for name in dict.fromkeys([*(subject.name for subject in run.subjects), *counts.cases]):
        cases = counts.cases.get(name, {})
        rows.append(Standing(name, laws[name], cases.get("pass", 0), judged_count(cases)))
    return rows


def breaking_text(subjects: Sequence[Standing]) -> str:
    """Return a text such as "10 of 11 subjects break a law". Failures that a baseline expects count."""
    count = sum(1 for subject in subjects if subject.laws)
    noun, verb = ("subject" if len(subjects) == 1 else "subjects"), ("breaks" if count == 1 else "break")
    return f"{count:,} of {len(subjects):,} {noun} {verb} a law"


def passing_text(subjects: Sequence[Standing]) -> str:
    """Return a text such as "13,237 of 15,361 cases pass"."""
    passed, applied = sum(subject.passed for subject in subjects), sum(subject.applied for subject in subjects)
    return f"{passed:,} of {applied:,} cases pass"


def count_verdicts(run: Run) -> Figures:
    """Count all verdicts of a run."""
    laws: dict[tuple[str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    places: dict[tuple[str, str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    cases: dict[str, dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    bad: dict[tuple[str, str], list[tuple[Result, Verdict]]] = defaultdict(list)
    total: dict[Outcome, int] = dict.fromkeys(WORST_FIRST, 0)
    effects: Counter[Effect] = Counter()
    for result in run.results:
        place = places[result.subject, result.scenario, result.surface]
        case_counts: dict[Outcome, int] = defaultdict(int)
        for verdict in result.verdicts:
            outcome = verdict.outcome
            laws[result.subject, verdict.check][outcome] += 1
            place[outcome] += 1
            case_counts[outcome] += 1
            total[outcome] += 1
            effects[verdict.effect] += outcome in _FAILED
            if outcome in BAD:
                bad[result.subject, verdict.check].append((result, verdict))
        if (outcome_of_case := worst_outcome(case_counts)) is not None:
            cases[result.subject][outcome_of_case] += 1
    total = {name: total[name] for name in OUTCOMES}
    return Figures(dict(laws), dict(places), dict(cases), dict(bad), total, effects)


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


def broken_count(counts: Counts) -> int:
    """Return the number of verdicts that break the law, expected or not, or that the harness could not decide."""
    return sum(counts.get(outcome, 0) for outcome in BROKEN)


def law_rows(run: Run, counts: Figures) -> list[tuple[str, list[Counts]]]:
    """Return the id of each law with a cell per subject, the most severe row first."""
    rows = [(law.id, [counts.laws.get((subject.name, law.id), {}) for subject in run.subjects]) for law in run.laws]
    return sorted(rows, key=lambda row: _severity(row[1]))


def scenario_rows(run: Run, counts: Figures, subject: str) -> list[tuple[str, list[Counts]]]:
    """Return the id of each scenario with problems with a cell per surface, the most severe row first."""
    surfaces = counts.surfaces()
    rows = [
        (scenario.id, [counts.places.get((subject, scenario.id, surface), {}) for surface in surfaces])
        for scenario in run.scenarios
    ]
    problems = [row for row in rows if any(broken_count(cell) or cell.get("stale") for cell in row[1])]
    return sorted(problems, key=lambda row: _severity(row[1]))


def _severity(cells: Sequence[Counts]) -> tuple[int, int]:
    """Return a sort key for rows: by worst outcome, then by its count. Rows without a problem have equal keys."""
    keys = [
        (WORST_FIRST.index(outcome), -counts[outcome])
        for counts in cells
        if (outcome := worst_outcome(counts)) not in (None, "pass", "unsupported")
    ]
    return min(keys, default=(len(WORST_FIRST), 0))


def pick_examples(failures: Sequence[tuple[Result, Verdict]], most: int) -> list[tuple[Result, Verdict]]:
    """Return up to ``most`` examples: first one for each reason, then further ones."""
    firsts: dict[str, int] = {}
    for number, (_, verdict) in enumerate(failures):
        firsts.setdefault(verdict.reason, number)
    chosen = [*firsts.values()][:most]
    known = set(chosen)
    others = (number for number in range(len(failures)) if number not in known)
    return [failures[number] for number in (*chosen, *islice(others, most - len(chosen)))]


def surviving_mutants(run: Run) -> list[Kill]:
    """Return the known-bad subjects that their own law does not fail."""
    return [kill for kill in run.kills if not kill.by.get(kill.law)]


def unneeded_laws(run: Run) -> list[LawInfo]:
    """Return the laws that fail none of the known-bad subjects written for them."""
    busy = {kill.law for kill in run.kills if kill.by.get(kill.law)}
    return [law for law in run.laws if law.id not in busy]


def kills_text(run: Run) -> str:
    """Return a text such as "66 of 67 known-bad subjects fail the law written for them; 15 of 16 laws are needed"."""
    caught = len(run.kills) - len(surviving_mutants(run))
    needed = len(run.laws) - len(unneeded_laws(run))
    mutants = f"{caught:,} of {len(run.kills):,} known-bad subjects fail the law written for them"
    return f"{mutants}; {needed:,} of {len(run.laws):,} laws are needed"


def generated_text(generated: GeneratedKills) -> str:
    """Return a text such as "1,200 of 1,210 generated known-bad subjects fail a law; 10 are equivalent"."""
    proved = len(generated.equivalents)
    killed = generated.subjects - len(generated.survivors) - proved
    are = "is" if proved == 1 else "are"
    return f"{killed:,} of {generated.subjects:,} generated known-bad subjects fail a law; {proved:,} {are} equivalent"


def outcomes_text(counts: Counts) -> str:
    """Return a text such as "3 fail, 27,799 pass", worst outcome first."""
    return ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in OUTCOMES if counts.get(outcome))


def effects_text(counts: Mapping[Effect, int]) -> str:
    """Return a text such as "12 lost, 3 refused" with the effects of failures, in the order of `EFFECTS`."""
    return ", ".join(f"{counts[effect]:,} {effect}" for effect in EFFECTS if counts.get(effect))


def effects_of(failures: Sequence[tuple[Result, Verdict]]) -> str:
    """Return the effects of these failures as text."""
    return effects_text(Counter(verdict.effect for _, verdict in failures))


def occurring_effects(counts: Mapping[Effect, int]) -> Iterator[tuple[Effect, str]]:
    """Return the effects that occur, with their meanings, as a legend."""
    return ((effect, EFFECTS[effect]) for effect in EFFECTS if counts.get(effect))


def occurring_outcomes(total: Counts) -> Iterator[tuple[Outcome, str]]:
    """Return the outcomes that occur, with their meanings, as a legend."""
    return ((outcome, OUTCOMES[outcome]) for outcome in OUTCOMES if total.get(outcome))
