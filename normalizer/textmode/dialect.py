"""Definition of a dialect: detection of opening tags, parsing of calls, and writing of calls and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from .parsers.call_parser import CallParser, CallSink
from .parsers.coercion import ToolSchemas
from .tags import HOLD, Hold, Tag, TagMatch, after_gap, any_literal


class WrittenCall(Struct, frozen=True):
    """A call to be written. ``text``: its argument text. ``arguments``: None if that is not a JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    text: str


class WrittenResult(Struct, frozen=True):
    """The result of a call to be written, as text."""

    id: str
    name: str
    text: str
    is_error: bool


class Dialect(Struct, frozen=True):
    """One format of calls in text. Each module of `dialects` that implements one defines it as ``DIALECT``.

    ``heads``: strings with which an opening tag may begin. ``opening``: matches an opening tag at an index. ``parser``:
    returns the parser of the text after it. ``several``: whether one parser may return several calls. ``ends``: closing
    tags of a section, which count only after a call. ``strays``: closing tags that appear alone in malformed markup.
    ``doubts``: whether such a tag makes the end of the preceding call uncertain. ``tails``: control tokens that may
    follow a call. ``parse_results``: returns the name (or id, or ""), the text and the error flag of each result; None
    if the text contains no results.
    """

    name: str
    heads: tuple[str, ...]
    opening: Callable[[str, int, bool], TagMatch | Hold | None]
    parser: Callable[[CallSink, TagMatch, ToolSchemas], CallParser]
    write_calls: Callable[[list[WrittenCall]], str]
    write_results: Callable[[list[WrittenResult]], str]
    parse_results: Callable[[str], list[tuple[str, str, bool]] | None]
    several: bool = False
    ends: tuple[str, ...] = ()
    strays: tuple[Tag, ...] = ()
    doubts: bool = False
    tails: tuple[str, ...] = ()


def opening_in_section(
    inner: Callable[[str, int, bool], TagMatch | Hold | None], *outer: str
) -> Callable[[str, int, bool], TagMatch | Hold | None]:
    """Return an opening that matches ``inner``, or one of ``outer``, white space and ``inner``."""

    def opening(buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        around = any_literal(outer, buf, at, final)
        if isinstance(around, int):
            ahead = after_gap(buf, around, final)
            if not isinstance(ahead, int):
                return ahead
            hit = inner(buf, ahead, final)
            return TagMatch(hit.end, hit.name, hit.more, True) if isinstance(hit, TagMatch) else hit
        alone = inner(buf, at, final)
        return HOLD if alone is None and around is HOLD else alone

    return opening
