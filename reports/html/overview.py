"""Overview of the page: headline, heat maps of subjects by laws, and cases by effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ..compare import count_text
from ..escape import cut
from ..kill_matrix import surviving_mutants, unneeded_laws
from ..results import ROLES, Run, SubjectInfo
from ..sentences import headline_text, noun_of, passing_text
from ..statistics import Figures, Standing, Tally
from ..subject_groups import (
    BEHAVIOURS,
    CASE_COLUMNS,
    FEW,
    CaseColumn,
    Group,
    case_columns,
    groups,
    has_behaviours,
    leading,
)
from .columns import NAME, WORDS
from .outcome_icons import MARKS, OutcomeIcon
from .shell import filter_link

#: Lower bounds of the shares of failed cases -> meaning of the shade. The shade of a cell is the last that it reaches.
SHADES = (
    (0.0, "none fail"),
    (1e-9, "< 1 %"),
    (0.01, "≥ 1 %"),
    (0.05, "≥ 5 %"),
    (0.20, "≥ 20 %"),
    (0.50, "≥ 50 % fail"),
)


class Headline(NamedTuple):
    """The headline of the page. ``tone`` is "bad", "warning" or "good"."""

    tone: str
    text: str
    sentence: str


class Count(NamedTuple):
    """The number of verdicts with one outcome."""

    mark: OutcomeIcon
    number: int
    link: str


class HeatCell(NamedTuple):
    """Applicable cases of one subject under one law, or under all laws.

    ``shade`` is a number of `SHADES`, or None without an applicable case. ``tip`` is the full text of the cell.
    """

    law: str
    tally: Tally
    shade: int | None
    tip: str
    link: str


class HeatRow(NamedTuple):
    """One subject: the cell of all laws, then a cell per law. ``idle``: how many cells have no applicable case.

    ``few``: it has too few cases to compare it with the others. ``badge``: the file of its badge, or "".
    """

    name: str
    version: str
    date: str
    badge: str
    role: str
    link: str
    cells: list[HeatCell]
    idle: int
    few: bool


class HeatColumn(NamedTuple):
    """One law. ``broken`` is the number of subjects of the heat map that break it."""

    id: str
    sentence: str
    link: str
    broken: int


class CaseRow(NamedTuple):
    """The cases of one subject by effect. ``cells``: number and link of each column."""

    name: str
    broken: int
    behaviours: int
    cells: list[tuple[int, str]]


class HeatMap(NamedTuple):
    """One group of subjects by laws, and its cases by effect.

    ``idle``: laws that judge none of the subjects. ``behaviours``: the meaning of their column in the table of cases,
    or "". ``case_parts``: heading and number of columns of each part of that table.
    """

    title: str
    columns: list[HeatColumn]
    rows: list[HeatRow]
    idle: list[str]
    case_parts: list[tuple[str, int]]
    case_columns: list[CaseColumn]
    case_rows: list[CaseRow]
    behaviours: str


class SubjectRow(NamedTuple):
    """A row of the subjects: what a subject is, reads and claims."""

    name: str
    version: str
    date: str
    role: str
    claims: list[str]
    wires: str
    seconds: float


class LawRow(NamedTuple):
    """A row of the laws. ``link`` shows every subject under the law."""

    id: str
    sentence: str
    level: str
    link: str


def headline(run: Run, counts: Figures) -> Headline:
    """Return the result of the run in a sentence. Failures that a baseline expects count as failures."""
    subjects = leading(run, counts)
    totals = counts.total
    sentence = f"{passing_text(subjects)}{_known(subjects)}.{_most_frequent(subjects)}"
    survivors = len(surviving_mutants(run))
    if not run.results and run.kills:
        mutants = count_text(len(run.kills), "known-bad subject")
        text = f"{len(run.kills) - survivors} of {mutants} fail the law written for them"
        return Headline("bad" if survivors or unneeded_laws(run) else "good", text, "No other subject was tested.")
    if not run.results:
        return Headline("warning", "Nothing ran", "No subject was tested.")
    if any(item.broken for item in subjects):
        return Headline("bad", _broken(subjects), sentence)
    if totals["error"]:
        return Headline("bad", f"{count_text(totals['error'], 'verdict')} could not be decided", sentence)
    if survivors:
        return Headline(
            "bad", f"{count_text(survivors, 'known-bad subject')} survived the law written for it", sentence
        )
    if totals["stale"]:
        return Headline("warning", "A baseline is out of date", sentence)
    if not any(item.cases.applicable for item in subjects):
        return Headline("warning", "No law applied", sentence)
    one = len(subjects) == 1
    whom = cut(subjects[0].name, 60) if one else f"All {len(subjects)} {noun_of(subjects)}s"
    verb, claims = ("keeps", "it claims") if one else ("keep", "they claim")
    return Headline("good", f"{whom} {verb} every law that {claims}", sentence)


def _known(standings: Sequence[Standing]) -> str:
    """Return how many of the failing cases a baseline expects, as the end of a sentence."""
    failures, known = (sum(item.cases.failures for item in standings), sum(item.cases.known for item in standings))
    if not known:
        return ""
    part = f"{known:,}" if known < failures else "all"
    verb = "is" if known == 1 else "are"
    return f"; {part} of the {count_text(failures, 'failing case')} {verb} listed in a baseline of expected failures"


def _most_frequent(standings: Sequence[Standing]) -> str:
    """Return a sentence about the law that most of the failing cases break, so that shares are not read as severity."""
    failures: Counter[str] = Counter()
    for item in standings:
        failures.update({law: tally.failures for law, tally in item.laws.items()})
    if len(standings) < 2 or max(failures.values(), default=0) < FEW:
        return ""
    ((law, number),) = failures.most_common(1)
    return f" One behaviour can fail many cases: {number:,} failing cases break {cut(law, 60)}."


def size(run: Run, figures: Figures) -> str:
    """Return the number of cases and verdicts, with the duration of the run."""
    took = f", in {run.seconds:,.1f} s" if run.seconds else ""  # published results have no duration
    return f"{count_text(len(run.results), 'case')}, {count_text(sum(figures.total.values()), 'verdict')}{took}"


def _broken(standings: Sequence[Standing]) -> str:
    """Return what the subjects do, or how many laws the only subject breaks."""
    if len(standings) > 1:
        return headline_text(standings)
    return f"{cut(standings[0].name, 60)} breaks {count_text(standings[0].broken, 'law')}"


def counts(figures: Figures) -> list[Count]:
    """Return the number of verdicts by outcome, worst first. It is the legend of the page."""
    return [Count(MARKS[name], number, filter_link(verdict=name)) for name, number in figures.total.items()]


def heat_maps(run: Run, figures: Figures) -> list[HeatMap]:
    """Return a heat map per group of subjects, the implementations first."""
    known = {subject.name: subject for subject in run.subjects}
    sentences = {law.id: law.sentence for law in run.laws}
    return [_heat_map(group, known, sentences) for group in groups(run, figures)]


def _heat_map(group: Group, known: dict[str, SubjectInfo], sentences: dict[str, str]) -> HeatMap:
    columns = [
        HeatColumn(
            cut(law, NAME),
            cut(sentences.get(law, ""), WORDS),
            filter_link(by="subject", law=law),
            sum(1 for item in group.standings if law in item.laws and item.laws[law].failures),
        )
        for law in group.laws
    ]
    case_cols = case_columns(group.standings)
    return HeatMap(
        group.title,
        columns,
        [_row(item, group, known.get(item.name, SubjectInfo(item.name, ""))) for item in group.standings],
        [cut(law, NAME) for law in group.idle],
        [(part, len([*columns])) for part, columns in groupby(case_cols, lambda column: column.part)],
        case_cols,
        [_case_row(item, case_cols) for item in group.standings],
        BEHAVIOURS if has_behaviours(group.standings) else "",
    )


def _row(standing: Standing, group: Group, subject: SubjectInfo) -> HeatRow:
    cells = [_cell(standing, law, standing.laws.get(law, Tally())) for law in group.laws]
    whole = _cell(standing, "", standing.cases)
    return HeatRow(
        cut(standing.name, NAME),
        cut(subject.version, NAME),
        cut(subject.date, NAME),
        cut(subject.badge, WORDS),
        ROLES[standing.role],
        filter_link(subject=standing.name, by="law"),
        [whole, *cells],
        sum(1 for cell in cells if cell.shade is None),
        standing.name in group.few,
    )


def _cell(standing: Standing, law: str, tally: Tally) -> HeatCell:
    parts = [f"{tally.ratio} applicable cases pass"] if tally.applicable else []
    parts += [f"{number:,} {column.title}" for column in CASE_COLUMNS[2:] if (number := column.of(tally))]
    parts += [f"{tally.known:,} of the failures listed in a baseline"] if tally.known else []
    name = f"{cut(standing.name, 60)}, {cut(law, 60) or 'all laws'}"
    filters = {"subject": standing.name, "law": law, "verdict": "broken" if tally.lacking else ""}
    link = filter_link(**{member: value for member, value in filters.items() if value})
    tip = f"{name}: {', '.join(parts) or 'no case'}"
    return HeatCell(cut(law, NAME), tally, shade_of(tally.lacking, tally.applicable), tip, link)


def shade_of(lacking: int, applicable: int) -> int | None:
    """Return the number in `SHADES` of a share of cases that do not pass, or None without an applicable case."""
    if not applicable:
        return None
    return max(number for number, (least, _) in enumerate(SHADES) if lacking / applicable >= least)


def _case_row(standing: Standing, columns: Sequence[CaseColumn]) -> CaseRow:
    cells = []
    for column in columns:
        number = column.of(standing.cases)
        link = column.title in standing.cases.failed and number
        cells.append((number, filter_link(subject=standing.name, effect=column.title) if link else ""))
    return CaseRow(cut(standing.name, NAME), standing.broken, standing.behaviours, cells)


def subjects(run: Run) -> list[SubjectRow]:
    """Return the subjects in the order of the run."""
    return [
        SubjectRow(
            cut(subject.name, NAME),
            cut(subject.version, NAME),
            cut(subject.date, NAME),
            subject.role,
            [cut(claim, NAME) for claim in subject.claims],
            cut("all wires" if subject.wires is None else ", ".join(subject.wires) or "no wire", WORDS),
            subject.seconds,
        )
        for subject in run.subjects
    ]


def laws(run: Run) -> list[LawRow]:
    """Return the laws in the order of the run."""
    return [
        LawRow(cut(law.id, NAME), cut(law.sentence, WORDS), cut(law.level, NAME), filter_link(by="subject", law=law.id))
        for law in run.laws
    ]
