"""Changes since the earlier run that the report compares with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..compare import Comparison, EntryChange, VerdictChange, compare
from ..escape import cut
from ..results import EvidenceSource, Report, Result, SubjectInfo
from .columns import NAME, WORDS
from .outcome_icons import MARKS, OutcomeIcon
from .shell import case_link, filter_link

#: Maximum rows of a list. The others are counted.
_MOST = 40


class ChangeRow(NamedTuple):
    """One change. ``link`` is "" if this run does not have the case or subject."""

    what: str
    link: str
    law: str
    before: OutcomeIcon | None
    after: OutcomeIcon | None
    detail: str


class ChangeList(NamedTuple):
    """One kind of change. ``left`` is the number of changes without a row."""

    title: str
    tone: str
    number: int
    rows: list[ChangeRow]
    left: int


class Changes(NamedTuple):
    """The summary sentence and the lists, most important first."""

    sentence: str
    tone: str
    lists: list[ChangeList]


def changes(report: Report) -> Changes | None:
    """Return the changes, or None if the report has no run to compare with."""
    if report.before is None:
        return None
    comparison = compare(report.before, report.run)
    verdicts: list[tuple[str, str, Sequence[VerdictChange]]] = [
        ("Regressions", "bad", comparison.regressions),
        ("Fixes", "good", comparison.fixes),
        ("Other outcomes", "", comparison.others),
        ("Same outcome, other reason", "", comparison.reasons),
        ("New verdicts in known cases", "", comparison.judged),
        ("Vanished verdicts in known cases", "warning", comparison.unjudged),
    ]
    lists = [
        _list(title, tone, [_change(change) for change in verdict_changes[:_MOST]], len(verdict_changes))
        for title, tone, verdict_changes in verdicts
    ]
    lists += [
        _list("New cases", "", [_case(change, True) for change in comparison.new[:_MOST]], len(comparison.new)),
        _list(
            "Vanished cases",
            "warning",
            [_case(change, False) for change in comparison.vanished[:_MOST]],
            len(comparison.vanished),
        ),
        _list("Subjects", "", [_subject(change) for change in comparison.subjects[:_MOST]], len(comparison.subjects)),
        _list(
            "Changed evidence", "", [_source(change) for change in comparison.sources[:_MOST]], len(comparison.sources)
        ),
    ]
    sentence = cut(comparison.sentence, WORDS)
    shown = [entries for entries in lists if entries.number]
    return Changes(sentence[:1].upper() + sentence[1:], _tone(comparison), shown)


def _tone(comparison: Comparison) -> str:
    return "bad" if comparison.regressions else "good" if comparison.fixes or comparison.same else "warning"


def _list(title: str, tone: str, rows: list[ChangeRow], number: int) -> ChangeList:
    return ChangeList(title, tone, number, rows, number - len(rows))


def _change(change: VerdictChange) -> ChangeRow:
    before, after = change.before, change.after
    verdict = after or before
    assert verdict is not None
    return ChangeRow(
        _named(change.result),
        case_link(change.result) if after else "",
        cut(verdict.check, NAME),
        MARKS[before.outcome] if before else None,
        MARKS[after.outcome] if after else None,
        cut(verdict.why, 300),
    )


def _case(result: Result, in_run: bool) -> ChangeRow:
    return ChangeRow(_named(result), case_link(result) if in_run else "", "", None, None, "")


def _named(result: Result) -> str:
    return cut(f"{result.subject}  {result.case}", 300)


def _subject(change: EntryChange[SubjectInfo]) -> ChangeRow:
    before, after = change
    name = (after or before or SubjectInfo("", "")).name
    detail = f"{before.version if before else 'absent'} → {after.version if after else 'gone'}"
    if before and after and before.version == after.version:
        detail = f"claims {', '.join(before.claims) or 'nothing'} → {', '.join(after.claims) or 'nothing'}"
    return ChangeRow(cut(name, 300), filter_link(subject=name) if after else "", "", None, None, cut(detail, 300))


def _source(change: EntryChange[EvidenceSource]) -> ChangeRow:
    before, after = change
    path = (after or before or EvidenceSource("", "")).path
    return ChangeRow(cut(path, 300), "", "", None, None, cut(f"{_describe(before)} → {_describe(after)}", 300))


def _describe(source: EvidenceSource | None) -> str:
    return (
        " ".join(part for part in (source.origin, source.date[:10], source.model, source.sdk) if part)
        if source
        else "none"
    )
