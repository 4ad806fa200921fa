"""The scanner's classification of secret names, by the end of the name, without case and separators."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

#: Endings that always mean a secret.
_SECRET = re.compile(
    r".*(?:(?:api|access|secret|private|signing|encryption|subscription|master|admin|license|shared|deploy|service)key"
    r"|(?:api|access|refresh|bearer|auth|authorization|session|id|security)token"
    r"|(?:client|webhook|signing|app|api|shared|consumer)secret|passw(?:or)?d|passphrase|passcode|pwd|authorization|cookie)"
)
#: Ambiguous endings: the value must also look random.
_PERHAPS = re.compile(r"(?:.*(?:token|secret|credential|bearer)|.+(?:key|auth|jwt|dsn|pat))")
_OTHERS = re.compile(
    r".*(?:public|publishable|primary|foreign|partition|sort|cache|idempotency|index|group|natural|unique|object"
    r"|dedup(?:e|lication)?|hash|sequence|schema|bucket|page|next|prev(?:ious)?|continuation|cursor|sync|resume|pagination"
    r"|[cx]srf|stop|start|pad|mask|input|output|prompt|completion|reasoning|cached|total)(?:key|token)"
)
#: Suffixes that number a name or state its environment.
_WHICH = re.compile(
    r"(?<=.)(?:v?[0-9]+|prod(?:uction)?|dev(?:elopment)?|stag(?:e|ing)|test(?:ing)?|live|sandbox|local|old|new|current"
    r"|backup|primary|secondary|default|value|plain|raw)$"
)
_PLURAL = re.compile(r"(?<=key|ken|ret|ial|kie|ord)s$")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def plain(name: str) -> str:
    """Return a name without case, hyphens, dots and underscores."""
    return re.sub(r"[-_.]", "", name.lower())


def is_secret(name: str) -> bool:
    """Return whether the name alone marks its value as a secret."""
    return _SECRET.fullmatch(_bare(name)) is not None


def is_secret_if_random(name: str, value: str) -> bool:
    """Return whether the name can mean a secret and the value looks random."""
    bare = _bare(name)
    if _PERHAPS.fullmatch(bare) is None or _OTHERS.fullmatch(bare) is not None:
        return False
    return (_UUID.fullmatch(value) is not None and not bare.endswith("key")) or is_random(value)


def is_random(value: str) -> bool:
    """Return whether digits and letters alternate more than in words, dates and versions."""
    if len(value) < 16 or " " in value or "://" in value or entropy(value) < 3.2:
        return False
    longest: str = max(re.split(r"[^A-Za-z0-9]+", value), key=len)
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(longest))
    return turns >= (1 if len(longest) >= 20 else 2)


def entropy(text: str) -> float:
    """Return Shannon's entropy in bits per character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _bare(name: str) -> str:
    name = plain(name)
    while (shorter := _PLURAL.sub("", _WHICH.sub("", name))) != name:
        name = shorter
    return name
