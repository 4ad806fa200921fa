"""Streams that break: the pieces of a whole stream up to a cut before the event that ends the response.

The cuts are derived from the recorded traffic of every scenario, so that no file describes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from toolparity.normalizer.wires.registry import spec

from ..oracle import oracle
from ..subjects import SubjectExchange

#: The name of a cut -> where the stream breaks. Each scenario, surface and round has another place.
CUTS = {
    "cut:first": "after its first event",
    "cut:between": "between two events",
    "cut:last": "before the event that ends it",
    "cut:inside": "inside an event",
    "cut:character": "inside a character",
}
#: A UTF-8 character of several bytes.
_CHARACTER = re.compile(rb"[\xC2-\xF4][\x80-\xBF]+")


def broken(wire: str, pieces: Sequence[bytes], cut: str, seed: str) -> list[bytes] | None:
    """Return the pieces of a stream that breaks, or None if the stream has no such place.

    ``cut``: a name of `CUTS`, or ``cut:N`` for a stream that breaks after N pieces. ``seed``: chooses the place; the
    same seed chooses the same one. The place is before the event that ends the response.
    """
    end = next((number for number, piece in enumerate(pieces) if oracle(wire).finishes(piece)), None)
    if end is None:
        return None
    kind = cut.removeprefix("cut:")
    if kind.isdigit():
        return list(pieces[: int(kind)]) if int(kind) <= end else None
    if kind == "first":
        return list(pieces[:1]) if end else []
    if kind == "last":
        return list(pieces[:end]) if end > 1 else None
    if kind == "between":
        return list(pieces[: 2 + _choice(seed, end - 2)]) if end > 2 else None
    if spec(wire).framing == "messages":
        return None  # a message arrives complete or not at all
    places = list(_insides(pieces[: end + 1]) if kind == "inside" else _characters(pieces[:end]))
    if not places:
        return None
    number, length = places[_choice(seed, len(places))]
    return [*pieces[:number], pieces[number][:length]]


def ended(exchange: SubjectExchange) -> bool:
    """Return whether a stream has an event that ends the response."""
    return any(map(oracle(exchange.wire).finishes, exchange.pieces))


def _insides(pieces: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield one place inside each piece: its number, and the number of bytes that arrive. The rest is not empty."""
    for number, piece in enumerate(pieces):
        yield number, max(1, len(piece) * (1 + number % 3) // 4)


def _characters(pieces: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    for number, piece in enumerate(pieces):
        for match in _CHARACTER.finditer(piece):
            yield number, match.start() + 1


def _choice(seed: str, count: int) -> int:
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:6]) % count
