"""Secrets known by value: those of the environment, and the credentials in recorded headers and addresses.

They are found without a pattern, so every part of a cassette is searched, also parts that otherwise stay unchanged
(signatures, encrypted reasoning, binary data).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from toolparity.turns.secrets.forms import Match
from toolparity.turns.secrets.placeholder import is_placeholder, placeholder

from ..surfaces import SURFACES

#: Shorter values occur in ordinary text by chance.
MIN_LENGTH = 8

#: How many characters of a value's beginning no other text has.
_CITED = 16

#: Words of a variable name that mark its value as a secret. ``AUTHOR`` and ``TOKENIZERS`` are other words.
_NAME_WORDS = frozenset(
    {
        *("KEY", "KEYS", "TOKEN", "SECRET", "SECRETS", "PASS", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "PWD"),
        *("CREDENTIAL", "CREDENTIALS", "AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "PRIVATE", "PAT", "DSN", "SSHPASS"),
    }
)
#: Endings of compound words: ``PGPASSWORD``, ``OPENAI_APIKEY``, ``AUTHTOKEN``.
_NAME_ENDINGS = ("PASSWORD", "PASSPHRASE", "SECRET", "TOKEN", "APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY")
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PLACES = re.compile(r"(?:/|~|\.{1,2}/|[A-Za-z]:\\)[^\n]*")
_WORD = re.compile(r"[a-z]+(?:[-_ ][a-z]+)?|[A-Z]+(?:[-_ ][A-Z]+)?|[A-Z][a-z]+|[0-9.]+")
_SEVERAL_WORDS = re.compile(r"[A-Za-z][a-z']*[,;:]?(?:\s+[A-Za-z][a-z']*[.,;:!?]?)+")
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,24}(?::\d{1,5})?")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://(?:(?P<user_info>[^\s/?#@]*)@)?[^\s/?#@]+(?P<path>[^\s?#]*)", re.IGNORECASE)


def from_environment(environ: Mapping[str, str]) -> list[str]:
    """Return the values of variables with secret names, except paths, addresses, models and plain words.

    For any address with user info, whatever the variable's name, return its password.
    """
    secrets = []
    for name, content in environ.items():
        value = content.strip()
        address = _ADDRESS.match(value)
        password = unquote((address and address["user_info"]) or "").partition(":")[2]
        if password and is_telling(password):
            secrets.append(password)
        if is_secret_name(name) and is_telling(value) and not _is_setting(value):
            secrets.append(value)
    return secrets


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name holds a secret, by the whole words of the name."""
    if name in {"PWD", "OLDPWD"}:
        return False
    words = [word.upper() for word in _NAME_WORD.findall(name)]
    if words[:1] == ["GIT"]:  # GIT_CONFIG_KEY_0 and similar are git's own settings
        return words[-1] in ("TOKEN", "PASSWORD", "PAT")
    return any(word in _NAME_WORDS or word.endswith(_NAME_ENDINGS) for word in words)


def _is_setting(value: str) -> bool:
    """Return whether a value is a public setting that replay needs: a provider's address, a model, plain words."""
    address = _ADDRESS.fullmatch(value)
    if address is not None:
        return not address["user_info"] and not any(
            len(part) >= 16 and any(map(str.isdigit, part)) and any(map(str.isalpha, part))
            for part in address["path"].split("/")
        )
    of_surface = any(value in surface for surface in SURFACES.values())  # tuples of addresses, models, names
    return of_surface or any(pattern.fullmatch(value) for pattern in (_HOST, _SEVERAL_WORDS))


def is_telling(value: str) -> bool:
    """Return whether a value is long and unusual enough to search for."""
    if len(value) < MIN_LENGTH or _PLACES.fullmatch(value) or is_placeholder(value):
        return False
    return len(set(value)) > 3 and (len(value) >= 24 or not _WORD.fullmatch(value))


class KnownSecrets:
    """A set of values to search for, also as base64 at any offset and as hex, which `layers` does not decode."""

    def __init__(self, values: list[str]) -> None:
        self._kinds: dict[str, str] = {}
        self._needles: list[tuple[str, str, str]] = []  # longest first: (needle, its placeholder, kind)
        self.add(values, "environment key")

    def add(self, values: list[str], kind: str) -> None:
        """Add values, except those already known and those that are too short or too plain."""
        new = [value for value in values if value not in self._kinds and is_telling(value)]
        for value in new:
            self._kinds[value] = kind
            spellings = zip(_spellings(value), _spellings(placeholder(value)), strict=True)
            self._needles += [(needle, stand_in, kind) for needle, stand_in in spellings if len(needle) >= MIN_LENGTH]
        if new:
            self._needles = sorted(dict.fromkeys(self._needles), key=lambda needle: -len(needle[0]))

    def find(self, text: str) -> Iterator[Match]:
        """Yield every occurrence of every value, longest first and without overlaps."""
        spans: list[tuple[int, int]] = []
        for needle, stand_in, kind in self._needles:
            at = text.find(needle)
            while at >= 0:
                end = at + len(needle)
                if not any(at < high and low < end for low, high in spans):
                    spans.append((at, end))
                    yield Match(kind, at, needle, stand_in, len(needle))
                at = text.find(needle, end)
        for value, kind in self._kinds.items():
            for start, end in _beginnings(value, text):
                if not any(start < high and low < end for low, high in spans):
                    spans.append((start, end))
                    yield Match(kind, start, text[start:end], placeholder(text[start:end]), end - start)


def _beginnings(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a text cites the beginning of a value: ``sk-proj-abc…``. Web tokens begin alike."""
    if len(value) < _CITED + MIN_LENGTH or value.startswith("eyJ"):
        return
    at = text.find(value[:_CITED])
    while at >= 0:
        end = at + _CITED
        while end - at < len(value) and text[end : end + 1] == value[end - at]:
            end += 1
        yield at, end
        at = text.find(value[:_CITED], end)


def _spellings(value: str) -> list[str]:
    data = value.encode("utf-8", "surrogateescape")
    packed = [_base64_at(data, offset) for offset in range(3)]
    urlsafe = [text.replace("+", "-").replace("/", "_") for text in packed]
    return [value, *packed, *urlsafe, data.hex(), data.hex().upper()]


def _base64_at(data: bytes, offset: int) -> str:
    """Return the base64 letters that depend only on ``data``, if it begins ``offset`` bytes into a group of three."""
    text = base64.b64encode(b"\0" * offset + data).decode()
    whole = (offset + len(data)) * 8 // 6
    return text[(0, 2, 3)[offset] : whole]
