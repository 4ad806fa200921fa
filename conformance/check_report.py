"""The results of a run for people at a terminal: subject by law, and what failed."""

from __future__ import annotations

from collections.abc import Sequence

from reports.results import OUTCOMES, Run, Verdict
from reports.terminal import Cell, Lines, Section, Table, Tone

from .checks import LAWS

_TONES: dict[str, Tone] = {"fail": "bad", "stale": "bad", "error": "bad", "expected": "warning", "pass": "good"}
#: So many failures of one law are told at length; the others are counted.
_TOLD = 3


def sections(run: Run, *, most: int = _TOLD) -> list[Section]:
    """The table of laws, and the failures that were not expected, law by law."""
    made: list[Section] = [_laws(run)]
    bad = [verdict for verdict in run.verdicts if verdict.outcome in ("fail", "error", "stale")]
    for subject in run.subjects:
        for law in LAWS:
            found = [verdict for verdict in bad if (verdict.subject, verdict.check) == (subject.name, law)]
            if found:
                made.append(_failures(subject.name, law, found, most))
    made.append(Lines("", [(Cell(_summary(run), "strong"), "")]))
    return made


def _laws(run: Run) -> Table:
    names = [subject.name for subject in run.subjects]
    rows: list[list[str | int | Cell]] = []
    for law in LAWS:
        cells = [_cell([v for v in run.verdicts if (v.subject, v.check) == (name, law)]) for name in names]
        rows.append([law, *cells])
    return Table("Laws kept, of the cases to which each applies", ["law", *names], rows)


def _cell(verdicts: Sequence[Verdict]) -> Cell:
    if not verdicts:
        return Cell("·", "dim")
    counts = {outcome: sum(v.outcome == outcome for v in verdicts) for outcome in OUTCOMES}
    judged = len(verdicts) - counts["unsupported"]
    if not judged:
        return Cell("unsupported", "dim")
    worst = next(outcome for outcome in OUTCOMES if counts[outcome])
    text = f"{counts['pass']}/{judged}"
    if counts["expected"]:
        text += f" ({counts['expected']} expected)"
    return Cell(text if worst != "error" else f"{text} ERROR", _TONES.get(worst, "good"))


def _failures(subject: str, law: str, found: Sequence[Verdict], most: int) -> Lines:
    entries: list[tuple[Cell, str]] = [(Cell(f"The law: {LAWS[law].sentence}", "dim"), "")]
    for verdict in found[:most]:
        place = f", round {verdict.round + 1}" if verdict.round else ""
        entries.append(
            (Cell(f"{verdict.outcome.upper()} {verdict.case}{place}", _TONES[verdict.outcome]), verdict.reason)
        )
        for label, text in (("expected", verdict.expected), ("got", verdict.got), ("wire", verdict.excerpt[:160])):
            if text:
                entries.append((Cell(f"    {label}:", "dim"), " ".join(text.split())))
        if verdict.repeat:
            entries.append((Cell("    again:", "dim"), verdict.repeat))
    if len(found) > most:
        entries.append((Cell(f"    and {len(found) - most} more of this kind", "dim"), ""))
    return Lines(f"{subject} breaks {law} in {len(found)} case{'s' * (len(found) != 1)}", entries)


def _summary(run: Run) -> str:
    counts = {outcome: run.count(outcome) for outcome in OUTCOMES}
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count)
    cases = len({(verdict.subject, verdict.case) for verdict in run.verdicts})
    return f"{cases:,} cases, {len(run.verdicts):,} verdicts in {run.seconds:.1f} s: {told or 'nothing ran'}"
