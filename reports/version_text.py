"""The history of a library for the terminal: laws by versions, and the releases that changed a law."""

from __future__ import annotations

from .compare import count_text
from .terminal import Lines, Section, StyledText, Table
from .versions import LawChange, LibraryHistory, Ratio, Version


def sections(history: LibraryHistory) -> list[Section]:
    """Return the sections of a history."""
    tested = history.tested
    rows: list[list[StyledText | str | int]] = [
        [law, *(_cell(version.laws.get(law)) for version in tested)] for law in history.laws
    ]
    rows.append([StyledText("all laws", "strong"), *(_cell(version.cases) for version in tested)])
    columns = ["law", *(version.version for version in tested)]
    missing = [version for version in history.versions if version.not_tested]
    return [
        Table(f"{history.subject}: passed of applicable cases", columns, rows),
        Lines("not tested", [(StyledText(version.version, "warning"), version.not_tested) for version in missing]),
        Lines("changes", [(_head(change), _change(change)) for change in history.changes]),
    ]


def version_line(version: Version) -> str:
    """Return the outcome of a version as one line."""
    if version.not_tested:
        return f"{version.version}: not tested: {version.not_tested}"
    return f"{version.version}: {_ratio(version.cases)} cases pass"


def counts_text(change: LawChange) -> str:
    """Return a text such as "3 cases broken, 24 cases fixed"."""
    parts = (
        (change.broken, "broken"),
        (change.fixed, "fixed"),
        (change.judged, "newly judged"),
        (change.unjudged, "no longer judged"),
    )
    return ", ".join(f"{count_text(len(cases), 'case')} {word}" for cases, word in parts if cases)


def _change(change: LawChange) -> str:
    skipped = f"; {count_text(change.between, 'release')} since {change.before} not tested" if change.between else ""
    return counts_text(change) + skipped


def _head(change: LawChange) -> StyledText:
    return StyledText(f"{change.after} {change.law}", "bad" if change.broken or change.judged else "good")


def _cell(ratio: Ratio | None) -> StyledText:
    if ratio is None:
        return StyledText("·", "dim")
    return StyledText(_ratio(ratio), None if ratio[0] == ratio[1] else "bad")


def _ratio(ratio: Ratio) -> str:
    return f"{ratio[0]:,}/{ratio[1]:,}"
