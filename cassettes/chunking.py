"""Ways in which a network may bring a body: as it was sent, at once, or hostile to whoever trusts the pieces."""

from __future__ import annotations

from collections.abc import Callable

#: Widths of pieces that go through lines, escapes and characters.
_ODD = (1, 7, 2, 33, 3, 128, 5)
#: How many bytes are an end of a long body.
_END = 1024


def events(data: bytes) -> list[bytes]:
    """A stream's events apart, each with the blank line that ends it."""
    parts = data.split(b"\n\n")
    return [part + b"\n\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def whole(data: bytes) -> list[bytes]:
    """Everything at once."""
    return [data] if data else []


def single(data: bytes) -> list[bytes]:
    """One byte at a time."""
    return [data[at : at + 1] for at in range(len(data))]


def ends(data: bytes) -> list[bytes]:
    """One byte at a time at the beginning and at the end, where all kinds of events stand; in odd widths between."""
    middle = max(len(data) - _END, _END)
    return [*single(data[:_END]), *odd(data[_END:middle]), *single(data[middle:])]


def odd(data: bytes) -> list[bytes]:
    """In widths that keep to nothing."""
    made = []
    at = number = 0
    while at < len(data):
        width = _ODD[number % len(_ODD)]
        made.append(data[at : at + width])
        at += width
        number += 1
    return made


def split_characters(data: bytes) -> list[bytes]:
    """Cut within every character that has more bytes than one, and nowhere else."""
    cuts = [at for at in range(1, len(data)) if data[at] & 0xC0 == 0x80]
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def merged(data: bytes) -> list[bytes]:
    """Three events and the beginning of the fourth in one piece."""
    parts = events(data)
    made: list[bytes] = []
    rest = b""
    for at in range(0, len(parts), 4):
        last = parts[at + 3] if at + 3 < len(parts) else b""
        middle = len(last) // 2
        made.append(rest + b"".join(parts[at : at + 3]) + last[:middle])
        rest = last[middle:]
    return [*made, rest] if rest else made


#: Name -> how a body is cut. Adding one is a function here and a line in the table.
CHUNKINGS: dict[str, Callable[[bytes], list[bytes]]] = {
    "events": events,
    "whole": whole,
    "bytes": single,
    "ends": ends,
    "odd": odd,
    "utf8": split_characters,
    "merged": merged,
}
