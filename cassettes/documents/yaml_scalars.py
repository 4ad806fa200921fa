"""New text for one YAML scalar in the style of the old one.

Where the new value has as many characters as the old one, each changed character is replaced where it is, so that
quotes, escapes, folded lines and indentation stay. Any other value is written as a double-quoted scalar, which can hold
every text. Binary values keep the layout of their base64.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_PROPERTIES = re.compile(r"(?:[!&][^\s,\[\]{}]*[ \t\r\n]+)*")
_BREAK = re.compile(r"[ \t]*(?:\r?\n[ \t]*)+")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)", re.DOTALL)
_HEADER = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\n]*)?\r?\n")
_SIMPLE = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


class _Unit(NamedTuple):
    """A part of the value and its source: ``literal`` text that is its own source, or a notation of ``value``."""

    value: str
    source: str
    literal: bool


def respelled(source: str, event: Any, new: str | bytes) -> str:
    """Return the text for ``new`` in the place of ``source``, the text of the scalar ``event``."""
    properties = _PROPERTIES.match(source)
    start = properties.end() if properties is not None else 0
    head, content = source[:start], source[start:]
    if isinstance(new, bytes):
        return head + _base64(content, new)
    units = list(_STYLES.get(event.style or "", _none)(content))
    if "".join(unit.value for unit in units) == event.value and len(new) == len(event.value):
        return head + "".join(_changed(units, new, event.style or ""))
    return head + _double_quoted(new) + ("\n" if content.endswith("\n") else "")


def _changed(units: list[_Unit], new: str, style: str) -> Iterator[str]:
    at = 0
    for unit in units:
        part = new[at : at + len(unit.value)]
        at += len(unit.value)
        if part == unit.value:
            yield unit.source
        elif unit.literal:
            yield part if part.isascii() or not unit.source.isascii() or style != '"' else _escaped(part)
        else:
            yield _escaped(part) if style == '"' else part


def _none(content: str) -> Iterator[_Unit]:
    return iter(())


def _plain(content: str) -> Iterator[_Unit]:
    return _folded(content.rstrip(), re.compile(r"(?!)"), lambda found: "")


def _single_quoted(content: str) -> Iterator[_Unit]:
    yield _Unit("", "'", False)
    yield from _folded(content[1:-1], re.compile("''"), lambda found: "'")
    yield _Unit("", "'", False)


def _quoted(content: str) -> Iterator[_Unit]:
    yield _Unit("", '"', False)
    yield from _folded(content[1:-1], _ESCAPE, _unescaped)
    yield _Unit("", '"', False)


def _folded(content: str, notation: re.Pattern[str], meaning: Callable[[str], str]) -> Iterator[_Unit]:
    """Read a flow scalar: a line break is a space, and each further one a newline."""
    at = done = 0
    while at < len(content):
        found = notation.match(content, at)
        broken = None if found else _BREAK.match(content, at)
        if found is None and broken is None:
            at += 1
            continue
        if at > done:
            yield _Unit(content[done:at], content[done:at], True)
        if found is not None:
            yield _Unit(meaning(found.group()), found.group(), False)
            at = done = found.end()
        elif broken is not None:
            lines = broken.group().count("\n")
            yield _Unit("\n" * (lines - 1) if lines > 1 else " ", broken.group(), False)
            at = done = broken.end()
    if at > done:
        yield _Unit(content[done:at], content[done:at], True)


def _unescaped(found: str) -> str:
    kind = found[1]
    if kind in "xuU":
        return chr(int(found[2:], 16))
    return "" if kind in "\r\n" else _SIMPLE.get(kind, found)


def _literal(content: str) -> Iterator[_Unit]:
    """Read a block of kept lines. Its last line breaks depend on the chomping indicator."""
    header = _HEADER.match(content)
    if header is None:
        return
    yield _Unit("", header.group(), False)
    indicator = header.group()
    lines = content[header.end() :].splitlines(keepends=True)
    depths = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    indent = next((depth for depth in depths), 0)
    if any(map(str.isdigit, indicator)):
        return  # written as a double-quoted scalar: the depth of the parent is not known here
    last = max((number for number, line in enumerate(lines) if line.strip("\r\n ")), default=-1)
    for number, line in enumerate(lines):
        body = line.rstrip("\r\n")
        ending = line[len(body) :]
        blanks = body[: min(indent, len(body) - len(body.lstrip(" ")))]
        yield _Unit("", blanks, False)
        if number > last and "+" not in indicator:
            yield _Unit("", body[len(blanks) :] + ending, False)
            continue
        yield _Unit(body[len(blanks) :], body[len(blanks) :], True)
        kept = "\n" if ending and (number < last or "-" not in indicator) else ""
        yield _Unit(kept, ending, False)


def _double_quoted(text: str) -> str:
    return f'"{"".join(map(_escaped_char, text))}"'


def _escaped(text: str) -> str:
    return "".join(map(_escaped_char, text))


_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped_char(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if " " <= char <= "~":
        return char
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _base64(content: str, data: bytes) -> str:
    """Return base64 in the layout of ``content``: a block of lines, or one line with or without quotes."""
    text = base64.b64encode(data).decode()
    header = _HEADER.match(content)
    if header is None:
        quote = content[:1] if content[:1] in "\"'" else ""
        return f"{quote}{text}{quote}"
    lines = [line for line in content[header.end() :].splitlines() if line.strip()]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else "  "
    width = max((len(line.strip()) for line in lines), default=76) or 76
    rows = [text[at : at + width] for at in range(0, len(text), width)]
    end = content[len(content.rstrip("\r\n")) :] or "\n"
    return header.group() + "\n".join(indent + row for row in rows) + end


_STYLES: dict[str, Callable[[str], Iterator[_Unit]]] = {
    "": _plain,
    "'": _single_quoted,
    '"': _quoted,
    "|": _literal,
}
