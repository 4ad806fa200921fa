"""Overview of the page: headline, subjects, and laws by subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..compare import count_text
from ..escape import cut
from ..results import OUTCOMES, Outcome, Run
from ..statistics import (
    Counts,
    Standing,
    breaking_text,
    judged_count,
    kept_count,
    passing_text,
    surviving_mutants,
    unneeded_laws,
)
from .columns import NAME, ORDER, WORDS, Columns
from .outcome_icons import MARKS, NOTABLE, OutcomeIcon, worst_icon
from .shell import filter_link

#: Subject -> law -> outcome -> number of cases.
Tallies = Mapping[str, Mapping[str, Counts]]


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


class SubjectRow(NamedTuple):
    """A row of the subjects. ``passed`` and ``applied`` count cases, ``kept`` and ``judged`` verdicts."""

    name: str
    version: str
    claims: list[str]
    wires: str
    seconds: float
    passed: int
    applied: int
    broken: int
    kept: int
    judged: int
    mark: OutcomeIcon
    link: str


class LawCell(NamedTuple):
    """One law and one subject. ``tip`` is the full text of the cell."""

    mark: OutcomeIcon
    kept: int
    judged: int
    tip: str
    link: str


class LawRow(NamedTuple):
    """A row of the table of laws: one law, a cell per subject."""

    id: str
    sentence: str
    level: str
    cells: list[LawCell]


def tallies(columns: Columns) -> Tallies:
    """Return `Columns.tallies` with names in place of numbers."""
    return {
        subject: {
            columns.laws.all[law]: {ORDER[outcome]: number for outcome, number in sorted(counts.items())}
            for law, counts in laws.items()
        }
        for subject, laws in zip(columns.subjects.all, columns.tallies(), strict=True)
    }


def total(laws: Mapping[str, Counts]) -> dict[Outcome, int]:
    """Return outcome -> number, summed over all laws."""
    sums = dict.fromkeys(OUTCOMES, 0)
    for counts in laws.values():
        for outcome, number in counts.items():
            sums[outcome] += number
    return sums


def headline(run: Run, tallies_by_subject: Tallies, standings: Sequence[Standing]) -> Headline:
    """Return the verdict of the run in a sentence. Failures that a baseline expects count as failures."""
    sums = {name: total(laws) for name, laws in tallies_by_subject.items()}
    totals = {outcome: sum(counts[outcome] for counts in sums.values()) for outcome in OUTCOMES}
    took = f", in {run.seconds:,.1f} s" if run.seconds else ""  # published results have no duration
    size = f"{count_text(len(run.results), 'case')}, {count_text(sum(totals.values()), 'verdict')}"
    sentence = f"{passing_text(standings)}. {size}{took}."
    if totals["expected"]:
        sentence += f" A baseline expects {totals['expected']:,} of the failures."
    survivors = len(surviving_mutants(run))
    if not sum(totals.values()) and run.kills:
        mutants = count_text(len(run.kills), "known-bad subject")
        text = f"{len(run.kills) - survivors} of {mutants} fail the law written for them"
        return Headline("bad" if survivors or unneeded_laws(run) else "good", text, "No other subject was tested.")
    if not sum(totals.values()):
        return Headline("warning", "Nothing ran", "No subject was tested.")
    if totals["fail"]:
        return Headline("bad", _broken(standings), sentence)
    if totals["error"]:
        return Headline("bad", f"{count_text(totals['error'], 'verdict')} could not be decided", sentence)
    if survivors:
        return Headline(
            "bad", f"{count_text(survivors, 'known-bad subject')} survived the law written for it", sentence
        )
    if totals["stale"]:
        return Headline("warning", "A baseline is out of date", sentence)
    whom = cut(next(iter(sums)), 60) if len(sums) == 1 else f"All {len(sums)} subjects"
    verb = "keeps" if len(sums) == 1 else "keep"
    if not totals["pass"] and not totals["expected"] and not totals["new"]:
        return Headline("warning", "No law applied", sentence)
    if totals["new"] or totals["expected"]:
        return Headline("warning", _broken(standings), sentence)
    claims = "it claims" if len(sums) == 1 else "they claim"
    return Headline("good", f"{whom} {verb} every law that {claims}", sentence)


def _broken(standings: Sequence[Standing]) -> str:
    """Return how many subjects break a law, or how many laws the only subject breaks."""
    if len(standings) > 1:
        return breaking_text(standings)
    return f"{cut(standings[0].name, 60)} breaks {count_text(standings[0].laws, 'law')}"


def counts(run: Run, tallies: Tallies) -> list[Count]:
    """Return the number of verdicts by outcome, worst first. It is the legend of the page."""
    over = dict.fromkeys(OUTCOMES, 0)
    for laws in tallies.values():
        for outcome, number in total(laws).items():
            over[outcome] += number
    return [Count(MARKS[name], number, filter_link(verdict=name)) for name, number in over.items()]


def subjects(run: Run, tallies: Tallies, standings: Sequence[Standing]) -> list[SubjectRow]:
    """Return the subjects in the order of the run."""
    rows = []
    for subject, standing in zip(run.subjects, standings, strict=False):  # other standings have no subject entry
        sums = total(tallies.get(subject.name, {}))
        wires = "all wires" if subject.wires is None else ", ".join(subject.wires) or "no wire"
        rows.append(
            SubjectRow(
                cut(subject.name, NAME),
                cut(subject.version, NAME),
                [cut(claim, NAME) for claim in subject.claims],
                cut(wires, WORDS),
                subject.seconds,
                standing.passed,
                standing.applied,
                standing.laws,
                kept_count(sums),
                judged_count(sums),
                worst_icon(sums),
                filter_link(subject=subject.name),
            )
        )
    return rows


def laws(run: Run, tallies: Tallies) -> list[LawRow]:
    """Return laws by subject. Laws that only verdicts name come last."""
    known_laws = {law.id: law for law in run.laws}
    ids = dict.fromkeys([*known_laws, *(id for laws in tallies.values() for id in laws)])
    return [
        LawRow(
            cut(id, NAME),
            cut(known_laws[id].sentence, WORDS) if id in known_laws else "",
            cut(known_laws[id].level, NAME) if id in known_laws else "",
            [_cell(name, id, tallies[name].get(id, {})) for name in tallies],
        )
        for id in ids
    ]


def _cell(subject: str, law: str, sums: Counts) -> LawCell:
    counts_text = ", ".join(f"{sums[name]:,} {MARKS[name].label}" for name in OUTCOMES if sums.get(name))
    mark = worst_icon(sums)
    tip = f"{cut(subject, 60)}, {cut(law, 60)}: {counts_text or 'it applied in no case'}"
    verdict = {"verdict": mark.name} if mark.name in NOTABLE else {}
    return LawCell(mark, kept_count(sums), judged_count(sums), tip, filter_link(subject=subject, law=law, **verdict))
