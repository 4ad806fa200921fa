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
from functools import lru_cache

#: Last words that always mean a secret if one of these precedes them.
_SURE_AFTER = {
    "key": {
        *("api", "access", "secret", "private", "signing", "encryption", "subscription", "master", "admin"),
        *("account", "shared", "deploy", "personal", "service", "preshared"),
    },
    "token": {"api", "access", "refresh", "bearer", "auth", "authorization", "session", "id", "security"},
    "secret": {"client", "webhook", "signing", "app", "api", "shared", "consumer"},
    "phrase": {"seed", "recovery", "secret", "backup", "pass"},
    "answer": {"security"},
    "by": {"identified"},
}
#: Last words that mean a secret whatever precedes them, and endings of compound words.
_SURE = frozenset(
    {"password", "passwd", "passphrase", "passcode", "pwd", "pswd", "authorization", "cookie", "mnemonic"}
)
#: Words for a password or a key in other languages, whose letters or words are not those of English names.
FOREIGN = (
    *(
        "passwort",
        "kennwort",
        "contraseña",
        "contrasena",
        "senha",
        "mot_de_passe",
        "mot de passe",
        "motdepasse",
        "wachtwoord",
        "lösenord",
        "schlüssel",
        "schluessel",
        "heslo",
        "salasana",
        "adgangskode",
        "kata sandi",
    ),
    *(
        "пароль",
        "секрет",
        "ключ",
        "доступа",
        "密码",
        "密碼",
        "密钥",
        "密鑰",
        "口令",
        "令牌",
        "パスワード",
        "秘密鍵",
        "비밀번호",
        "비번",
        "암호",
        "패스워드",
        "jelszó",
        "mật khẩu",
        "كلمة المرور",
        "hasło",
    ),
    *("şifre", "parola", "κωδικός", "סיסמה", "كلمة_المرور", "पासवर्ड", "รหัสผ่าน"),
)
_PHRASES = frozenset({"passphrase", "mnemonic"})
_SURE_ENDINGS = (
    *("password", "passwd", "passphrase", "passcode", "apikey", "accesskey", "secretkey", "privatekey", "signingkey"),
    *("apitoken", "accesstoken", "authtoken", "authkey", "refreshtoken", "sessiontoken", "bearertoken", "clientsecret"),
)
#: Words for what people choose or type, and may be short: letters and digits, or several digits.
_PASSES = frozenset({"pass", "pw", "psk", "clave"})
_CODES = frozenset({"pin", "otp", "cvv", "cvc"})
_BEFORE_CODE = frozenset({"recovery", "backup", "security", "unlock", "verification", "mfa", "otp", "access", "auth"})
_CHOSEN = _PASSES | _CODES | {"secret", "credential"}
_LIKELY = frozenset(
    {"key", "token", "auth", "bearer", "jwt", "pat", "dsn", "login", "sas", "seed", "verifier", "assertion"}
)
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
        *(
            "local",
            "old",
            "new",
            "current",
            "backup",
            "primary",
            "secondary",
            "default",
            "value",
            "plain",
            "raw",
            "v",
            "pem",
            "base",
            "str",
        ),
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
_REFERENCE = re.compile(r"#?[/~$%<{\[*]|\.{1,2}/|(?:process\.|os\.)?env", re.IGNORECASE)

#: A variable, alone or as a member: of the environment, or with a name in capitals.
_EXPRESSION = re.compile(
    r"\W{0,2}(?:process\.env|os\.environ|import\.meta\.env|env|ENV|environ|System\.getenv|os\.getenv|getenv|settings|config|self"
    r"|this|secrets|vars|args|options|ctx)\W{1,3}[\w.\[\]()'\"!?-]*\W*"
    r"|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*\.?[A-Z]{2,}(?:_[A-Z]{2,}|_[0-9]{1,4})+\W{0,2}"
)
#: Three to forty words. JSON behind a quote that nothing closes is none.
_PHRASE = re.compile(r"\s*(?:[^\s\"{}\[\]<>:]+\s+){2,39}[^\s\"{}\[\]<>:]+\s*")
_LEET = re.compile(r"[A-Za-z][0-9]+[A-Za-z]")
_SYMBOL = re.compile(r"(?<=.)[!#$%&*?@^~+]")
_PLURALS = _LIKELY | _CHOSEN - {"pass"} | _SURE | {"code"}


#: The path of a file, a regular expression, rules of validation.
_FILE = re.compile(r"(?:[\w.@-]+/)+[\w.@-]+\.[A-Za-z]{2,5}(?:\.[A-Za-z]{2,4})?")
_RULES = re.compile(r"\^.*\$|[a-z_]+(?::[\w,]+)?(?:\|[a-z_]+(?::[\w,]+)?)+")
#: A call, a subscript, a member of a member, and an address in a store of secrets.
_CALL = re.compile(
    r"@?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(.*\)|\[.*\])[!;]?|[A-Za-z_]+(?:\.[A-Za-z_]+)+|(?:vault|op|arn|ssm|env|file|ref):.*"
)


class Certainty(Enum):
    """How strongly a name marks its value as a secret."""

    NOTHING = 0
    LIKELY = 1  # a random value
    CHOSEN = 2  # a value that a user may have chosen, with letters and digits
    SURE = 3


@lru_cache(maxsize=4096)
def certainty_of(name: str) -> Certainty:
    """Return how strongly ``name`` marks its value as a secret."""
    lowered = name.lower()
    if any(word in lowered for word in FOREIGN):
        return Certainty.SURE
    said = words(name)
    while len(said) > 1 and said[-1] in _SUFFIXES:
        said.pop()
    if not said:
        return Certainty.NOTHING
    last, before = said[-1], said[-2] if len(said) > 1 else ""
    if last in _SURE or last.endswith(_SURE_ENDINGS) or before in _SURE_AFTER.get(last, ()):
        return Certainty.SURE
    if is_harmless(" ".join(said)) or (last == "key" and not before):
        return Certainty.NOTHING
    if last in _CHOSEN or last.endswith("pw") or (last == "code" and before in _BEFORE_CODE):
        return Certainty.CHOSEN
    return Certainty.LIKELY if last in _LIKELY or last.endswith(_LIKELY_ENDINGS) else Certainty.NOTHING


def is_harmless(name: str) -> bool:
    """Return whether the word before ``key`` or ``token`` makes a name harmless: ``page_token``."""
    said = words(name)
    return said[-1:] in (["key"], ["token"]) and len(said) > 1 and said[-2] in _HARMLESS


def is_secret(name: str, value: str) -> bool:
    """Return whether ``value`` under ``name`` is a secret: by the name, and for most names by the value as well."""
    said = certainty_of(name)
    if said is Certainty.NOTHING or "://" in value or is_reference(value):
        return False
    if said is Certainty.SURE:
        return True
    last = words(name)[-1:]
    if said is Certainty.CHOSEN:
        if last[0] in _PASSES or last[0].endswith("pw"):
            return len(value) >= 8 and value.isascii() and is_mixed(value)
        if value.isdecimal() and len(value) <= 8:
            return last[0] in _CODES or last[0] == "code"
        return is_random(value) or (is_password(value) and certainty_of(value) is Certainty.NOTHING)
    if UUID.fullmatch(value):
        return last != ["key"]
    return is_random(value)


def is_reference(value: str) -> bool:
    """Return whether a value only mentions where the secret is: ``process.env.MY_API_KEY``, a path, ``$KEY``."""
    if any(pattern.fullmatch(value) is not None for pattern in (_EXPRESSION, _CALL, _FILE, _RULES)):
        return True
    return _REFERENCE.match(value) is not None and not is_random(value)


def is_phrase(name: str, value: str) -> bool:
    """Return whether a value with blanks is a secret: the name says that it is a phrase, or has parameters."""
    said = words(name)
    if said[-1:] in (["cookie"], ["authorization"]):  # several parameters
        return "=" in value and any(map(str.isdigit, value))
    return bool(said) and (said[-1] == "phrase" or said[-1] in _PHRASES) and _PHRASE.fullmatch(value) is not None


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


def is_password(value: str) -> bool:
    """Return whether a value looks like a password or a key, and not like a word with a number behind it."""
    if len(value) < 7 or " " in value or not is_mixed(value):
        return False
    both = value.lower() != value != value.upper()
    return both or has_symbol(value) or _LEET.search(value) is not None or is_random(value)


def is_irregular(value: str) -> bool:
    """Return whether a value cannot be a word: symbols, or several changes between letters and digits."""
    both = value.lower() != value != value.upper()
    return has_symbol(value) or len(_CHANGE.findall(value)) >= (2 if both else 3)


def has_symbol(value: str) -> bool:
    """Return whether a value has a symbol that people add to passwords and that names of things do not have."""
    return _SYMBOL.search(value) is not None


def is_credential_header(name: str) -> bool:
    """Return whether a header or metadata key carries a credential or identifies the account."""
    return not _OF_HEADERS.isdisjoint(words(name)) or certainty_of(name) is not Certainty.NOTHING


def entropy(text: str) -> float:
    """Return Shannon's entropy in bits per character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def words(name: str) -> list[str]:
    """Return the words in lower case and singular, without numbers: ``apiKeys2`` gives api, key."""
    said = [word.lower() for word in _WORD.findall(name)]
    return [word[:-1] if word.endswith("s") and word[:-1] in _PLURALS else word for word in said]


def is_mixed(value: str) -> bool:
    """Return whether a value has both letters and digits, unlike words joined by hyphens."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
