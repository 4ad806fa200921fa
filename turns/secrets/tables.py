"""Tables in texts: a row of names, and rows of as many values (CSV, Markdown, rows of databases, ``INSERT``)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import names
from .name_places import name_at, places

#: A row in brackets, without nesting, and a row that is a line.
_BRACKETS = re.compile(r"[\[(](?P<it>[^\[\]()\n]{3,2000}|[^\[\]()]{3,2000})[\])]")
_LINES = re.compile(  # also the first and the last line of a string in JSON
    r"^(?:[^\n\r]*\": ?\")?[ \t>]*\|?(?=[^\n\r]*[,;\t|])(?P<it>[^\n\r]+?)\|?[ \t]*(?:\r?$|\"[}\]])", re.MULTILINE
)
_CELL = re.compile(
    r"(?P<quote>\\*[\"'`])?(?P<it>(?(quote)(?:(?!(?P=quote))[^\n\"])*|[^,;|\t\"'`\n]*))(?(quote)(?P=quote))"
)
#: What follows a name in a row of names.
_SEPARATED = re.compile(r"[\"'`\\ ]*(?:[,;|\t\])\r\n]|$)")
_RULE = re.compile(r"[\s|:+-]+")
#: How far a row of names reaches, in rows.
_ROWS = 200


def rows(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (name, start, end) of the values under the names of secrets."""
    names_at = (name_at(text, start) for start in places(text))
    if not any(at is not None and _SEPARATED.match(text, at[1]) for at in names_at):
        return
    for kind in (_BRACKETS, _LINES):
        yield from _of_table([found.span("it") for found in kind.finditer(text)], text)


def _of_table(spans: list[tuple[int, int]], text: str) -> Iterator[tuple[str, int, int]]:
    heads: list[str] = []
    left = 0
    for start, end in spans:
        if _RULE.fullmatch(text, start, end):
            continue
        cells = _cells(text, start, end)
        found = [text[low:high].strip() for low, high in cells]
        if len(cells) > 1 and all(re.fullmatch(r"[\w. -]{1,40}", name) for name in found) and _secrets(found):
            heads, left = found, _ROWS
        elif left and len(cells) == len(heads):
            left -= 1
            for name, (low, high) in zip(heads, cells, strict=True):
                value = text[low:high]
                if names.is_secret(name, value) and names.is_password(value):
                    yield name, low, high
        else:
            left = 0


def _secrets(cells: list[str]) -> bool:
    return any(names.certainty_of(name) is not names.Certainty.NOTHING for name in cells)


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of the cells of a row, without blanks and quotes."""
    spans = []
    at = start
    while at <= end:
        while at < end and text[at] in " \n\r":
            at += 1
        found = _CELL.match(text, at, end)
        if found is None:
            return []
        low, high = found.span("it")
        while high > low and text[high - 1] in " \n\r":
            high -= 1
        spans.append((low, high))
        at = found.end()
        while at < end and text[at] in " \n\r":
            at += 1
        if at < end and text[at] not in ",;|\t":
            return []
        at += 1
    return spans
