"""Vendor keys, by the table `vendors.toml`, which follows gitleaks' rules and the vendors' documentation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources

from .names import entropy

#: Words that may directly precede a key.
_GLUE = r"(?:(?<![\w-])|(?<=(?i:key))|(?<=(?i:key)[_-])|(?<=(?i:token))|(?<=(?i:token)[_-])|(?<=(?i:secret)[_-]))"


def keys(text: str) -> Iterator[str]:
    """Yield every text that has the form of a vendor's key and is random."""
    for mark, pattern in _rules():
        if mark in text:
            yield from (found for found in pattern.findall(text) if is_random(found))


def is_random(key: str) -> bool:
    """Return whether a key mixes digits and letters, or both cases with more variety than words have."""
    if any(map(str.isdigit, key)) and any(map(str.isalpha, key)):
        return entropy(key) >= 2.5
    return not key.islower() and not key.isupper() and entropy(key) >= 4.2


@cache
def _rules() -> list[tuple[str, re.Pattern[str]]]:
    """Return (a text that every match contains, the pattern) for every row."""
    table = tomllib.loads(resources.files(__package__).joinpath("vendors.toml").read_text(encoding="utf-8"))
    rows = [row for group in table.values() for row in group.values()]
    return [(mark, re.compile(f"{_GLUE}({before}{re.escape(mark)}{after})", re.ASCII)) for before, mark, after in rows]
