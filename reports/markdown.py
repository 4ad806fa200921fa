"""Markdown report for a pull request or the summary of a CI job: verdict, changes, failures and tables.

The report fits into a comment on GitHub (65,536 characters) and into the summary of a job (1 MiB). It ends with the
counts of everything that is left out. Texts of subjects, models and users are escaped for Markdown and HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .badge import badge_text
from .causes import Failure, causes
from .compare import (
    Comparison,
    VerdictChange,
    compare,
    count_by_scenario,
    count_text,
    describe_source_change,
    describe_subject_change,
)
from .kill_matrix import generated_text, kills_text, surviving_mutants, unneeded_laws
from .markdown_budget import MarkdownPage, code, prose, tagged
from .problems import scenario_rows
from .results import ORIGINS, Outcome, Report, Result, Run
from .sentences import (
    headline_text,
    occurring_effects,
    occurring_outcomes,
    population_text,
    size_text,
)
from .statistics import Cell, Figures, count_verdicts
from .subject_groups import Group, case_table, groups, leading
from .version_markdown import add_histories

#: Maximum bytes of the report. A character has at least one byte.
MAX_BYTES = 60_000
#: Maximum bytes for changes, failures, laws and scenarios.
_CHANGES, _FAILURES, _LAWS, _SCENARIOS = 14_000, 14_000, 7_000, 8_000
#: Maximum characters of a name, a reason and a command.
_NAME, _WHY, _COMMAND = 90, 240, 400
#: Maximum numbers of names in a list, and of failures of one law and subject.
_LISTED, _EXAMPLES = 20, 8

_MARKS: dict[Outcome, str] = {
    "error": "❗",
    "fail": "❌",
    "stale": "♻️",
    "new": "❌",
    "expected": "❌",
    "unsupported": "⬜",
    "pass": "✅",
}
_HEADS = {"brightgreen": "✅", "yellow": "⚠️", "red": "❌", "lightgrey": "⬜"}
_NONE = "·"


def render(report: Report) -> bytes:
    """Render the run as Markdown in UTF-8, at most `MAX_BYTES` bytes."""
    run = report.run
    counts = count_verdicts(run)
    page = MarkdownPage(MAX_BYTES)
    subjects = leading(run, counts)
    badge = badge_text(run, counts)
    of_subjects = f" of {prose(population_text(subjects), _NAME)}" if subjects else ""
    page.add(f"## {_HEADS[badge.colour]} Tool calls{of_subjects}: {badge.text}")
    if len(run.subjects) > 1:
        page.add(f"**{headline_text(subjects)}.**")
    if report.before is not None:
        _changes(page, compare(report.before, run))
    for group in groups(run, counts):
        _group(page, group, counts)
    _failures(page, run, counts)
    _places(page, run, counts)
    _kills(page, run)
    add_histories(page, report.histories)
    _about(page, run, counts)
    return page.written("The complete report is in the results (`--json`) and on the HTML page (`--html`).")


def _changes(page: MarkdownPage, comparison: Comparison) -> None:
    page.add("### What changed")
    summary = [f"**{number}**" for number in comparison.numbers]
    summary += [code(describe_subject_change(subject), _WHY) for subject in comparison.subjects[:_LISTED]]
    page.omit("subjects that changed", len(comparison.subjects) - _LISTED if len(comparison.subjects) > _LISTED else 0)
    size = count_text(comparison.compared, "verdict")
    since = f"since the run of {code(comparison.before, _NAME)}, in {size} that both have"
    page.add(f"{', '.join(summary) or '**Nothing changed**'} {since}.")
    kinds = (
        ("❌ regression", comparison.regressions),
        ("✅ fixed", comparison.fixes),
        ("other outcome", comparison.others),
        ("other reason", comparison.reasons),
        ("new verdict", comparison.judged),
        ("vanished verdict", comparison.unjudged),
    )
    rows = (_changed(kind, change) for kind, changes in kinds for change in changes)
    total = sum(len(changes) for _, changes in kinds)
    page.table(["", "subject", "law", "case", "was", "is", "why"], rows, total=total, what="changes", share=_CHANGES)
    cases = [*_cases("new", comparison.new), *_cases("vanished", comparison.vanished)]
    head = ["", "subject", "scenario", "cases"]
    title = "New and vanished scenarios"
    page.table(head, cases, total=len(cases), what=title.lower(), share=_CHANGES // 4, summary=title)
    sources = [["changed evidence", code(describe_source_change(change), _WHY)] for change in comparison.sources]
    page.table(["", "source"], sources, total=len(sources), what="sources that changed", share=_CHANGES // 4)


def _changed(kind: str, change: VerdictChange) -> list[str]:
    before, after = (verdict.outcome if verdict else _NONE for verdict in (change.before, change.after))
    why = change.after.why if change.after else ""
    result = change.result
    names = [code(text, _NAME) for text in (result.subject, change.check, result.case)]
    return [kind, *names, before, after, code(why, _WHY)]


def _cases(kind: str, results: Sequence[Result]) -> Iterator[list[str]]:
    for (subject, scenario), count in count_by_scenario(results).items():
        yield [kind, code(subject, _NAME), code(scenario, _NAME), f"{count:,}"]


def _failures(page: MarkdownPage, run: Run, counts: Figures) -> None:
    found = causes(counts)
    if not found:
        return
    page.add("### What failed")
    sentences = {law.id: law.sentence for law in run.laws}
    left = _FAILURES
    for number, cause in enumerate(found):
        title = cause.title(lambda name: tagged(name, _NAME))
        if sentence := sentences.get(cause.leading_law):
            title += f": {prose(sentence, _WHY)}"
        share = left // min(len(found) - number, 3)  # a subject with many failures leaves space for the others
        head = ["", "case", "why", "again"]
        left -= page.table(
            head,
            map(_failed, cause.failures[:_EXAMPLES]),
            total=len(cause.failures),
            what="failures",
            share=share,
            summary=title,
        )


def _failed(failure: Failure) -> list[str]:
    result, verdict = failure
    case, command = code(result.case, _NAME), code(result.repeat, _COMMAND)
    return [_MARKS[verdict.outcome], case, code(verdict.why, _WHY), command]


def _group(page: MarkdownPage, group: Group, counts: Figures) -> None:
    """Add the tables of a group of subjects: laws by subject, and cases by effect."""
    page.add(f"### {group.title}: laws kept, of the cases to which each applies")
    names = [code(item.name, _NAME) for item in group.standings]
    rows = [
        [code(law, _NAME), *(_cell(counts.law_cell(item.name, law)) for item in group.standings)] for law in group.laws
    ]
    totals = (f"**{item.cases.ratio}**{' (few cases)' * (item.name in group.few)}" for item in group.standings)
    rows.append(["all laws", *totals])
    page.table(["law", *names], rows, total=len(rows), what="laws", share=_LAWS)
    if group.idle:
        page.add(f"Laws without an applicable case: {_listed(page, 'laws', group.idle)}.")
    if len(group.standings) > 1:
        titles, numbers = case_table(group.standings)
        subjects = [[name, *row] for name, row in zip(names, numbers, strict=True)]
        head = ["subject", "laws that it breaks", *titles]
        page.table(head, subjects, total=len(subjects), what="subjects", share=_LAWS)


def _cell(cell: Cell) -> str:
    return f"{_MARKS[cell.outcome]} {cell.numbers}".rstrip() if cell.outcome else _NONE


def _places(page: MarkdownPage, run: Run, counts: Figures) -> None:
    """Add a table per subject: scenarios with failures, by surface."""
    tables = []
    for subject in run.subjects:
        surfaces, rows = scenario_rows(run, counts, subject.name)
        if rows:
            title = f"{tagged(subject.name, _NAME)}: {len(rows):,} of {count_text(len(run.scenarios), 'scenario')}"
            head = ["scenario", *(code(surface, _NAME) for surface in surfaces)]
            tables.append((title, head, [[code(scenario, _NAME), *map(_cell, cells)] for scenario, cells in rows]))
    if not tables:
        return
    page.add("### Scenarios with problems, by surface")
    left = _SCENARIOS
    for number, (title, head, table) in enumerate(tables):
        share = left // (len(tables) - number)
        left -= page.table(head, table, total=len(table), what="scenarios", share=share, summary=title)


def _kills(page: MarkdownPage, run: Run) -> None:
    if not run.kills:
        return
    generated = f"\n{generated_text(run.generated)}." if run.generated is not None else ""
    page.add(f"### Kill matrix\n\n{kills_text(run)}.{generated}")
    rows = [["❌ alive", code(kill.name, _NAME), prose(kill.sentence, _WHY)] for kill in surviving_mutants(run)]
    rows += [["❌ idle", code(law.id, _NAME), prose(law.sentence, _WHY)] for law in unneeded_laws(run)]
    page.table(["", "", ""], rows, total=len(rows), what="gaps in the kill matrix", share=_SCENARIOS // 4)


def _about(page: MarkdownPage, run: Run, counts: Figures) -> None:
    """Add the legend, the origin of the evidence and the facts of the run."""
    legend = [f"{_MARKS[outcome]} {outcome}: {means}" for outcome, means in occurring_outcomes(counts.total)]
    legend += [f"{effect}: {means}" for effect, means in occurring_effects(counts.effects)]
    if legend:
        page.add("\n".join(f"- {line}" for line in [*legend, f"{_NONE} there is no such case."]))
    if run.sources:
        _evidence(page, run)
    subjects = _listed(page, "subjects", (f"{item.name} {item.version}".strip() for item in run.subjects))
    where = _listed(page, "facts of the environment", (f"{name} {value}" for name, value in run.environment.items()))
    parts = [f"toolparity {code(run.toolparity, _NAME)}", where, code(run.date, _NAME)]
    facts = ", ".join(item for item in parts if item)
    page.add(f"{size_text(run, counts)}. {subjects or 'No subject'}; {facts}.")


def _evidence(page: MarkdownPage, run: Run) -> None:
    dates = sorted({source.date[:10] for source in run.sources if source.date})
    days = " to ".join(code(date, _NAME) for date in dict.fromkeys((dates[0], dates[-1]))) if dates else ""
    sdks = _listed(page, "SDK versions", (source.sdk for source in run.sources))
    facts = [f"recorded {days}" if days else "", f"through {sdks}" if sdks else ""]
    page.add(", ".join(["Evidence", *filter(None, facts)]) + ":")
    numbers = Counter(source.origin for source in run.sources)
    order = [*(name for name in ORIGINS if name in numbers), *(name for name in numbers if name not in ORIGINS)]
    page.omit("origins of evidence", max(len(order) - _LISTED, 0))
    lines = (f"- {numbers[name]:,} {code(name, _NAME)}. {ORIGINS.get(name, '')}".rstrip() for name in order[:_LISTED])
    page.add("\n".join(lines))


def _listed(page: MarkdownPage, what: str, texts: Iterable[str]) -> str:
    names = [name for name in dict.fromkeys(texts) if name]
    page.omit(what, max(len(names) - _LISTED, 0))
    return ", ".join(code(name, _NAME) for name in names[:_LISTED])
