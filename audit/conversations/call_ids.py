"""Ids of calls: which of them the provider drew, so that an equal id means the same call.

Other ids are counted or named by a server or an application, and repeat in other conversations.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SEGMENTS = re.compile(r"[A-Za-z0-9]{8,}")
#: How many different characters a drawn segment of an id has, at least.
_DIFFERENT = 4


@lru_cache(maxsize=100_000)
def is_drawn(id: str) -> bool:
    """Return whether a segment of an id looks drawn: it is neither a word nor a counter with leading zeros."""
    return any(
        len(set(text)) >= _DIFFERENT and not text.isalpha() and not text.startswith("0000")
        for text in _SEGMENTS.findall(id)
    )
