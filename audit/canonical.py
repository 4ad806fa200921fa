"""The canonical form of a part of the input as JSON lines, made in a worker."""

from __future__ import annotations

from msgspec import Struct

from toolparity.cassettes.sources import FilePart, PartReader, Problem
from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Policy

from .exchange import line
from .places import problem_at

#: What follows the source in a line. Quotes in the source are escaped, so its first occurrence is the end.
_END_OF_SOURCE = b'","id":'


class CanonicalPart(Struct):
    """The lines of a part, and the places in it that cannot be read.

    ``ran``: exchanges of known wires; ``faulty``: those that could not be decoded. ``lines``: the number of lines or
    rows of the part, by which the places of the next one are moved.
    """

    text: list[bytes] = []
    problems: list[Problem] = []
    ran: int = 0
    faulty: int = 0
    lines: int = 0

    def shift(self, offset: int) -> None:
        """Add ``offset`` to the line numbers of all places."""
        if offset:
            self.text = [_moved(line, offset) for line in self.text]
            self.problems = [problem_at(problem, offset) for problem in self.problems]


def canonical_part(
    part: FilePart, wire: str | None, policy: Policy, limit: int | None, raw: bool = False
) -> CanonicalPart:
    """Read and decode one part of the input. ``raw``: add each exchange as it was read."""
    result = CanonicalPart()
    reader = PartReader(part, wire)
    for item in reader:
        if isinstance(item, Problem):
            result.problems.append(item)
            continue
        written, decoded = line(item, policy=policy, limit=limit, raw=raw)
        result.ran += decoded.known
        result.faulty += decoded.faulty
        result.text.append(json_codec.encode_line(written))
    result.lines = reader.lines
    return result


def _moved(line: bytes, offset: int) -> bytes:
    end = line.index(_END_OF_SOURCE)
    start = line.rindex(b"#", 0, end) + 1
    return b"%b%d%b" % (line[:start], int(line[start:end]) + offset, line[end:])
