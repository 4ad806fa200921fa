"""The histories of libraries: laws by versions, and the releases that changed a law."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..compare import count_text
from ..escape import cut
from ..results import Report, Result
from ..version_text import counts_text
from ..versions import LawChange, LibraryHistory, Ratio
from .columns import NAME, WORDS
from .overview import shade_of
from .shell import case_link

#: Maximum number of versions in a table, the latest ones, and of cases that a change names.
_VERSIONS, _CASES = 40, 6
#: The id of a case: scenario, surface, mode and policy.
_CASE = re.compile(r"([^[]+)\[(.+)-([^-]+)-([^-]+)\]")


class VersionCell(NamedTuple):
    """One law on consecutive versions with the same outcome: ``span`` columns, ``versions`` in words.

    ``shade``: as in the heat map; None without an applicable case. ``change`` is "worse", "better" or "mixed" if the
    failing cases differ from those of the version before, else "".
    """

    versions: str
    span: int
    passed: int
    applicable: int
    shade: int | None
    change: str
    tip: str


class VersionRow(NamedTuple):
    """One law, or all laws ("")."""

    law: str
    cells: list[VersionCell]


class ChangeRow(NamedTuple):
    """The changes of one law by one release. ``examples``: case id and link; ``more``: how many others there are."""

    law: str
    counts: str
    examples: list[tuple[str, str]]
    more: int


class ReleaseRow(NamedTuple):
    """A release that changed laws. ``after``: the version before it; ``between``: the releases that were not tested.

    ``packages``: the other packages that differ, in words. ``note``: why the release changed laws, or "".
    """

    version: str
    after: str
    between: int
    packages: str
    note: str
    changes: list[ChangeRow]


class LibraryTable(NamedTuple):
    """One library. ``steady``: the laws that every version keeps. ``refused``: version and reason."""

    name: str
    about: str
    versions: list[str]
    rows: list[VersionRow]
    steady: list[str]
    releases: list[ReleaseRow]
    refused: list[tuple[str, str]]


def libraries(report: Report) -> list[LibraryTable]:
    """Return a table per history with a tested version, those with changes first."""
    names = {subject.name for subject in report.run.subjects}
    tested = (history for history in report.histories if history.tested)
    ordered = sorted(tested, key=lambda history: not history.changes)
    return [_library(history, history.subject in names) for history in ordered]


def _library(history: LibraryHistory, linked: bool) -> LibraryTable:
    shown = history.tested[-_VERSIONS:]
    changes: dict[tuple[str, str], list[LawChange]] = {}
    for change in history.changes:
        changes.setdefault((change.law, change.seen), []).append(change)
    ratios = {law: [version.laws.get(law, (0, 0)) for version in shown] for law in history.laws}
    names = [cut(version.version, NAME) for version in shown]
    uneven = [law for law, cells in ratios.items() if any(passed < applicable for passed, applicable in cells)]
    rows = [VersionRow("", _cells("", names, [version.cases for version in shown], [[]] * len(shown)))]
    for law in sorted(uneven, key=lambda law: min(_share(ratio) for ratio in ratios[law])):
        changed = [changes.get((law, version.version), []) for version in shown]
        rows.append(VersionRow(cut(law, NAME), _cells(law, names, ratios[law], changed)))
    return LibraryTable(
        cut(history.subject, NAME),
        _about(history),
        names,
        rows,
        [cut(law, NAME) for law in ratios if law not in uneven],
        _releases(history, linked),
        [(cut(one.version, NAME), cut(one.not_tested, WORDS)) for one in history.versions if one.not_tested],
    )


def _about(history: LibraryHistory) -> str:
    tested = history.tested
    sentences = [
        f"{len(tested):,} of {history.releases:,} releases of {cut(history.distribution, NAME)} ran with all cases,"
        f" from {cut(tested[0].version, NAME)} to {cut(tested[-1].version, NAME)}: {cut(history.rule, WORDS)}."
    ]
    if history.searched:
        searched = count_text(len(history.searched), "other release")
        sentences.append(f"The search for changes also ran {searched}, with the scenarios that differ.")
    if history.newest not in ("", *(version.version for version in tested)):
        newest, date = cut(history.newest, NAME), history.date[:10]
        sentences.append(f"The newest release on {date} is {newest}, which was not tested.")
    return " ".join(sentences)


def _cells(
    law: str, names: Sequence[str], ratios: Sequence[Ratio], changes: Sequence[Sequence[LawChange]]
) -> list[VersionCell]:
    """Return a cell for each run of versions with the same outcome. ``changes``: since the version before, for each."""
    starts = [at for at in range(len(names)) if not at or changes[at] or ratios[at] != ratios[at - 1]]
    return [
        _cell(law, names[start:end], ratios[start], changes[start] if start else [])
        for start, end in pairwise([*starts, len(names)])
    ]


def _cell(law: str, names: Sequence[str], ratio: Ratio, changes: Sequence[LawChange]) -> VersionCell:
    passed, applicable = ratio
    versions = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    parts = [f"{passed:,}/{applicable:,} applicable cases pass" if applicable else "no applicable case"]
    parts += [f"since {cut(change.after, NAME)}: {counts_text(change)}" for change in changes]
    tip = f"{versions}, {cut(law, NAME) or 'all laws'}: {', '.join(parts)}"
    shade = shade_of(applicable - passed, applicable)
    return VersionCell(versions, len(names), passed, applicable, shade, _kind(changes), tip)


def _kind(changes: Sequence[LawChange]) -> str:
    worse = any(change.broken or change.judged for change in changes)
    better = any(change.fixed or change.unjudged for change in changes)
    return "mixed" if worse and better else "worse" if worse else "better" if better else ""


def _share(ratio: Ratio) -> float:
    return ratio[0] / ratio[1] if ratio[1] else 1.0


def _releases(history: LibraryHistory, linked: bool) -> list[ReleaseRow]:
    """Return the releases that changed laws, the newest first."""
    by_release: dict[str, list[LawChange]] = {}
    for change in history.changes:
        by_release.setdefault(change.after, []).append(change)
    return [
        ReleaseRow(
            cut(version, NAME),
            cut(changes[0].before, NAME),
            changes[0].between,
            cut(_packages(changes[0]), WORDS),
            cut(history.notes.get(version, ""), WORDS),
            [_change(history.subject, change, linked) for change in changes],
        )
        for version, changes in reversed(by_release.items())
    ]


def _change(subject: str, change: LawChange, linked: bool) -> ChangeRow:
    cases = [*change.broken, *change.judged, *change.fixed, *change.unjudged]
    examples = [(cut(case, NAME), _link(subject, case) if linked else "") for case in cases[:_CASES]]
    return ChangeRow(cut(change.law, NAME), counts_text(change), examples, len(cases) - len(examples))


def _link(subject: str, case: str) -> str:
    """Return the address of the evidence of a case, whose id is that of `Result.case`."""
    if (parts := _CASE.fullmatch(case)) is None:
        return ""
    scenario, surface, mode, policy = parts.groups()
    return case_link(Result(subject, scenario, surface, mode, policy, []))


def _packages(change: LawChange) -> str:
    return ", ".join(f"{name} {old or 'none'} → {new or 'none'}" for name, (old, new) in change.packages.items())
