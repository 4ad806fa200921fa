"""Terminal report: changes, failures, laws by subject, scenarios by surface, and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .compare import Change, Comparison, by_scenario, compare, counted, stood
from .results import Law, Outcome, Report, Result, Run, Seen, Verdict
from .statistics import (
    Counts,
    Figures,
    alive,
    breaking,
    broken,
    figures,
    gravest,
    idle,
    judged,
    passing,
    ratio,
    seen_outcomes,
    standings,
    summary,
    varied,
    worst,
)
from .terminal import Cell, Lines, Section, Table, Tone, Value

_TONES: dict[Outcome, Tone] = {
    "fail": "bad",
    "stale": "bad",
    "error": "bad",
    "new": "warning",
    "expected": "warning",
    "unsupported": "dim",
    "pass": "good",
}
#: Failures of one law, and changes of one kind, that are shown in full. The others are counted.
_TOLD = 3
#: Maximum number of scenarios per subject.
_SCENARIOS = 25
_EXCERPT = 160

Entry = tuple[Cell, str]
Wire = Mapping[tuple[str, str, str], Sequence[Seen]]


def sections(report: Report, *, most: int = _TOLD) -> list[Section]:
    """Return the sections of the report. ``most``: failures per law and subject that are shown in full."""
    run = report.run
    counts = figures(run)
    made: list[Section] = []
    if report.before is not None:
        made += _changes(compare(report.before, run), most)
    if run.results or not run.kills:
        made += [*_failures(run, counts, most), _laws(run, counts), *_places(run, counts)]
    made += _kills(run)
    seen = [*seen_outcomes(counts.total)]
    if any(outcome != "pass" for outcome, _ in seen):
        legend = [(Cell(outcome, _TONES[outcome]), means) for outcome, means in seen]
        made.append(Lines("", [*legend, (Cell("·", "dim"), "There is no such case.")]))
    if run.results or not run.kills:
        made.append(Lines("", [(Cell(line, "strong"), "") for line in _summary(run, counts)]))
    return made


def _changes(found: Comparison, most: int) -> list[Section]:
    entries: list[Entry] = [(Cell(found.sentence, "strong"), "")]
    entries += _told("REGRESSION", "bad", found.regressions, most * 3)
    entries += _told("fix", "good", found.fixes, most)
    entries += _told("other outcome", "warning", found.others, most)
    entries += _told("other reason", "dim", found.reasons, most)
    entries += _told("new verdict", "dim", found.judged, most)
    entries += _told("vanished verdict", "warning", found.unjudged, most)
    entries += _cases("new", "dim", found.new, most)
    entries += _cases("vanished", "warning", found.vanished, most)
    entries += [(Cell("other evidence", "dim"), stood(moved)) for moved in found.sources[:most]]
    entries += _more(len(found.sources) - most)
    return [Lines("What changed", entries)]


def _told(label: str, tone: Tone, changes: Sequence[Change], most: int) -> list[Entry]:
    entries = []
    for change in changes[:most]:
        old, new = (one.outcome if one else "not judged" for one in (change.before, change.after))
        why = change.after.reason if change.after and change.after.reason else ""
        subject = f"{change.result.subject} {change.check} {change.result.case}"
        entries.append((Cell(f"{label} {subject}: {old} -> {new}", tone), why))
    return entries + _more(len(changes) - most)


def _cases(label: str, tone: Tone, cases: Sequence[Result], most: int) -> list[Entry]:
    found = [*by_scenario(cases).items()]
    told = [f"{subject} {scenario}: {counted(count, f'{label} case')}" for (subject, scenario), count in found[:most]]
    return [(Cell(text, tone), "") for text in told] + _more(len(found) - most)


def _more(left: int) -> list[Entry]:
    return [(Cell(f"    and {left:,} more of this kind", "dim"), "")] if left > 0 else []


def _failures(run: Run, counts: Figures, most: int) -> Iterable[Lines]:
    wire: Wire = {(one.scenario, one.surface, one.mode): one.rounds for one in run.traffic}
    for subject in run.subjects:
        for law in run.laws:
            if found := counts.bad.get((subject.name, law.id)):
                yield _broken(subject.name, law, found, most, wire)


def _broken(subject: str, law: Law, found: Sequence[tuple[Result, Verdict]], most: int, wire: Wire) -> Lines:
    entries = [(Cell(f"The law: {law.sentence}", "dim"), "")] if law.sentence else []
    for result, verdict in varied(found, most):
        rounds = wire.get((result.scenario, result.surface, result.mode), [])
        at = verdict.round
        excerpt = rounds[at].excerpt[:_EXCERPT] if at is not None and at < len(rounds) else ""
        place = f", round {at + 1}" if at else ""
        title = f"{verdict.outcome.upper()} {result.case}{place}"
        entries.append((Cell(title, _TONES[verdict.outcome]), verdict.reason))
        for label, text in (("expected", verdict.expected), ("got", verdict.got), ("wire", excerpt)):
            if text:
                entries.append((Cell(f"    {label}:", "dim"), " ".join(text.split())))
        entries.append((Cell(f"    again:  {result.repeat}"), ""))  # unbroken, to be copied
    entries += _more(len(found) - most)
    return Lines(f"{subject} breaks {law.id} in {counted(len(found), 'case')}", entries)


def _laws(run: Run, counts: Figures) -> Table:
    names = [subject.name for subject in run.subjects]
    rows: list[tuple[tuple[int, int], list[Value]]] = []
    for law in run.laws:
        cells = [counts.laws.get((name, law.id), {}) for name in names]
        rows.append((gravest(cells), [law.id, *map(_kept, cells)]))
    rows.sort(key=lambda row: row[0])
    return Table("Laws kept, of the cases to which each applies", ["law", *names], [row for _, row in rows])


def _kept(counts: Counts) -> Cell:
    outcome = worst(counts)
    if outcome is None:
        return Cell("·", "dim")
    if outcome == "unsupported":
        return Cell("unsupported", "dim")
    return Cell(ratio(counts), _TONES[outcome])


def _places(run: Run, counts: Figures) -> Iterable[Section]:
    """Return a table per subject: scenarios with failures, by surface."""
    surfaces = counts.surfaces()
    for subject in run.subjects:
        rows: list[tuple[tuple[int, int], list[Value]]] = []
        for scenario in run.scenarios:
            cells = [counts.places.get((subject.name, scenario.id, surface), {}) for surface in surfaces]
            if any(broken(cell) or cell.get("stale") for cell in cells):
                rows.append((gravest(cells), [scenario.id, *map(_place, cells)]))
        if not rows:
            continue
        rows.sort(key=lambda row: row[0])
        whose = f"{subject.name} {subject.version}".strip()
        title = f"{whose}: {counted(len(rows), 'scenario')} of {len(run.scenarios):,} not all well"
        yield Table(title, ["scenario", *surfaces], [row for _, row in rows[:_SCENARIOS]])
        if len(rows) > _SCENARIOS:
            more = f"and {len(rows) - _SCENARIOS:,} more scenarios; the page has them all: --html FILE"
            yield Lines("", [(Cell(more, "dim"), "")])


def _place(counts: Counts) -> Cell:
    outcome = worst(counts)
    if outcome is None:
        return Cell("·", "dim")
    text = outcome if outcome in ("pass", "unsupported") else f"{outcome} {counts[outcome]:,}/{judged(counts):,}"
    return Cell(text, _TONES[outcome])


def _kills(run: Run) -> list[Section]:
    """Return the kill matrix: a row per known-bad subject, a column per law, its own law in brackets."""
    if not run.kills:
        return []
    laws = [law.id for law in run.laws]
    rows: list[list[Value]] = []
    for kill in run.kills:
        own = kill.by.get(kill.law, 0)
        marked = Cell(f"[{own}]", "good" if own else "bad")
        rows.append([kill.name, *(marked if law == kill.law else kill.by.get(law, 0) for law in laws)])
    living, useless = alive(run), idle(run)
    told: list[tuple[Cell, str]] = [
        (Cell(f"ALIVE {kill.name}", "bad"), f"{kill.law} does not fail it: {kill.sentence}") for kill in living
    ]
    told += [(Cell(f"IDLE {law.id}", "bad"), "no known-bad subject is failed by this law") for law in useless]
    dead, busy = len(run.kills) - len(living), len(laws) - len(useless)
    line = f"{dead} of {len(run.kills)} known-bad subjects failed by their law; {busy} of {len(laws)} laws needed"
    title = "Kill matrix: cases in which a law failed a known-bad subject, until its own did"
    return [Table(title, ["subject", *laws], rows), Lines("", [*told, (Cell(line, "strong"), "")])]


def _summary(run: Run, counts: Figures) -> list[str]:
    verdicts = counted(sum(counts.total.values()), "verdict")
    told = summary(counts.total) or "nothing ran"
    took = f" in {run.seconds:.1f} s" if run.seconds else ""  # published results have no duration
    line = f"{counted(len(run.results), 'case')}, {verdicts}{took}: {told}"
    found = standings(run, counts)
    return [f"{breaking(found)}; {passing(found)}", line] if len(found) > 1 else [line]
