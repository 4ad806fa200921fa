"""What the mutations share: walks over payloads, and cutting a text in pieces."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

#: Members whose values are the model's, and not the wire's: a member more is another value there.
FOREIGN = frozenset(("arguments", "input", "action", "actions", "operation", "parameters", "metadata"))


def copied(value: Any) -> Any:
    """A deep copy."""
    return copy.deepcopy(value)


def objects(
    value: Any, *, own: bool = False, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Every object with its path. ``own``: only those that the wire defines."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in list(value.items()):
            # What goes back as it came, on Google's wires, keeps a member more: a part, and the summary of a thought.
            is_returned = key == "parts" or (key == "summary" and "steps" in path)
            if not (own and (key in FOREIGN or is_returned)):
                yield from objects(inner, own=own, path=(*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from objects(inner, own=own, path=(*path, number))


def pieces(text: str, chance: Random) -> list[str]:
    """The text in two to four pieces, none empty; fewer where it is short."""
    places = sorted({chance.randint(1, max(1, len(text) - 1)) for _ in range(chance.randint(1, 3))})
    edges = [0, *(place for place in places if place < len(text)), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]
