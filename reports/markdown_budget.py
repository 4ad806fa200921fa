"""Markdown within a byte limit: escapes third-party text, and counts what it leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .escape import cut, visible

#: Bytes reserved for the note at the end of the page.
_LAST = 1_500
#: Text without any meaning for Markdown, HTML or a forge: no markup, link, mention, emoji or issue number.
_WORDS = re.compile(r"""(?:[^\W_]|[ ,;'"(){}!?]|[.:](?= |$)|-(?!\d))+""")
_PUNCTUATION = re.compile(r"[&<>|\\`*_\[\]~#@:.$^]")


def code(text: str, most: int) -> str:
    """Return the text as a code span of at most ``most`` characters that is also valid in a table cell."""
    plain = cut(visible(text), most)
    if not plain or plain != plain.strip() or "`" in plain or "|" in plain:
        return tagged(text, most) if plain else ""
    return f"`{plain}`"


def prose(text: str, most: int) -> str:
    """Return a sentence unchanged if it is plain words, else as an HTML code element."""
    plain = cut(text, most)
    return plain if not plain or _WORDS.fullmatch(plain) else tagged(text, most)


def tagged(text: str, most: int) -> str:
    """Return the text as an HTML code element, for places without Markdown and for texts that a span cannot contain."""
    plain = cut(visible(text), most)
    return f"<code>{_PUNCTUATION.sub(lambda found: f'&#{ord(found[0])};', plain)}</code>"


class MarkdownPage:
    """A sequence of Markdown blocks that fit into ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self._left = room - _LAST
        self._parts: list[str] = []
        self._omitted: dict[str, int] = {}

    def add(self, block: str) -> None:
        """Append the block, or count it as an omitted paragraph if it does not fit."""
        size = len(block.encode()) + 2
        if size > self._left:
            self.omit("paragraphs", 1)
            return
        self._left -= size
        self._parts.append(block)

    def omit(self, what: str, count: int) -> None:
        """Add to the count of omitted items. ``what`` is their name in the plural."""
        if count:
            self._omitted[what] = self._omitted.get(what, 0) + count

    def table(
        self,
        head: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        total: int,
        what: str,
        share: int,
        summary: str = "",
    ) -> int:
        """Append as many of ``total`` rows as fit into ``share`` bytes, and return the number of bytes used.

        ``rows`` is consumed only as far as it fits; the rest is counted as omitted ``what``. With a ``summary`` (HTML),
        the table is collapsed under it.
        """
        fold = (f"<details><summary>{summary}</summary>\n\n", "\n\n</details>") if summary else ("", "")
        lines = [_row(head), _row(["---"] * len(head))]
        room = min(share, self._left) - sum(len(text.encode()) + 1 for text in (*fold, *lines)) - 2
        for row in rows:
            line = _row(row)
            room -= len(line.encode()) + 1
            if room < 0:
                break
            lines.append(line)
        shown = len(lines) - 2
        self.omit(what, total - shown)
        before = self._left
        if shown:
            self.add(fold[0] + "\n".join(lines) + fold[1])
        return before - self._left

    def written(self, hint: str) -> bytes:
        """Return the page in UTF-8. If anything was omitted, it ends with the counts and ``hint``."""
        parts = self._parts
        if self._omitted:
            counts = ", ".join(f"{count:,} {what}" for what, count in self._omitted.items())
            parts = [*parts, f"**Left out for size:** {counts}. {hint}"]
        return ("\n\n".join(parts) + "\n").encode()


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
