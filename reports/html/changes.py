"""Changes since the earlier run that the report compares with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..compare import Comparison, EntryChange, VerdictChange, compare
from ..escape import cut
from ..results import EvidenceSource, Report, Result, SubjectInfo
from . import links
from .columns import NAME, WORDS
from .outcome_icons import MARKS, OutcomeIcon

#: Maximum rows of a list. The others are counted.
_MOST = 40


class ChangeRow(NamedTuple):
    """One change. ``link`` is "" if this run does not have the case or subject."""

    what: str
    link: str
    law: str
    before: OutcomeIcon | None
    after: OutcomeIcon | None
    told: str


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
    found = compare(report.before, report.run)
    verdicts: list[tuple[str, str, Sequence[VerdictChange]]] = [
        ("Regressions", "bad", found.regressions),
        ("Fixes", "good", found.fixes),
        ("Other outcomes", "", found.others),
        ("The same outcome for another reason", "", found.reasons),
        ("Laws that are new in known cases", "", found.judged),
        ("Laws that are gone from known cases", "odd", found.unjudged),
    ]
    lists = [_list(title, tone, [_change(one) for one in told[:_MOST]], len(told)) for title, tone, told in verdicts]
    lists += [
        _list("New cases", "", [_case(one, True) for one in found.new[:_MOST]], len(found.new)),
        _list("Vanished cases", "odd", [_case(one, False) for one in found.vanished[:_MOST]], len(found.vanished)),
        _list("Subjects", "", [_subject(one) for one in found.subjects[:_MOST]], len(found.subjects)),
        _list("Evidence from elsewhere", "", [_source(one) for one in found.sources[:_MOST]], len(found.sources)),
    ]
    sentence = cut(found.sentence, WORDS)
    return Changes(sentence[:1].upper() + sentence[1:], _tone(found), [one for one in lists if one.number])


def _tone(found: Comparison) -> str:
    return "bad" if found.regressions else "good" if found.fixes or found.same else "odd"


def _list(title: str, tone: str, rows: list[ChangeRow], number: int) -> ChangeList:
    return ChangeList(title, tone, number, rows, number - len(rows))


def _change(one: VerdictChange) -> ChangeRow:
    was, now = one.before, one.after
    told = now or was
    assert told is not None
    return ChangeRow(
        _named(one.result),
        links.case(one.result) if now else "",
        cut(told.check, NAME),
        MARKS[was.outcome] if was else None,
        MARKS[now.outcome] if now else None,
        cut(told.reason, 300),
    )


def _case(one: Result, there: bool) -> ChangeRow:
    return ChangeRow(_named(one), links.case(one) if there else "", "", None, None, "")


def _named(one: Result) -> str:
    return cut(f"{one.subject}  {one.case}", 300)


def _subject(moved: EntryChange[SubjectInfo]) -> ChangeRow:
    was, now = moved
    name = (now or was or SubjectInfo("", "")).name
    told = f"{was.version if was else 'not there'} → {now.version if now else 'gone'}"
    if was and now and was.version == now.version:
        told = f"claims {', '.join(was.claims) or 'nothing'} → {', '.join(now.claims) or 'nothing'}"
    return ChangeRow(cut(name, 300), links.filtered(subject=name) if now else "", "", None, None, cut(told, 300))


def _source(moved: EntryChange[EvidenceSource]) -> ChangeRow:
    was, now = moved
    path = (now or was or EvidenceSource("", "")).path
    return ChangeRow(cut(path, 300), "", "", None, None, cut(f"{_of(was)} → {_of(now)}", 300))


def _of(one: EvidenceSource | None) -> str:
    return " ".join(part for part in (one.origin, one.date[:10], one.model, one.sdk) if part) if one else "none"
