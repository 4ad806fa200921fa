"""Lines of JSON-lines files: of a whole file, of a byte range, or of a block of lines that was read already.

A line belongs to the range in which it begins. Ranges therefore can be cut anywhere, and the reader of a range needs
nothing from the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

from ..errors import UnreadableSource
from . import files
from .decompression import DAMAGED
from .model import FilePart, Problem

_BOM = b"\xef\xbb\xbf"

#: A line with its number, and None instead of its bytes if it is longer than MAX_RECORD_BYTES.
NumberedLine = tuple[int, bytes | None]


def of_part(part: FilePart) -> Iterator[NumberedLine]:
    """Yield the lines of a part. They are numbered from ``part.before``, or within the part if that is unknown."""
    before = part.before or 0
    if part.content is not None:
        yield from numbered(BytesIO(part.content), before, is_start=False)
    elif part.end is None:
        with files.opened(part.path) as file:
            yield from numbered(file.stream, before)
    else:
        with files.opened_at(part.path, max(part.start - 1, 0), part.size) as stream:
            length = part.end - part.start - _rest_of_line(stream, part)
            yield from numbered(stream, before, length, is_start=part.start == 0)


def numbered(
    stream: BinaryIO, before: int = 0, length: int | None = None, *, is_start: bool = True
) -> Iterator[NumberedLine]:
    """Yield each line that begins within the next ``length`` bytes, blank lines included, one at a time.

    ``before``: the number of lines before them. ``is_start``: the stream begins where the file begins, so that the
    first line may have a byte order mark.
    """
    number, position = before, 0
    most = files.MAX_RECORD_BYTES
    readline = stream.readline
    while (length is None or position < length) and (line := readline(most + 1)):
        number += 1
        position += len(line)
        if len(line) > most:
            while not line.endswith(b"\n") and (line := readline(files.HEAD_BYTES)):
                position += len(line)
            yield number, None
        else:
            yield number, line.removeprefix(_BOM) if number == 1 and is_start else line


def blocks(stream: BinaryIO, block_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield blocks of whole lines of at least ``block_bytes`` bytes, each with the number of lines before it.

    None replaces a line above MAX_RECORD_BYTES. The lines before damaged compressed data are yielded before the error
    is raised.
    """
    gathered: list[bytes] = []
    size = before = 0
    try:
        for number, line in numbered(stream):
            if line is not None:
                gathered.append(line)
                size += len(line)
            if gathered and (line is None or size >= block_bytes):
                yield before, b"".join(gathered)
                gathered, size = [], 0
            if line is None:
                yield number - 1, None
            if not gathered:
                before = number
    except (*DAMAGED, OSError):
        if gathered:
            yield before, b"".join(gathered)
        raise
    if gathered:
        yield before, b"".join(gathered)


def too_long(path: str, number: int) -> Problem:
    """Return the problem of a line above MAX_RECORD_BYTES."""
    most = files.MAX_RECORD_BYTES >> 20
    return Problem(f"{path}#{number}", f"the line is longer than {most} MB", line=number)


def whole(file: files.Opened) -> Iterator[tuple[int, bytes]]:
    """Yield each line of a file that is not blank. Raises UnreadableSource for a line above MAX_RECORD_BYTES."""
    for number, line in numbered(file.stream):
        if line is None:
            raise UnreadableSource(too_long(file.path, number).what)
        if not line.isspace():
            yield number, line


def _rest_of_line(stream: BinaryIO, part: FilePart) -> int:
    """Skip the rest of the line that begins before the part. Return how many bytes of the part it has.

    The stream is at the byte before the part. Nothing is skipped if that byte ends a line. The rest of a line that
    ends behind the part is not read.
    """
    if not part.start or part.end is None:
        return 0
    length = part.end - part.start
    skipped = -1
    while skipped < length and (piece := stream.readline(files.HEAD_BYTES)):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped
