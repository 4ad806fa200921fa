"""Groups of subjects that reports present together, and the columns of their table of cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .results import EFFECTS, OUTCOMES, Effect, Run
from .statistics import Figures, Standing, Tally

#: A subject with fewer applicable cases than this was asked too little to compare its share with that of the others.
FEW = 20


class Group(NamedTuple):
    """Subjects that a report presents together.

    ``laws``: the laws with applicable cases, worst first. ``idle``: the laws that judge none of these subjects.
    """

    title: str
    standings: list[Standing]
    laws: list[str]
    idle: list[str]

    @property
    def few(self) -> set[str]:
        """The subjects with fewer than `FEW` applicable cases; none if no subject of the group has more."""
        few = {item.name for item in self.standings if item.cases.applicable < FEW}
        return few if len(few) < len(self.standings) else set()


def groups(run: Run, counts: Figures) -> list[Group]:
    """Return the subjects in at most two groups: implementations, then the others in the run's order.

    Implementations are in the order of their share of passed cases, lowest first, where one behaviour counts as one
    failed case, however many cases show it. Those with few cases come last.

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


def _share_passed(standing: Standing) -> tuple[bool, float, str]:
    cases = standing.cases
    judged = cases.passed + standing.behaviours + cases.undecided
    return cases.applicable < FEW, cases.passed / judged if judged else 2.0, standing.name


def _laws_worst_first(run: Run, standings: Sequence[Standing]) -> tuple[list[str], list[str]]:
    """Return the laws with applicable cases, those that most subjects break first, and the laws without such cases."""

    def severity(law: str) -> tuple[int, int]:
        failures = [tally.lacking for item in standings if (tally := item.laws.get(law))]
        return -sum(map(bool, failures)), -sum(failures)

    laws = dict.fromkeys([*(law.id for law in run.laws), *(law for item in standings for law in item.laws)])
    judged = {law for item in standings for law, tally in item.laws.items() if tally.applicable}
    return sorted((law for law in laws if law in judged), key=severity), [law for law in laws if law not in judged]


class CaseColumn(NamedTuple):
    """A column of the table of cases by subject: heading of its part, title, meaning, and the cases of a tally."""

    part: str
    title: str
    means: str
    of: Callable[[Tally], int]


_JUDGED, _FAILED, _REST = "judged cases", "cases that fail, by what happens", "cases left out"


def _effect_column(effect: Effect, means: str) -> CaseColumn:
    return CaseColumn(_FAILED, effect or "no effect stated", means, lambda tally: tally.failed.get(effect, 0))


#: Every case of the run is in "pass", one of the effects, or one of the columns after them.
CASE_COLUMNS = (
    CaseColumn(_JUDGED, "applicable", "Judged cases: the denominator of every share.", lambda tally: tally.applicable),
    CaseColumn(_JUDGED, "pass", "The subject keeps every law that applies.", lambda tally: tally.passed),
    *(_effect_column(effect, means) for effect, means in EFFECTS.items()),
    _effect_column("", "A failure in a results file of an older format."),
    CaseColumn("", "undecided", "The harness failed, or its input is faulty.", lambda tally: tally.undecided),
    CaseColumn(_REST, "not judged", OUTCOMES["unsupported"], lambda tally: tally.unjudged),
    CaseColumn(_REST, "not applicable", "No law applies.", lambda tally: tally.inapplicable),
    CaseColumn(
        _REST, "not asked", "The subject does not support the case, for example its wire.", lambda tally: tally.unasked
    ),
    CaseColumn(_REST, "not run", "Other subjects ran the case; this subject did not.", lambda tally: tally.unrun),
)


def case_columns(standings: Sequence[Standing]) -> list[CaseColumn]:
    """Return the columns in which one of these subjects has a case; "applicable" and "pass" in any event."""
    always = CASE_COLUMNS[:2]
    return [column for column in CASE_COLUMNS if column in always or any(column.of(item.cases) for item in standings)]


#: The meaning of the column of behaviours.
BEHAVIOURS = "Failed cases, where those with one reason in the baseline count once."


def has_behaviours(standings: Sequence[Standing]) -> bool:
    """Return whether several failed cases of one of these subjects have the same reason in its baseline."""
    return any(item.behaviours != item.cases.failures for item in standings)


def case_table(standings: Sequence[Standing]) -> tuple[list[str], list[list[str]]]:
    """Return the titles and rows of the table of cases: the laws that a subject breaks, then the columns.

    The behaviours precede the columns, if there are fewer of them than failed cases.
    """
    columns = case_columns(standings)
    shown = has_behaviours(standings)
    numbers = [
        [item.broken, *[item.behaviours][:shown], *(column.of(item.cases) for column in columns)] for item in standings
    ]
    titles = [*["behaviours"][:shown], *(column.title for column in columns)]
    return titles, [[f"{number:,}" for number in row] for row in numbers]
