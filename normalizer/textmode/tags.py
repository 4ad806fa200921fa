"""Incremental search for tags, which holds back only text that may become a tag.

The functions have three kinds of results: a match, no match, or `HOLD` if the next chunk decides. ``buf`` is the text
so far, ``at`` an index in it, and ``final`` is true at the end of the text, where no function returns `HOLD`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

#: Maximum number of characters after the head of a tag; a longer match is text.
LONGEST_TAG = 256
#: Maximum length of white space between two tags that belong together.
LONGEST_GAP = 256
_SPACE = re.compile(r"[ \t\r\n]*")


class Hold:
    """Type of `HOLD`, the result if only the next chunk can decide."""


HOLD: Final = Hold()


class TagMatch(Struct, frozen=True, gc=False):
    """A matched tag. ``end``: the index after it. ``name`` and ``more``: the first two groups of its pattern.

    ``wrapped``: the opening tag of a section precedes it. ``grammar``: the index of the grammar it belongs to.
    """

    end: int
    name: str = ""
    more: str = ""
    wrapped: bool = False
    grammar: int = 0


class Tag(Struct, frozen=True):
    """A tag: ``head``, a match of ``inner``, and ``close``; only ``head`` if ``inner`` is None.

    ``never``: characters that cannot occur in ``inner``; at one of them the match fails without waiting for ``close``.
    """

    head: str
    inner: re.Pattern[str] | None = None
    close: str = ">"
    never: str = "<\n"

    def match(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        """Match the tag at an index."""
        head = self.head
        if not buf.startswith(head, at):
            return HOLD if not final and head.startswith(buf[at : at + len(head)]) else None
        start = at + len(head)
        if self.inner is None:
            return TagMatch(start)
        end = buf.find(self.close, start, start + LONGEST_TAG)
        if end < 0:
            waiting = len(buf) - start < LONGEST_TAG and not final
            return HOLD if waiting and not set(self.never) & set(buf[start:]) else None
        match = self.inner.fullmatch(buf, start, end)
        if match is None:
            return None
        return TagMatch(end + len(self.close), match[1], (match[2] or "") if self.inner.groups > 1 else "")


def literal(text: str, buf: str, at: int, final: bool) -> bool | Hold:
    """Return whether a string is at an index."""
    if buf.startswith(text, at):
        return True
    return HOLD if not final and text.startswith(buf[at : at + len(text)]) else False


def any_literal(texts: tuple[str, ...], buf: str, at: int, final: bool) -> int | Hold | None:
    """Return the index after the first of the strings that is at an index; None if none is."""
    undecided = False
    for text in texts:
        match = literal(text, buf, at, final)
        if match is True:
            return at + len(text)
        undecided = undecided or match is HOLD
    return HOLD if undecided else None


def after_space(buf: str, at: int) -> int:
    """Return the index of the first character from ``at`` on that is not white space."""
    match = _SPACE.match(buf, at)
    return at if match is None else match.end()


def after_gap(buf: str, at: int, final: bool) -> int | Hold | None:
    """Return the index after the white space at an index; None if it is longer than `LONGEST_GAP`."""
    end = after_space(buf, at)
    if end - at > LONGEST_GAP:
        return None
    return HOLD if end == len(buf) and not final else end


class Finder:
    """Incremental search for the first occurrence of several strings."""

    def __init__(self, *texts: str) -> None:
        longest = sorted(set(texts), key=len, reverse=True)
        self._search = re.compile("|".join(map(re.escape, longest))).search
        self._most = len(longest[0]) - 1
        self._beginnings = frozenset(text[:size] for text in longest for size in range(1, len(text)))

    def find(self, buf: str, at: int, final: bool) -> tuple[int, str]:
        """Return index and string of the first match; else the index up to which no match can begin, and ""."""
        match = self._search(buf, at)
        if match is not None:
            return match.start(), match.group()
        size = len(buf)
        if not final:
            for start in range(max(at, size - self._most), size):
                if buf[start:] in self._beginnings:
                    return start, ""
        return size, ""


@lru_cache(maxsize=256)
def finder(*texts: str) -> Finder:
    """Return a cached `Finder` for the strings."""
    return Finder(*texts)
