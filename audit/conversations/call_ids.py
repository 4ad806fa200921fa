"""Ids of calls: which of them the provider drew, so that an equal id means the same call.

Other ids are counted, named, or made from a date or the content of the call, and repeat in other conversations. No rule
sees this in every id: the index also compares the ids of all responses (`ExchangeIndex.proves`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from toolparity.normalizer.wires.calls import is_synthetic

#: Ids of providers, where a drawn part can lack digits, or letters. The other ids of providers in recordings have a
#: segment that changes between digits and letters.
_FORMATS = re.compile(
    r"(?:toolu_|toolu_bdrk_|toolu_vrtx_|call_|call_\d\d_)([A-Za-z0-9]{24})"  # Anthropic, OpenAI, DeepSeek
    r"|tooluse_([\w-]{22})"  # Bedrock
    r"|call_(\d{8})|call_-(\d{19})"  # xAI, Zhipu
)
#: The version of a UUID and its variant, with or without hyphens. Versions 3 and 5 are digests of content.
_UUID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}(-?)[0-9a-f]{4}\1([0-9a-f])[0-9a-f]{3}\1[89ab][0-9a-f]{3}\1[0-9a-f]{12}(?![0-9a-f])"
)
#: A date with or without a time of day, and seconds since 1970 with or without fractions.
_TIME = re.compile(r"(?<!\d)(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])T?(?:\d{4,9}Z?)?|1[5-9]\d{8,17})")
_SEGMENTS = re.compile(r"[A-Za-z0-9]{8,}")
_CHANGES = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")
_LONG = 12
#: A number that counts the calls of a response.
_COUNTER = re.compile(r"(?<=[A-Za-z0-9])[-_:.]\d{1,4}$")


@lru_cache(maxsize=4096)
def is_drawn(id: str, name: str = "") -> bool:
    """Return whether an id looks drawn. ``name``: that of the tool, which an id can contain.

    A segment of eight characters or more changes twice between digits and letters, and is neither a time nor, for the
    most part, a sequence.
    """
    if is_synthetic(id):
        return not id.startswith("call_00000000")
    if (uuid := _UUID.search(id)) is not None:
        return uuid[2] in "47"
    left = _TIME.sub("", id.replace(name, "") if name else id)
    if (known := _FORMATS.fullmatch(left)) is not None:
        return not _is_sequence(known[known.lastindex or 0])
    return any(len(_CHANGES.findall(text)) >= 2 and not _is_sequence(text) for text in _SEGMENTS.findall(left))


def is_long(id: str) -> bool:
    """Return whether a drawn id is so long that no test server has it by chance, or written by hand."""
    return any(len(text) >= _LONG for text in _SEGMENTS.findall(id.replace("-", "")))


def stem(id: str) -> str:
    """Return an id without a counter at its end, which distinguishes calls with the same drawn part."""
    return _COUNTER.sub("", id)


def _is_sequence(text: str) -> bool:
    """Return whether half of a text counts up, or it has few different characters, as in the ids of examples."""
    steps = sum(ord(after) - ord(before) == 1 for before, after in pairwise(text))
    return text.startswith("0000") or len(set(text)) < 4 or 2 * steps >= len(text)
