"""Terminal output: tables that fit the width, with optional colour.

The caller passes sections of tables and lines. Invisible characters are escaped, so that no text can control the
terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from tabulate import tabulate

from .escape import cut, visible

Tone = Literal["good", "warning", "bad", "dim", "strong"]

_CODES: dict[Tone, str] = {"good": "32", "warning": "33", "bad": "31", "dim": "2", "strong": "1"}
_GAP = 2  # in its format "simple", tabulate puts two spaces between columns
_HEADING_PADDING = 2  # and makes a column this much wider than its heading
_NARROWEST = 40
#: Maximum characters of one text.
_LONGEST = 2_000


class StyledText(Struct, frozen=True):
    """A text with an optional tone, which selects the colour."""

    text: str
    tone: Tone | None = None


Value = str | int | StyledText


class Table(Struct, frozen=True):
    """Rows under headings.

    The first ``labels`` columns name the row. They are left-aligned, and repeated in each part of a split table.
    """

    title: str
    columns: list[str]
    rows: list[list[Value]]
    labels: int = 1


class Lines(Struct, frozen=True):
    """A list of entries: a head, and a text that is wrapped and indented under it. The title may be empty."""

    title: str
    entries: list[tuple[StyledText, str]]


Section = Table | Lines


def render(sections: Sequence[Section], *, width: int, colour: bool) -> str:
    """Render the sections as text, separated by blank lines. Sections without rows or entries are left out.

    A table wider than ``width`` characters (at least 40) is split by columns, and each part repeats the labels.
    """
    width = max(width, _NARROWEST)
    blocks = [_section(section, width, colour) for section in sections]
    return "\n\n".join(block for block in blocks if block) + "\n"


def number_text(number: int) -> str:
    """Format a number with thousands separators, and zero as a dot."""
    return f"{number:,}" if number else "·"


def _section(section: Section, width: int, colour: bool) -> str:
    if isinstance(section, Lines):
        body = [_entry(head, rest, width, colour) for head, rest in section.entries]
    else:
        body = _table(section, width, colour)
    if not body:
        return ""
    title = [_toned(_shown(section.title), "strong", colour)] if section.title else []
    return "\n".join(title + body)


def _table(table: Table, width: int, colour: bool) -> list[str]:
    if not table.rows:
        return []
    table = replace(table, columns=[_shown(heading) for heading in table.columns])
    cells = [[_cell(value) for value in row] for row in table.rows]
    return ["\n\n".join(_grid(table, cells, group, colour) for group in _groups(table, cells, width))]


def _groups(table: Table, cells: list[list[StyledText]], width: int) -> list[list[int]]:
    """Return the groups of columns that fit into one width, from left to right."""
    widths = [
        max([len(heading) + _HEADING_PADDING, *(len(row[column].text) for row in cells)]) + _GAP
        for column, heading in enumerate(table.columns)
    ]
    labels = list(range(table.labels))
    room = width + _GAP - sum(widths[c] for c in labels)
    groups: list[list[int]] = []
    left = 0
    for column in range(table.labels, len(widths)):
        if not groups or left < widths[column]:
            groups.append([*labels])
            left = room
        groups[-1].append(column)
        left -= widths[column]
    return groups or [labels]


def _grid(table: Table, cells: list[list[StyledText]], group: list[int], colour: bool) -> str:
    return tabulate(
        [[_toned(row[c].text, row[c].tone, colour) for c in group] for row in cells],
        headers=[table.columns[c] for c in group],
        tablefmt="simple",
        disable_numparse=True,
        colalign=["left" if c < table.labels else "right" for c in group],
    )


def _cell(value: Value) -> StyledText:
    if isinstance(value, StyledText):
        return StyledText(_shown(value.text), value.tone)
    if isinstance(value, int):
        return StyledText(number_text(value), None if value else "dim")
    return StyledText(_shown(value))


def _entry(head: StyledText, rest: str, width: int, colour: bool) -> str:
    """Format an entry on one line if it fits. Words are never broken, so that paths can be copied."""
    head, rest = _cell(head), _shown(rest)
    shown = _toned(head.text, head.tone, colour)
    if not rest:
        return shown
    if len(head.text) + 2 + len(rest) <= width:
        return f"{shown}  {rest}"
    wrapped = textwrap.wrap(rest, width - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join([shown, *("    " + line for line in wrapped)])


def _shown(text: str) -> str:
    return visible(cut(text, _LONGEST))


def _toned(text: str, tone: Tone | None, colour: bool) -> str:
    return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if colour and tone else text
