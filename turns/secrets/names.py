"""Classification of member, parameter, header and variable names: does the name mark its value as a secret?

A name is split into words in any casing (``MISTRAL_API_KEY``, ``mistralApiKey``, ``x-mistral-key``), and its last words
decide. Some names always mean a secret (``…_API_KEY``, ``…Password``). Others are ambiguous (``page_token``,
``cache_key``): then the value must also look random.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import Enum

#: Words before ``key`` that make it a credential.
_KEYS = frozenset(
    {
        *("api", "access", "secret", "private", "signing", "encryption", "subscription", "master", "admin", "license"),
        *("account", "shared", "deploy", "personal", "service"),
    }
)
_TOKENS = frozenset({"api", "access", "refresh", "bearer", "auth", "authorization", "session", "id", "security"})
_SECRETS = frozenset({"client", "webhook", "signing", "app", "api", "shared", "consumer"})
#: Last words that mean a secret whatever precedes them, and endings of compound words.
_SURE = frozenset({"password", "passwd", "passphrase", "passcode", "pwd", "authorization", "cookie", "mnemonic"})
#: Words for a password or a key in other languages, whose letters or words are not those of English names.
FOREIGN = (
    *(
        "passwort",
        "kennwort",
        "contraseña",
        "contrasena",
        "senha",
        "mot_de_passe",
        "motdepasse",
        "wachtwoord",
        "lösenord",
    ),
    *(
        "пароль",
        "секрет",
        "ключ",
        "密码",
        "密碼",
        "密钥",
        "密鑰",
        "口令",
        "令牌",
        "パスワード",
        "秘密鍵",
        "비밀번호",
        "hasło",
    ),
    *("şifre", "parola", "κωδικός", "סיסמה", "كلمة_المرور", "पासवर्ड", "รหัสผ่าน"),
)
_PHRASES = frozenset({"passphrase", "mnemonic"})
_OF_PHRASES = frozenset({"seed", "recovery", "secret", "backup", "pass"})
_SURE_ENDINGS = (
    *("password", "passwd", "passphrase", "passcode", "apikey", "accesskey", "secretkey", "privatekey", "signingkey"),
    *("apitoken", "accesstoken", "authtoken", "refreshtoken", "sessiontoken", "bearertoken", "clientsecret"),
)
_LIKELY = frozenset({"key", "token", "secret", "auth", "bearer", "credential", "jwt", "pat", "dsn", "pass"})
_LIKELY_ENDINGS = ("token", "secret")
#: Words before ``key`` and ``token`` that make it harmless: positions in lists, parts of text, entries of tables.
_HARMLESS = frozenset(
    {
        *("public", "publishable", "primary", "foreign", "partition", "sort", "cache", "idempotency", "index", "group"),
        *("natural", "unique", "object", "dedup", "dedupe", "deduplication", "hash", "sequence", "schema", "bucket"),
        *("page", "next", "previous", "prev", "continuation", "cursor", "sync", "resume", "pagination", "csrf", "xsrf"),
        *("stop", "start", "pad", "mask", "input", "output", "prompt", "completion", "reasoning", "cached", "total"),
    }
)
#: Words after the deciding ones that distinguish several secrets.
_SUFFIXES = frozenset(
    {
        *("prod", "production", "dev", "development", "staging", "stage", "test", "testing", "live", "sandbox"),
        *("local", "old", "new", "current", "backup", "primary", "secondary", "default", "value", "plain", "raw", "v"),
    }
)
#: Words of a header name whose value is a credential or identifies an account.
_OF_HEADERS = frozenset(
    {
        *("auth", "authorization", "key", "apikey", "token", "secret", "cookie", "password", "credential", "signature"),
        *("session", "bearer", "jwt", "organization", "org", "project", "account", "workspace", "tenant", "team"),
    }
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PARTS = re.compile(r"[-_.:/~+=]+")
_CHANGE = re.compile(r"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_REFERENCE = re.compile(r"[/~$%<{\[*]|\.{1,2}/|(?:process\.|os\.)?env", re.IGNORECASE)

#: A variable, alone or as a member: of the environment, or with a name in capitals.
_EXPRESSION = re.compile(
    r"\W{0,2}(?:process\.env|os\.environ|import\.meta\.env|env|ENV|environ|System\.getenv|os\.getenv|getenv|settings|config|self"
    r"|this|secrets|vars|args|options|ctx)\W{1,3}[\w.\[\]()'\"!?-]*\W*"
    r"|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*\.?[A-Z]{2,}(?:_[A-Z]{2,}|_[0-9]{1,4})+\W{0,2}"
)
_FOREIGN_BEGINNINGS = tuple(word[:4] for word in FOREIGN if word.isascii())


class Certainty(Enum):
    """How strongly a name marks its value as a secret."""

    NOTHING = 0
    LIKELY = 1
    SURE = 2


def certainty_of(name: str) -> Certainty:
    """Return how strongly ``name`` marks its value as a secret."""
    if not name.isascii() or name.lower().startswith(_FOREIGN_BEGINNINGS):
        lowered = name.lower()
        if any(word in lowered for word in FOREIGN):
            return Certainty.SURE
    words = _words(name)
    while len(words) > 1 and words[-1] in _SUFFIXES:
        words.pop()
    if not words:
        return Certainty.NOTHING
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _SURE or last.endswith(_SURE_ENDINGS):
        return Certainty.SURE
    if before in {"key": _KEYS, "token": _TOKENS, "secret": _SECRETS, "phrase": _OF_PHRASES}.get(last, ()):
        return Certainty.SURE
    if is_harmless(" ".join(words)) or (last == "key" and not before):
        return Certainty.NOTHING
    return Certainty.LIKELY if last in _LIKELY or last.endswith(_LIKELY_ENDINGS) else Certainty.NOTHING


def is_harmless(name: str) -> bool:
    """Return whether the word before ``key`` or ``token`` makes a name harmless: ``page_token``."""
    words = _words(name)
    return words[-1:] in (["key"], ["token"]) and len(words) > 1 and words[-2] in _HARMLESS


def is_secret(name: str, value: str) -> bool:
    """Return whether ``value`` under ``name`` is a secret: by the name, and for most names by being random as well."""
    said = certainty_of(name)
    if said is Certainty.NOTHING or "://" in value or is_reference(value):
        return False
    if said is Certainty.SURE:
        return True
    if _words(name)[-1:] == ["pass"] and len(value) >= 8 and value.isascii():
        return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if UUID.fullmatch(value):
        return _words(name)[-1:] != ["key"]
    return is_random(value)


def is_reference(value: str) -> bool:
    """Return whether a value only mentions where the secret is: ``process.env.MY_API_KEY``, a path, ``$KEY``."""
    if _EXPRESSION.fullmatch(value) is not None:
        return True
    return _REFERENCE.match(value) is not None and not is_random(value)


def is_phrase(name: str, value: str) -> bool:
    """Return whether a value with blanks is a secret: the name says that it is a phrase, or has parameters."""
    words = _words(name)
    if words[-1:] in (["cookie"], ["authorization"]):  # several parameters
        return "=" in value and any(map(str.isdigit, value))
    return bool(words) and (words[-1] == "phrase" or words[-1] in _PHRASES) and 3 <= len(value.split()) <= 40


def is_random(value: str) -> bool:
    """Return whether a value looks random: letters and digits mixed within words, and many different characters.

    ``claude-sonnet-4-20250514`` and ``step2`` are not random.
    """
    if len(value) < 16 or " " in value or entropy(value) < 3.0:
        return False
    if value.lower() != value != value.upper() and entropy(value) >= 4.2 and any(map(str.isdigit, value)):
        return True
    changes = [len(_CHANGE.findall(part)) for part in _PARTS.split(value)]
    return max(changes) >= 2 or (sum(changes) >= 1 and len(max(_PARTS.split(value), key=len)) >= 20)


def is_credential_header(name: str) -> bool:
    """Return whether a header or metadata key carries a credential or identifies the account."""
    return not _OF_HEADERS.isdisjoint(_words(name)) or certainty_of(name) is not Certainty.NOTHING


def entropy(text: str) -> float:
    """Return Shannon's entropy in bits per character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _words(name: str) -> list[str]:
    """Return the words in lower case and singular, without numbers: ``apiKeys2`` gives api, key."""
    words = [word.lower() for word in _WORD.findall(name)]
    return [word[:-1] if word.endswith("s") and word[:-1] in _LIKELY | _SURE else word for word in words]
