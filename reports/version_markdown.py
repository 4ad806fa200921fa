"""The histories of libraries in Markdown: a line per library, with the releases that changed a law."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .markdown_budget import MarkdownPage, code
from .version_text import counts_text
from .versions import LawChange, LibraryHistory, Version

#: Maximum bytes of the table, characters of a name, and releases that a line names: the latest ones.
_BYTES, _NAME, _RELEASES = 7_000, 90, 8


def add_histories(page: MarkdownPage, histories: Sequence[LibraryHistory]) -> None:
    """Add the table, if a version was tested."""
    tested = [history for history in histories if history.tested]
    if not tested:
        return
    page.add("### Versions over time: passed of applicable cases, and the releases that changed a law")
    head = ["library", "versions with all cases", "oldest", "newest", "changes"]
    rows = (_row(page, history) for history in tested)
    page.table(head, rows, total=len(tested), what="libraries over time", share=_BYTES)


def _row(page: MarkdownPage, history: LibraryHistory) -> list[str]:
    releases = [(version, [*changes]) for version, changes in groupby(history.changes, lambda change: change.after)]
    page.omit("releases that changed a law", max(0, len(releases) - _RELEASES))
    return [
        code(history.subject, _NAME),
        f"{len(history.tested):,} of {history.releases:,}",
        _outcome(history.tested[0]),
        _outcome(history.tested[-1]),
        "; ".join(_release(version, changes) for version, changes in releases[-_RELEASES:]) or "none",
    ]


def _outcome(version: Version) -> str:
    passed, applicable = version.cases
    return f"{code(version.version, _NAME)} {passed:,}/{applicable:,}"


def _release(version: str, changes: Sequence[LawChange]) -> str:
    """Return the changes of a release, such as "`1.2.0`: `order` 2 cases broken"."""
    since = f" or since {code(changes[0].before, _NAME)}" if changes[0].between else ""
    return f"{code(version, _NAME)}{since}: " + ", ".join(
        f"{code(change.law, _NAME)} {counts_text(change)}" for change in changes
    )
