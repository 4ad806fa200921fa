"""Detection of code in fences and between backquotes, where markup is an example and not a call.

Follows CommonMark (4.5, 6.1) with two exceptions, because the rest of the text is unknown while it arrives: a fence may
have any indentation, as in lists, and a span of code ends with its line.
"""

from __future__ import annotations

import re

from .tags import LONGEST_GAP

#: Maximum number of marks of a run; a longer one counts as two.
LONGEST_RUN = 64
#: Maximum length of the text before a fence on its line: white space, block quote and list markers.
_LONGEST_LEAD = 64
_LEAD = re.compile(r"[ \t>*+\-.)\d]*")
_RUN = re.compile(rf"`{{1,{LONGEST_RUN}}}|~{{1,{LONGEST_RUN}}}")
_BLANK = re.compile(r"[ \t]*")


class Markdown:
    """State of Markdown code at the current position in a text.

    ``fenced``: inside a fence. ``span``: the number of marks of the open span of code, 0 for none. ``last``: the
    preceding character.
    """

    def __init__(self) -> None:
        self.fenced = False
        self.span = 0
        self.last = ""
        self._lead: str | None = ""  # the text of the line, as long as a fence may follow; else None
        self._fence = ("", 0)
        self._opened = False  # whether the fence was opened on this line

    @property
    def quoting(self) -> bool:
        """Whether a tag here would be in code."""
        return self.fenced or (self.span > 0 and self.last == "`")

    @property
    def at_start(self) -> bool:
        """Whether a line begins here, with an indentation of at most three spaces."""
        return self._lead is not None and len(self._lead) <= 3 and not self._lead.strip(" ")

    def add_text(self, words: str) -> None:
        """Process text without the marks that `add_marks` processes."""
        self.last = words[-1]
        line = words.rfind("\n")
        if line >= 0:
            self._lead, self._opened, self.span = "", False, 0
        if self._lead is not None:
            lead = self._lead + words[line + 1 : line + 2 + _LONGEST_LEAD]
            self._lead = lead if len(lead) <= _LONGEST_LEAD and _LEAD.fullmatch(lead) else None

    def interrupt(self) -> None:
        """Process something other than text. A fence may follow it directly, unless a span of code is open."""
        self._lead, self.last = None if self.span else "", ""

    def add_marks(self, buf: str, at: int, final: bool) -> int | None:
        """Process the marks at an index and return the index after them; None if the next chunk decides."""
        match = _RUN.match(buf, at)
        assert match is not None
        end, size, mark = match.end(), match.end() - at, buf[at]
        if end == len(buf) and size < LONGEST_RUN and not final:
            return None
        if self.fenced and self._opened and mark == "`" == self._fence[0]:  # not a fence: backquotes follow on its line
            self.fenced, self.span = False, self._fence[1]
        if self.fenced:
            closes = self._closes(buf, end, mark, size, final)
            if closes is None:
                return None
            self.fenced = not closes
        elif self._lead is not None and size >= 3:
            self.fenced, self._fence, self._opened = True, (mark, size), True
        elif mark == "`":
            self.span = size if not self.span else 0 if self.span == size else self.span
        self._lead, self.last = None, mark
        return end

    def _closes(self, buf: str, end: int, mark: str, size: int, final: bool) -> bool | None:
        """Return whether these marks close the fence, which they only do alone on their line; None if undecided."""
        if mark != self._fence[0] or size < self._fence[1] or self._lead is None or self._lead.strip(" \t>"):
            return False
        rest = _BLANK.match(buf, end)
        assert rest is not None
        if rest.end() - end > LONGEST_GAP:
            return False
        if rest.end() == len(buf):
            return True if final else None
        return buf[rest.end()] in "\r\n"
