"""Decoded views of a text that can be searched and written through to the original encoding.

A secret may be written as ``s\\u006b-…`` or ``sk%2D…``, and a stream may split it. A `DecodedText` holds the
decoded text and the origin of each character. It can be searched as one text, and replacements are written back to the
encoded original and its pieces, character by character, without any change of length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol


class SearchableText(Protocol):
    """A text that can be searched, and overwritten in place."""

    text: str

    def write(self, start: int, new: str) -> None:
        """Overwrite the characters from ``start`` on with ``new``."""


class PlainText:
    """The undecoded text at the bottom of the layers."""

    def __init__(self, text: str) -> None:
        self.text = text

    def write(self, start: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[start + len(new) :]


class Segment(NamedTuple):
    """Neighbouring characters of a view and their position below: plain (one to one), or one encoded character."""

    at: int
    length: int
    below: int
    below_length: int
    spelled: bool


class DecodedText:
    """A text that consists of runs of ``below``, in order. Characters between the runs are not part of it."""

    def __init__(self, below: SearchableText, text: str, runs: list[Segment]) -> None:
        self.below = below
        self.text = text
        self._runs = runs
        self._starts = [run.at for run in runs]

    def write(self, start: int, new: str) -> None:
        end = start + len(new)
        index = max(bisect_right(self._starts, start) - 1, 0)
        while index < len(self._runs) and self._runs[index].at < end:
            run = self._runs[index]
            index += 1
            low, high = max(run.at, start), min(run.at + run.length, end)
            if low >= high:
                continue
            part = new[low - start : high - start]
            if not run.spelled:
                self.below.write(run.below + low - run.at, part)
            elif part != self.text[low:high]:
                spelling = self.below.text[run.below : run.below + run.below_length]
                self.below.write(run.below, _respelled(spelling, part))
        self.text = self.text[:start] + new + self.text[end:]


_JSON_ESCAPE = re.compile(r'\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|["\\/bfnrt])')
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PERCENT = re.compile(r"%[0-7][0-9a-fA-F]|%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}")
_UTF8 = re.compile("[\xc2-\xf4][\x80-\xbf]{1,3}")


def _json_char(spelling: str) -> str | None:
    if spelling[1] != "u":
        return _SIMPLE[spelling[1]]
    if len(spelling) == 6:
        return chr(int(spelling[2:], 16))
    high, low = int(spelling[2:6], 16), int(spelling[8:], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def _percent_char(spelling: str) -> str | None:
    return _one_char(bytes.fromhex(spelling.replace("%", "")))


def _utf8_char(spelling: str) -> str | None:
    return _one_char(spelling.encode("latin-1"))


def _one_char(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) == 1 else None


def unescaped(below: SearchableText) -> DecodedText | None:
    """Decode one level of JSON escapes; None if there are none."""
    return _decoded(below, "\\", _JSON_ESCAPE, _json_char)


def unquoted(below: SearchableText) -> DecodedText | None:
    """Decode URL encoding; None if there is none."""
    return _decoded(below, "%", _PERCENT, _percent_char)


def from_utf8(below: SearchableText) -> DecodedText | None:
    """Decode bytes, held as latin-1, from UTF-8; None if all are ASCII."""
    return None if below.text.isascii() else _decoded(below, "", _UTF8, _utf8_char)


def _decoded(
    below: SearchableText, mark: str, pattern: re.Pattern[str], char: Callable[[str], str | None]
) -> DecodedText | None:
    if mark not in below.text:
        return None
    builder = _Builder()
    _read(builder, below.text, 0, len(below.text), pattern, char)
    return DecodedText(below, builder.joined(), builder.runs) if builder.spelled else None


def joined(below: SearchableText, spans: Iterable[tuple[int, int]]) -> DecodedText:
    """Decode JSON strings, given as spans between their quotes, and concatenate them."""
    builder = _Builder()
    for start, end in spans:
        if "\\" in below.text[start:end]:
            _read(builder, below.text, start, end, _JSON_ESCAPE, _json_char)
        else:
            builder.literal(below.text, start, end)
    return DecodedText(below, builder.joined(), builder.runs)


def spliced(below: SearchableText, spans: Iterable[tuple[int, int]]) -> DecodedText:
    """Concatenate spans without decoding."""
    builder = _Builder()
    for start, end in spans:
        builder.literal(below.text, start, end)
    return DecodedText(below, builder.joined(), builder.runs)


class _Builder:
    def __init__(self) -> None:
        self.runs: list[Segment] = []
        self.spelled = False
        self._parts: list[str] = []
        self._length = 0

    def literal(self, text: str, start: int, end: int) -> None:
        if end > start:
            self.runs.append(Segment(self._length, end - start, start, end - start, False))
            self._parts.append(text[start:end])
            self._length += end - start

    def char(self, char: str, start: int, end: int) -> None:
        self.runs.append(Segment(self._length, 1, start, end - start, True))
        self._parts.append(char)
        self._length += 1
        self.spelled = True

    def joined(self) -> str:
        return "".join(self._parts)


def _read(
    builder: _Builder,
    text: str,
    start: int,
    end: int,
    pattern: re.Pattern[str],
    char: Callable[[str], str | None],
) -> None:
    done = start
    for found in pattern.finditer(text, start, end):
        decoded = char(found.group())
        if decoded is None:
            continue
        builder.literal(text, done, found.start())
        builder.char(decoded, found.start(), found.end())
        done = found.end()
    builder.literal(text, done, end)


def _respelled(spelling: str, char: str) -> str:
    """Encode ``char`` in the notation and the length of ``spelling``."""
    if spelling[0] == "%":
        return "".join(f"%{byte:02X}" for byte in char.encode())
    if spelling[0] != "\\":
        return char.encode().decode("latin-1")
    if len(spelling) == 2:
        return spelling  # placeholders keep the characters that have such an escape
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def layers(
    below: SearchableText, decoders: tuple[Callable[[SearchableText], DecodedText | None], ...], depth: int = 3
) -> Iterator[SearchableText]:
    """Yield ``below`` and all views from any sequence of decoders, at most ``depth`` levels deep.

    The deepest view comes first, because only there a secret's limits are exact: undecoded, ``\\nsk-…`` seems to begin
    with an n.
    """
    if depth:
        for decode in decoders:
            view = decode(below)
            if view is not None:
                yield from layers(view, decoders, depth - 1)
    yield below
