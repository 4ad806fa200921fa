"""Random texts of a form, which is a regular expression of literals, classes, groups and counts."""

from __future__ import annotations

import random
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any


def sample(form: str, seed: str) -> str:
    """Return the text of a form that belongs to a seed."""
    return _text(parser.parse(form), random.Random(seed))


def _text(tree: Any, chance: random.Random) -> str:
    return "".join(_part(code, argument, chance) for code, argument in tree)


def _part(code: Any, argument: Any, chance: random.Random) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.IN:
        return chance.choice([char for kind, value in argument for char in _chars(kind, value)])
    if code is codes.MAX_REPEAT:
        least, most, inner = argument
        return "".join(_text(inner, chance) for _ in range(chance.randint(least, most)))
    if code is codes.SUBPATTERN:
        return _text(argument[-1], chance)
    raise NotImplementedError(f"{code} is not used in these forms")


def _chars(kind: Any, value: Any) -> list[str]:
    if kind is codes.LITERAL:
        return [chr(value)]
    if kind is codes.RANGE:
        return [chr(code) for code in range(value[0], value[1] + 1)]
    raise NotImplementedError(f"{kind} is not used in these forms")
