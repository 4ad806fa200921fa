"""Terminal report: changes, failures, laws by subject, scenarios by surface, and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from .causes import Cause, causes
from .compare import Comparison, VerdictChange, compare, count_by_scenario, count_text, describe_source_change
from .kill_matrix import generated_text, kills_text, needs, surviving_mutants, unneeded, unneeded_laws
from .problems import scenario_rows
from .results import Outcome, Report, Result, Run, ScenarioInfo, WireExcerpt
from .sentences import headline_text, occurring_effects, occurring_outcomes, passing_text, size_text
from .statistics import Cell, Figures, count_verdicts
from .subject_groups import case_table, groups, leading
from .terminal import Lines, Section, StyledText, Table, Tone, Value

_TONES: dict[Outcome, Tone] = {
    "fail": "bad",
    "stale": "bad",
    "error": "bad",
    "new": "warning",
    "expected": "warning",
    "unsupported": "dim",
    "pass": "good",
}
#: Changes of one kind, and further scenarios of one cause, that are listed. The others are counted.
_EXAMPLES = 3
#: Causes of a subject that are shown with their smallest case, and further ones with their title only.
_CAUSES, _TITLES = 15, 25
#: Maximum number of scenarios per subject.
_SCENARIOS = 25
_EXCERPT = 160

Entry = tuple[StyledText, str]
Wire = Mapping[tuple[str, str, str], Sequence[WireExcerpt]]


def sections(report: Report, *, most: int = _EXAMPLES) -> list[Section]:
    """Return the sections of the report. ``most``: changes of a kind, and scenarios of a cause, that are listed."""
    run = report.run
    counts = count_verdicts(run)
    parts: list[Section] = []
    if report.before is not None:
        parts += _changes(compare(report.before, run), most)
    if run.results or not run.kills:
        parts += [*_failures(run, counts, most), *_groups(run, counts), *_places(run, counts)]
    parts += _kills(run)
    legend_outcomes = [*occurring_outcomes(counts.total)]
    if any(outcome != "pass" for outcome, _ in legend_outcomes):
        legend = [(StyledText(outcome, _TONES[outcome]), means) for outcome, means in legend_outcomes]
        legend += [(StyledText(effect, "dim"), means) for effect, means in occurring_effects(counts.effects)]
        parts.append(Lines("", [*legend, (StyledText("·", "dim"), "There is no such case.")]))
    if run.results or not run.kills:
        parts.append(Lines("", [(StyledText(line, "strong"), "") for line in _summary(run, counts)]))
    return parts


def _changes(comparison: Comparison, most: int) -> list[Section]:
    entries: list[Entry] = [(StyledText(comparison.sentence, "strong"), "")]
    entries += _verdict_changes("REGRESSION", "bad", comparison.regressions, most * 3)
    entries += _verdict_changes("fix", "good", comparison.fixes, most)
    entries += _verdict_changes("other outcome", "warning", comparison.others, most)
    entries += _verdict_changes("other reason", "dim", comparison.reasons, most)
    entries += _verdict_changes("new verdict", "dim", comparison.judged, most)
    entries += _verdict_changes("vanished verdict", "warning", comparison.unjudged, most)
    entries += _cases("new", "dim", comparison.new, most)
    entries += _cases("vanished", "warning", comparison.vanished, most)
    entries += [
        (StyledText("changed evidence", "dim"), describe_source_change(change)) for change in comparison.sources[:most]
    ]
    entries += _more(len(comparison.sources) - most)
    return [Lines("What changed", entries)]


def _verdict_changes(label: str, tone: Tone, changes: Sequence[VerdictChange], most: int) -> list[Entry]:
    entries = []
    for change in changes[:most]:
        old, new = (verdict.outcome if verdict else "not judged" for verdict in (change.before, change.after))
        why = change.after.why if change.after else ""
        subject = f"{change.result.subject} {change.check} {change.result.case}"
        entries.append((StyledText(f"{label} {subject}: {old} -> {new}", tone), why))
    return entries + _more(len(changes) - most)


def _cases(label: str, tone: Tone, cases: Sequence[Result], most: int) -> list[Entry]:
    scenarios = [*count_by_scenario(cases).items()]
    entries = [
        f"{subject} {scenario}: {count_text(count, f'{label} case')}" for (subject, scenario), count in scenarios[:most]
    ]
    return [(StyledText(text, tone), "") for text in entries] + _more(len(scenarios) - most)


def _more(left: int) -> list[Entry]:
    return [(StyledText(f"    and {left:,} more of this kind", "dim"), "")] if left > 0 else []


def _failures(run: Run, counts: Figures, most: int) -> Iterable[Lines]:
    """Return the causes of each subject's failures, each with its smallest case and the names of others."""
    wire: Wire = {(traffic.scenario, traffic.surface, traffic.mode): traffic.rounds for traffic in run.traffic}
    scenarios = {scenario.id: scenario for scenario in run.scenarios}
    laws = {law.id: law.sentence for law in run.laws}
    for (_, outcome), group in groupby(causes(counts), key=lambda cause: (cause.subject, cause.outcome)):
        found = [*group]
        for number, cause in enumerate(found[:_CAUSES], 1):
            place = f"{number} of {len(found)}: " if outcome == "fail" and len(found) > 1 else ""
            yield Lines(place + cause.title(), _cause(cause, laws.get(cause.leading_law, ""), most, scenarios, wire))
        rest = [(StyledText(cause.title(), "dim"), cause.failures[0][1].reason) for cause in found[_CAUSES:]]
        yield Lines(f"{len(rest)} more:" if rest else "", [*rest[:_TITLES], *_more(len(rest) - _TITLES)])


def _cause(cause: Cause, law: str, most: int, scenarios: Mapping[str, ScenarioInfo], wire: Wire) -> list[Entry]:
    entries = [(StyledText(f"The law: {law}", "dim"), "")] if law else []
    (result, verdict), *others = cause.failures
    rounds = wire.get((result.scenario, result.surface, result.mode), [])
    at = verdict.round
    excerpt = rounds[at].excerpt[:_EXCERPT] if at is not None and at < len(rounds) else ""
    place = f", round {at + 1}" if at else ""
    entries.append(
        (StyledText(f"{verdict.outcome.upper()} {result.case}{place}", _TONES[verdict.outcome]), verdict.why)
    )
    about = ""
    if (scenario := scenarios.get(result.scenario)) is not None:
        about = scenario.title + (f" (guards {', '.join(scenario.guards)})" if scenario.guards else "")
    sides = (verdict.expected or "nothing", verdict.got or "nothing") if verdict.outcome == "fail" else ("", "")
    for label, text in zip(("scenario", "expected", "got", "wire"), (about, *sides, excerpt), strict=True):
        if text:
            entries.append((StyledText(f"    {label}:", "dim"), " ".join(text.split())))
    entries.append((StyledText(f"    again:  {result.repeat}"), ""))  # unbroken, to be copied
    if result.direct:
        entries.append((StyledText(f"    direct:  {result.direct}"), ""))
    names = [*dict.fromkeys(other.scenario for other, _ in others if other.scenario != result.scenario)]
    if others:
        also = f"    and {count_text(len(others), 'more case')}"
        listed = f" of {', '.join(names[:most])}" if names else ""
        left = f" and {count_text(len(names) - most, 'more scenario')}" if len(names) > most else ""
        entries.append((StyledText(f"{also}{listed}{left}", "dim"), ""))
    return entries


def _groups(run: Run, counts: Figures) -> Iterator[Section]:
    """Return the tables of each group of subjects: laws by subject, and cases by effect."""
    for group in groups(run, counts):
        names = [item.name for item in group.standings]
        rows: list[list[Value]] = [[law, *(_kept(counts.law_cell(name, law)) for name in names)] for law in group.laws]
        rows.append(["all laws", *(item.cases.ratio for item in group.standings)])
        yield Table(f"{group.title}: laws kept, of the cases to which each applies", ["law", *names], rows)
        if group.idle:
            yield Lines("", [(StyledText("no applicable case", "dim"), ", ".join(group.idle))])
        if len(names) > 1:
            titles, numbers = case_table(group.standings)
            cases: list[list[Value]] = [[name, *row] for name, row in zip(names, numbers, strict=True)]
            yield Table("Cases by subject", ["subject", "laws broken", *titles], cases)


def _kept(cell: Cell) -> StyledText:
    return StyledText(cell.numbers or cell.outcome or "·", _TONES[cell.outcome or "unsupported"])


def _places(run: Run, counts: Figures) -> Iterable[Section]:
    """Return a table per subject: scenarios with failures, by surface."""
    for subject in run.subjects:
        surfaces, found = scenario_rows(run, counts, subject.name)
        rows: list[list[Value]] = [[scenario, *map(_place, cells)] for scenario, cells in found]
        if not rows:
            continue
        title = f"{subject.name} {subject.version}".strip()
        title += f": {count_text(len(rows), 'scenario')} of {len(run.scenarios):,} with problems"
        yield Table(title, ["scenario", *surfaces], rows[:_SCENARIOS])
        if len(rows) > _SCENARIOS:
            more = f"and {len(rows) - _SCENARIOS:,} more scenarios; the HTML page lists all of them: --html FILE"
            yield Lines("", [(StyledText(more, "dim"), "")])


def _place(cell: Cell) -> StyledText:
    return StyledText(f"{cell.outcome or '·'} {cell.numbers}".rstrip(), _TONES[cell.outcome or "unsupported"])


def _kills(run: Run) -> list[Section]:
    """Return the kill matrix: a row per known-bad subject, a column per law, its own law in brackets."""
    if not run.kills:
        return []
    laws = [law.id for law in run.laws]
    rows: list[list[Value]] = []
    for kill in run.kills:
        own = kill.by.get(kill.law, 0)
        marked = StyledText(f"[{own}]", "good" if own else "bad")
        rows.append([kill.name, *(marked if law == kill.law else kill.by.get(law, 0) for law in laws)])
    entries = [
        (StyledText(f"ALIVE {kill.name}", "bad"), f"{kill.law} does not fail it: {kill.sentence}")
        for kill in surviving_mutants(run)
    ]
    entries += [
        (StyledText(f"IDLE {law.id}", "bad"), "no known-bad subject needs this law") for law in unneeded_laws(run)
    ]
    entries += _generated(run)
    title = "Kill matrix: cases in which a law failed a known-bad subject, until its own did"
    last = Lines("", [*entries, (StyledText(kills_text(run), "strong"), "")])
    return [Table(title, ["subject", *laws], rows), *_needs(run), last]


def _needs(run: Run) -> Iterator[Section]:
    """Yield what needs each law, scenario and member: generated subjects by form, and those that only it kills."""
    for kind, table in needs(run).items():
        if kind == "request member":
            continue  # there are many: only the idle ones are listed
        forms = ("canonical", "brief")
        columns = [column for form in forms for column in (form, *(["only it"] if kind != "member" else []))]
        rows: list[list[Value]] = []
        for name, by_form in table.items():
            found = [by_form.get(form) for form in forms]
            cells = [(None, None) if need is None else (need.subjects, len(need.alone)) for need in found]
            if kind != "scenario" or any(alone for _, alone in cells):  # the others are listed below
                width = 1 if kind == "member" else 2
                rows.append([name, *("" if cell is None else cell for pair in cells for cell in pair[:width])])
        yield Table(f"Generated known-bad subjects that need each {kind}", [kind, *columns], rows)


def _generated(run: Run) -> list[Entry]:
    """Return what the generated known-bad subjects show: survivors, gaps, and what no subject needs."""
    if (generated := run.generated) is None:
        return []
    entries: list[Entry] = [(StyledText(f"ALIVE {name}", "bad"), "no law fails it") for name in generated.survivors]
    entries += [
        (StyledText(f"STALE {name}", "bad"), "listed as equivalent, but a law fails it") for name in generated.stale
    ]
    entries += [(StyledText(f"gap {name}", "warning"), "no scenario has traffic for it") for name in generated.gaps]
    for title, names in unneeded(run):
        entries.append((StyledText(title, "dim"), ", ".join(names) or "none"))
    return [*entries, (StyledText(generated_text(generated), "strong"), "")]


def _summary(run: Run, counts: Figures) -> list[str]:
    took = f" in {run.seconds:.1f} s" if run.seconds else ""  # published results have no duration
    line = size_text(run, counts, took)
    subjects = leading(run, counts)
    return [f"{headline_text(subjects)}; {passing_text(subjects)}", line] if len(counts.standings) > 1 else [line]
