"""Keys that line ends interrupt: the pieces are put together, and the forms of vendors are searched in the whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from . import names
from .forms import SecretPattern

_PIECE = r"[A-Za-z0-9_+/=.-]"
_BREAK = re.compile(rf"(?<={_PIECE})[ \t]{{0,4}}\\?\r?\n[> \t]{{0,20}}(?P<next>{_PIECE}{{2,}})")
#: Longer pieces are data, not lines of a key.
_LONGEST = 300
_BEFORE = re.compile(rf"{_PIECE}{{8,{_LONGEST}}}$")
_OF_A_KEY = re.compile(r"(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[\w+/=-]{8,}")


def wrapped(text: str, forms: Iterable[SecretPattern]) -> Iterator[tuple[str, int, int]]:
    """Yield ("", start, end) of each key that matches one of the forms only without its line ends."""
    spans: list[tuple[int, int]] = []
    for line_end in _BREAK.finditer(text):
        if not spans or spans[-1][1] != line_end.start():
            yield from _in_spans(text, spans, forms)
            before = _BEFORE.search(text, max(line_end.start() - _LONGEST, 0), line_end.start())
            spans = [before.span()] if before else []
        if spans:
            spans.append(line_end.span("next"))
    yield from _in_spans(text, spans, forms)


def _in_spans(
    text: str, spans: list[tuple[int, int]], forms: Iterable[SecretPattern]
) -> Iterator[tuple[str, int, int]]:
    while spans:
        first = _lines_of_one_word(text, spans)
        if len(first) > 1:
            yield from _in_pieces(text, first, forms)
        spans = spans[len(first) :]


def _lines_of_one_word(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the first piece, and those after it that look like the rest of the same key."""
    joined = spans[:1]
    for span in spans[1:]:
        piece = text[slice(*span)]
        width = joined[-1][1] - joined[-1][0]
        is_last = len(joined) > 1 and joined[-2][1] - joined[-2][0] == width and len(piece) < width
        if not (_OF_A_KEY.fullmatch(piece) or names.is_random(piece) or len(piece) == width >= 16 or is_last):
            break
        joined.append(span)
        if is_last:
            break
    return joined


def _in_pieces(
    text: str, spans: list[tuple[int, int]], forms: Iterable[SecretPattern]
) -> Iterator[tuple[str, int, int]]:
    whole = "".join(text[slice(*span)] for span in spans)
    places = [at for span in spans for at in range(*span)]
    for form in forms:
        assert form.pattern is not None
        for found in form.pattern.compiled.finditer(whole):
            start, end = places[found.start("it")], places[found.end("it") - 1] + 1
            if form.plausible(found["it"]) and "\n" in text[start:end]:
                yield "", start, end
