"""Placeholders for secrets: same length, deterministic, and revealing almost nothing.

The same length in characters and in UTF-8 bytes keeps all counts in a body valid: protobuf's length prefixes,
content-length, chunk sizes, offsets of annotations. Equal secrets get equal placeholders in any cassette and any order,
so a request that is scrubbed during replay still matches the recorded one. Four characters distinguish secrets: 20 bits
of a hash, too few to confirm a guessed address or password.
"""

from __future__ import annotations

import hashlib
import re

_FILLER = "REDACTED"
_TAG_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_TAG_LENGTH = 4
_TAG_PART = re.compile(f"[{_TAG_LETTERS}]{{0,{_TAG_LENGTH}}}")

#: Characters that are kept, because JSON may escape them (``\\n``, ``\\"``), and letters have no escape of that length.
_KEPT = re.compile(r'[\x00-\x20"\\/\x7f\ud800-\udfff]')
#: One character for each UTF-8 length, to replace characters that are not ASCII.
_WIDE = {2: "\u00d8", 3: "\u2588", 4: "\U0001f636"}


def placeholder(secret: str) -> str:
    """Return the placeholder for ``secret``."""
    replaced = sum(1 for char in secret if not _KEPT.match(char))
    letters = iter(_letters(secret, replaced))
    out = []
    for char in secret:
        if _KEPT.match(char):
            out.append(char)
            continue
        letter = next(letters)
        out.append(letter if char.isascii() else _WIDE[len(char.encode())])
    return "".join(out)


def is_placeholder(text: str) -> bool:
    """Return whether ``text`` is a placeholder, so that scrubbing twice changes nothing."""
    core = _KEPT.sub("", text)
    body = len(core) - _TAG_LENGTH
    if body < 1:
        return False
    filler = zip(core[:body], _filler(body), strict=True)
    wide = _WIDE.values()
    tag = "".join(char for char in core[body:] if char not in wide)
    return all(char == letter or char in wide for char, letter in filler) and _TAG_PART.fullmatch(tag) is not None


def _letters(secret: str, length: int) -> str:
    number = int.from_bytes(hashlib.sha256(b"toolparity placeholder\0" + _utf8(secret)).digest()[:8], "big")
    tag = "".join(_TAG_LETTERS[(number >> shift) & 31] for shift in range(0, 5 * _TAG_LENGTH, 5))
    return (_filler(max(length - _TAG_LENGTH, 0)) + tag)[:length]


def _filler(length: int) -> str:
    return (_FILLER * (length // len(_FILLER) + 1))[:length]


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
