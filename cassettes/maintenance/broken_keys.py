"""Keys that a line break splits: a folded YAML scalar has a blank there, and a block of kept lines a newline.

The scrubber replaces the part before the break, which looks like a shorter key. The rest of the key is a token that
follows it directly and looks random.
"""

from __future__ import annotations

import re

from toolparity.turns.secrets.placeholder import placeholder

_TOKEN = r"[A-Za-z0-9_+/=~.-]+"
_BREAK = r"(?: |[ \t]*\r?\n[ \t]*)"
_CHAIN = re.compile(rf"{_TOKEN}(?:{_BREAK}{_TOKEN})+")
_ONE = re.compile(_TOKEN)
#: Shorter tokens are left: they reveal little, and words and versions look like them.
_SHORTEST = 8
_CLASSES = (re.compile("[0-9]"), re.compile("[a-z]"), re.compile("[A-Z]"))


def without_tails(old: str, new: str) -> str:
    """Return the scrubbed text ``new`` with the rest of each key replaced, too. ``old``: the text with its secrets."""
    if old == new or len(old) != len(new):
        return new
    for chain in _CHAIN.finditer(old):
        is_cut = False
        for token in _ONE.finditer(old, *chain.span()):
            start, end = token.span()
            if new[start:end] != token[0]:
                is_cut = new[max(start, end - 4) : end] != token[0][-4:]
            elif is_cut and _is_random(token[0]):
                new = new[:start] + placeholder(token[0]) + new[end:]
            else:
                is_cut = False
    return new


def _is_random(token: str) -> bool:
    return len(token) >= _SHORTEST and all(letters.search(token) for letters in _CLASSES)
