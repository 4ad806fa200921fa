"""Deterministic digests of texts, for aliases of ids and names."""

from __future__ import annotations

import hashlib

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def digest(text: str, length: int) -> str:
    """Return a deterministic base-62 digest of a text, of ``length`` letters and digits."""
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    characters = []
    for _ in range(length):
        number, rest = divmod(number, 62)
        characters.append(_BASE62[rest])
    return "".join(characters)
