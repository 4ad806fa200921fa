"""Statistics that several reports share, counted in one pass over the verdicts of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from .compare import count_text
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
    Role,
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


class Tally(NamedTuple):
    """The cases of one subject, or of one subject under one law. Each case of the run is counted in one member.

    ``failed``: effect -> cases, each case under its first effect in the order of `EFFECTS`; "" for files without
    effects. ``known``: how many of the failed cases a baseline expects. ``undecided``: cases that the harness could not
    judge. ``unsupported``: the subject claims nothing that could be judged. ``inapplicable``: no law, or not this law,
    applies. ``unrun``: other subjects ran the case; this one did not.
    """

    passed: int = 0
    failed: Mapping[Effect, int] = MappingProxyType({})
    known: int = 0
    undecided: int = 0
    unsupported: int = 0
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
    (subject, law, outcome) -> the verdicts that fail the run, in the order of the run. ``total``: outcome -> number of
    verdicts. ``effects``: effect -> number of failures, expected or not.
    """

    laws: dict[tuple[str, str], Counts]
    places: dict[tuple[str, str, str], Counts]
    standings: list[Standing]
    bad: dict[tuple[str, str, Outcome], list[tuple[Result, Verdict]]]
    total: Counts
    effects: Mapping[Effect, int]

    def surfaces(self) -> list[str]:
        """Return the names of the surfaces that have results, sorted."""
        return sorted({surface for _, _, surface in self.places})


class Standing(NamedTuple):
    """The figures of one subject. ``laws``: law -> its cases; laws without a verdict are not in it."""

    name: str
    role: Role
    cases: Tally
    laws: Mapping[str, Tally]

    @property
    def broken(self) -> int:
        """The number of laws that the subject breaks, expected or not."""
        return sum(1 for tally in self.laws.values() if tally.failures)

    @property
    def effects(self) -> set[Effect]:
        """The effects of the subject's failures."""
        return {effect for tally in self.laws.values() for effect, number in tally.failed.items() if number}


class Group(NamedTuple):
    """Subjects that a report presents together.

    ``laws``: the laws with applicable cases, worst first. ``idle``: the laws that judge none of these subjects.
    """

    title: str
    standings: list[Standing]
    laws: list[str]
    idle: list[str]


def groups(run: Run, counts: Figures) -> list[Group]:
    """Return the subjects in at most two groups: implementations, worst first, then the others in the run's order.

    The heat map, the headline, the badge and all tables of subjects take their figures from the groups. Each report
    presents the first group first, and its headline is about that group alone.
    """
    tested = sorted((item for item in counts.standings if item.role == "implementation"), key=_share_passed)
    others = [item for item in counts.standings if item.role != "implementation"]
    parts = (
        ("Implementations", tested),
        ("Reference and deliberately faulty subjects" if tested else "Subjects", others),
    )
    return [Group(title, part, *_laws_worst_first(run, part)) for title, part in parts if part]


def leading(run: Run, counts: Figures) -> list[Standing]:
    """Return the subjects that the headline is about: the implementations, or all subjects if there is none."""
    return next((group.standings for group in groups(run, counts)), [])


def _share_passed(standing: Standing) -> tuple[float, str]:
    cases = standing.cases
    return cases.passed / cases.applicable if cases.applicable else 2.0, standing.name


def _laws_worst_first(run: Run, standings: Sequence[Standing]) -> tuple[list[str], list[str]]:
    """Return the laws with applicable cases, those that most subjects break first, and the laws without such cases."""

    def severity(law: str) -> tuple[int, int]:
        failures = [tally.lacking for item in standings if (tally := item.laws.get(law))]
        return -sum(map(bool, failures)), -sum(failures)

    laws = dict.fromkeys([*(law.id for law in run.laws), *(law for item in standings for law in item.laws)])
    judged = {law for item in standings for law, tally in item.laws.items() if tally.applicable}
    return sorted((law for law in laws if law in judged), key=severity), [law for law in laws if law not in judged]


class CaseColumn(NamedTuple):
    """A column of the table of cases by subject: title, meaning, and the number of cases of a tally."""

    title: str
    means: str
    of: Callable[[Tally], int]


def _effect_column(effect: Effect, means: str) -> CaseColumn:
    return CaseColumn(effect or "no effect stated", means, lambda tally: tally.failed.get(effect, 0))


#: Every case of the run is in "pass", one of the effects, or one of the columns after them.
CASE_COLUMNS = (
    CaseColumn("applicable", "Cases that are judged: the denominator of every share.", lambda tally: tally.applicable),
    CaseColumn("pass", "The subject keeps every law that applies.", lambda tally: tally.passed),
    *(_effect_column(effect, means) for effect, means in EFFECTS.items()),
    _effect_column("", "A failure in a results file of an older format."),
    CaseColumn("undecided", "The harness failed, or its input is faulty.", lambda tally: tally.undecided),
    CaseColumn("unsupported", OUTCOMES["unsupported"], lambda tally: tally.unsupported),
    CaseColumn("not applicable", "No law applies.", lambda tally: tally.inapplicable),
    CaseColumn("not run", "Other subjects ran the case; this subject did not.", lambda tally: tally.unrun),
)


def case_columns(standings: Sequence[Standing]) -> list[CaseColumn]:
    """Return the columns in which one of these subjects has a case; "applicable" and "pass" in any event."""
    always = CASE_COLUMNS[:2]
    return [column for column in CASE_COLUMNS if column in always or any(column.of(item.cases) for item in standings)]


def headline_text(standings: Sequence[Standing]) -> str:
    """Return what these subjects do to calls, as a sentence without a full stop.

    "9 of 11 implementations lose or alter calls or content, or let calls run that must not run, on at least one wire".
    Failures that a baseline expects count. The verbs are those of the effects that occur.
    """
    harmful = [item for item in standings if item.effects & {*_VERBS, "executed"}]
    if not harmful:
        return breaking_text(standings)
    occurring = {effect for item in harmful for effect in item.effects}
    singular = len(harmful) == 1
    verbs = [verb + "s" * singular for effect, verb in _VERBS.items() if effect in occurring]
    acts = [f"{_alternatives(verbs)} calls or content"] if verbs else []
    acts += [f"{'lets' if singular else 'let'} calls run that must not run"] if "executed" in occurring else []
    return f"{_share_of(harmful, standings)} {', or '.join(acts)}{',' * (len(acts) > 1)} on at least one wire"


#: Effect -> what subjects with this effect do to calls or content.
_VERBS: dict[Effect, str] = {"lost": "lose", "duplicated": "duplicate", "altered": "alter"}


def _alternatives(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _share_of(part: Sequence[Standing], whole: Sequence[Standing]) -> str:
    """Return a text such as "9 of 11 implementations"; "subjects" if not all are implementations."""
    return f"{len(part):,} of {len(whole):,} {noun_of(whole)}{'s' * (len(whole) != 1)}"


def noun_of(standings: Sequence[Standing]) -> str:
    """Return "implementation", or "subject" if one of these subjects has another role."""
    return "implementation" if all(item.role == "implementation" for item in standings) else "subject"


def breaking_text(standings: Sequence[Standing]) -> str:
    """Return a text such as "10 of 11 implementations break a law". Failures that a baseline expects count."""
    broken = [item for item in standings if item.broken]
    return f"{_share_of(broken, standings)} {'breaks' if len(broken) == 1 else 'break'} a law"


def passing_text(standings: Sequence[Standing]) -> str:
    """Return a text such as "13,237 of 15,361 cases pass". The whole are the applicable cases."""
    passed, applicable = (
        sum(item.cases.passed for item in standings),
        sum(item.cases.applicable for item in standings),
    )
    return f"{passed:,} of {applicable:,} cases pass"


def count_verdicts(run: Run) -> Figures:
    """Count all verdicts of a run."""
    laws: dict[tuple[str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    effects: dict[tuple[str, str], Counter[Effect]] = defaultdict(Counter)
    places: dict[tuple[str, str, str], dict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
    cases: dict[str, _CaseCounter] = {subject.name: _CaseCounter() for subject in run.subjects}
    bad: dict[tuple[str, str, Outcome], list[tuple[Result, Verdict]]] = defaultdict(list)
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
                bad[*key, outcome].append((result, verdict))
        cases.setdefault(result.subject, _CaseCounter()).add(result.verdicts)
    roles = {subject.name: subject.role for subject in run.subjects}
    whole = len({(result.scenario, result.surface, result.mode, result.policy) for result in run.results})
    tallies: dict[str, dict[str, Tally]] = {name: {} for name in cases}
    for (subject, law), counts in laws.items():
        tallies[subject][law] = _law_tally(counts, effects[subject, law], cases[subject].number, whole)
    standings = [
        Standing(name, roles.get(name, "implementation"), counter.tally(whole), tallies[name])
        for name, counter in cases.items()
    ]
    failures = sum(effects.values(), Counter[Effect]())
    return Figures(dict(laws), dict(places), standings, dict(bad), total, failures)


#: Effects in the order in which a case with several counts under one. The last one is that of older files.
_RANK: dict[Effect, int] = {effect: rank for rank, effect in enumerate([*EFFECTS, ""])}


class _CaseCounter:
    """Counts the cases of one subject."""

    def __init__(self) -> None:
        self.number = 0
        self._kinds: Counter[str] = Counter()
        self._failed: Counter[Effect] = Counter()

    def add(self, verdicts: Sequence[Verdict]) -> None:
        self.number += 1
        broken = [verdict for verdict in verdicts if verdict.outcome in _FAILED]
        if broken:
            self._failed[min((verdict.effect for verdict in broken), key=_RANK.__getitem__)] += 1
            self._kinds["known"] += all(verdict.outcome == "expected" for verdict in broken)
            return
        outcomes = {verdict.outcome for verdict in verdicts}
        kind = "undecided" if "error" in outcomes else "passed" if outcomes & {*KEPT} else "unsupported"
        self._kinds[kind if outcomes else "inapplicable"] += 1

    def tally(self, whole: int) -> Tally:
        return Tally(failed=self._failed, unrun=whole - self.number, **self._kinds)


def _law_tally(counts: Counts, failed: Mapping[Effect, int], cases: int, whole: int) -> Tally:
    """Return the cases of a law, which has one verdict in each case to which it applies."""
    return Tally(
        kept_count(counts),
        failed,
        counts.get("expected", 0),
        counts.get("error", 0),
        counts.get("unsupported", 0),
        max(0, cases - sum(counts.values())),
        whole - cases,
    )


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


def bad_title(subject: str, law: str, outcome: Outcome, entries: Sequence[tuple[Result, Verdict]]) -> str:
    """Return the title of a list of `Figures.bad`, such as "litellm breaks order in 2 cases (2 altered)"."""
    cases = count_text(len(entries), "case")
    if outcome == "stale":
        return f"{subject} keeps {law} in {cases} in which the baseline expects a failure"
    if outcome == "error":
        return f"{law} could not be judged for {subject} in {cases}"
    effects = effects_of(entries)
    return f"{subject} breaks {law} in {cases}" + (f" ({effects})" if effects else "")


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
