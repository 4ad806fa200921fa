"""The environment's own keys: no form is needed to know them, and nothing excuses them."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from urllib.parse import quote

_MIN_LENGTH = 8
_NAMED = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "_PAT", "_PWD", "_DSN")


def own_keys(environ: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """Variable -> every spelling of its value that would give it away; those that are no secrets are left out."""
    found = {}
    for name, given in (os.environ if environ is None else environ).items():
        value = given.strip()
        if any(part in name.upper() for part in _NAMED) and _is_secret(value):
            found[name] = _spellings(value)
    return found


def _is_secret(value: str) -> bool:
    """Neither short, nor a path, nor an ordinary word or number, nor one letter over and over."""
    if len(value) < _MIN_LENGTH or len(set(value)) < 4:
        return False
    if value.startswith(("/", "~", "./", "../")) or value[1:3] == ":\\":
        return False
    words = value.replace("-", " ").replace("_", " ").split(" ")
    plain = len(words) <= 2 and all(
        word.isalpha() and (word.islower() or word.istitle() or word.isupper()) for word in words
    )
    return len(value) >= 24 or not (plain or value.replace(".", "").isdigit())


def _spellings(value: str) -> list[str]:
    data = value.encode("utf-8", "surrogateescape")
    spellings = [value, quote(value, safe=""), data.hex(), data.hex().upper(), data.decode("latin-1")]
    for before in (b"", b"\0", b"\0\0"):
        # Only the letters that no neighbouring byte has a part in.
        letters = base64.b64encode(before + data).decode().rstrip("=")
        first = -(-len(before) * 8 // 6)
        last = (len(before) + len(data)) * 8 // 6
        spellings += [letters[first:last], letters[first:last].replace("+", "-").replace("/", "_")]
    return list(dict.fromkeys(spelling for spelling in spellings if len(spelling) >= _MIN_LENGTH))
