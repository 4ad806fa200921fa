"""Ways to split a response body into network chunks, from one chunk per event to cuts inside characters."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Chunk widths, used in turn, that cut through lines, escapes and characters.
_ODD = (1, 7, 2, 33, 3, 128, 5)
#: A byte of a UTF-8 character after its first.
_CONTINUATION = re.compile(rb"[\x80-\xBF]")
#: The end of an event. Google ends lines with CR LF.
_BLANK_LINE = re.compile(rb"\n\r?\n")
#: From this length on, bodies are cut into proportionally wider chunks, so that their number does not grow further.
_LONG = 1 << 16
#: Number of bytes at each end of a long body that `ends` sends one at a time.
_END = 1024


def events(data: bytes) -> list[bytes]:
    """Return one chunk per event: of an SSE stream with its blank line, or a message of an AWS event stream."""
    if data[:1] == b"\x00":
        return _messages(data)
    cuts = [match.end() for match in _BLANK_LINE.finditer(data)]
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]


def _messages(data: bytes) -> list[bytes]:
    """Split an AWS event stream by the lengths of its messages, which are at their beginning."""
    found = []
    at = 0
    while at < len(data):
        end = at + max(int.from_bytes(data[at : at + 4], "big"), 1)
        found.append(data[at:end])
        at = end
    return found


def whole(data: bytes) -> list[bytes]:
    """Return the body as a single chunk."""
    return [data] if data else []


def single(data: bytes) -> list[bytes]:
    """Return one chunk per byte."""
    return [data[at : at + 1] for at in range(len(data))]


def ends(data: bytes) -> list[bytes]:
    """Return the first and last 1024 bytes one at a time, and the middle in irregular widths.

    Most kinds of events occur at the two ends of a stream, so byte-wise cuts there are enough for a long body.
    """
    middle = max(len(data) - _END, _END)
    return [*single(data[:_END]), *odd(data[_END:middle]), *single(data[middle:])]


def odd(data: bytes) -> list[bytes]:
    """Return chunks of irregular widths that align with nothing in the body."""
    chunks = []
    at = number = 0
    factor = 1 + len(data) // _LONG
    while at < len(data):
        width = factor * _ODD[number % len(_ODD)]
        chunks.append(data[at : at + width])
        at += width
        number += 1
    return chunks


def split_characters(data: bytes) -> list[bytes]:
    """Cut inside every multi-byte UTF-8 character, between all of its bytes, and nowhere else."""
    cuts = [match.start() for match in _CONTINUATION.finditer(data, 1)]
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def merged(data: bytes) -> list[bytes]:
    """Return chunks of about four events, cut in the middle of every fourth event."""
    parts = events(data)
    chunks: list[bytes] = []
    rest = b""
    for at in range(0, len(parts), 4):
        last = parts[at + 3] if at + 3 < len(parts) else b""
        middle = len(last) // 2
        chunks.append(rest + b"".join(parts[at : at + 3]) + last[:middle])
        rest = last[middle:]
    return [*chunks, rest] if rest else chunks


#: Chunking name -> function that splits a body. To add a chunking, write a function and list it here.
CHUNKINGS: dict[str, Callable[[bytes], list[bytes]]] = {
    "events": events,
    "whole": whole,
    "bytes": single,
    "ends": ends,
    "odd": odd,
    "utf8": split_characters,
    "merged": merged,
}
