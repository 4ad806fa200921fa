"""The environment's own keys, which are searched for by value and have no exceptions."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote, urlsplit

from toolparity.cassettes.surfaces import SURFACES

_MIN_LENGTH = 8
_NAMED = re.compile(
    r"(?:^|[_.-])(?:[A-Z0-9]*(?:PASSWORD|PASSPHRASE|SECRET|TOKEN|APIKEY|ACCESSKEY|SECRETKEY|PRIVATEKEY)"
    r"|KEYS?|SECRETS|PASS|PASSWD|PASSCODE|CREDENTIALS?|AUTH|AUTHORIZATION|BEARER|COOKIE|PRIVATE|PAT|PWD|DSN|SSHPASS)"
    r"[0-9]*(?:[_.-]|$)"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_GIT = re.compile(r"GIT_(?!.*(?:TOKEN|PASSWORD|PAT)$)")


def own_keys(environ: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """Return variable -> every encoding of its value to search for. Variables without a secret are left out.

    For any address with a password, whatever the variable's name, the password is included.
    """
    keys: dict[str, list[str]] = {}
    for name, content in (os.environ if environ is None else environ).items():
        value = content.strip()
        secrets = [value] if _is_named(name) and _is_secret(value) and not _is_public(value) else []
        secrets += [password for password in (_password(value),) if _is_secret(password)]
        if secrets:
            keys[name] = [spelling for secret in secrets for spelling in _spellings(secret)]
    return keys


def _is_named(name: str) -> bool:
    plain = _HUMP.sub("_", name).upper()
    return name not in ("PWD", "OLDPWD") and not _GIT.match(plain) and _NAMED.search(plain) is not None


def _password(value: str) -> str:
    try:
        return unquote(urlsplit(value).password or "") if "://" in value else ""
    except ValueError:
        return ""


def _is_public(value: str) -> bool:
    """Return whether a value is public: an address or host without credentials, a default model, or several words."""
    if any(value in surface for surface in SURFACES.values()):
        return True
    words = value.split()
    if len(words) > 1:
        return all(word.strip(".,;:!?'").replace("'", "").isalpha() for word in words)
    try:
        parts = urlsplit(value if "://" in value else f"//{value}")
    except ValueError:
        return False
    if "://" not in value:
        labels = value.partition(":")[0].split(".")
        return (
            len(labels) > 1 and labels[-1].isalpha() and value == value.lower() and not parts.path and "@" not in value
        )
    random = any(len(part) >= 16 and not part.isalpha() and not part.isdigit() for part in parts.path.split("/"))
    return "@" not in parts.netloc and not parts.query and not parts.fragment and not random


def _is_secret(value: str) -> bool:
    """Return whether a value is neither short, nor a path, nor an ordinary word or number, nor a repeated letter."""
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
        # Only the letters that no neighbouring byte affects.
        letters = base64.b64encode(before + data).decode().rstrip("=")
        first = -(-len(before) * 8 // 6)
        last = (len(before) + len(data)) * 8 // 6
        spellings += [letters[first:last], letters[first:last].replace("+", "-").replace("/", "_")]
    return list(dict.fromkeys(spelling for spelling in spellings if len(spelling) >= _MIN_LENGTH))


_PART = 12
_STEP = 4


def parts_of(secrets: Iterable[str]) -> list[str]:
    """Return pieces that identify secrets anywhere, without the prefix that all keys of a kind share."""
    parts = []
    for secret in secrets:
        head = max(secret.rfind(mark, 0, 16) for mark in "-_. ") + 1
        pieces = [secret[at : at + _PART] for at in range(head, len(secret) - _PART + 1, _STEP)]
        parts += [piece for piece in pieces if not (piece.isalpha() or piece.isdigit() or len(set(piece)) < 6)]
    return parts
