"""Detectors that recognise a secret by its form.

Tokens with a known prefix come from detect-secrets (the maintained fork bc-detect-secrets; its plugins only search,
since verification would send the secret), from a table of AI providers' prefixes that it lacks, and from
`vendors.toml`, which follows gitleaks' rules. Names (`names`) cover the rest, such as a member called password or an
address with credentials.

Not used from detect-secrets: entropy detectors (ids, signatures and encrypted data are random by design), the keyword
detector (prompts and tool schemas mention keys and passwords), detectors of storage keys without context (any base64 of
their length), single vendors' assignments, and npm's (it returns the text of a group that did not match).
"""

from __future__ import annotations

import base64
import importlib
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from . import names
from .names import entropy

_PLUGINS = (
    ("aws", "AWSKeyDetector"),
    ("artifactory", "ArtifactoryDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("jwt", "JwtTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("private_key", "PrivateKeyDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
)

#: Key prefix of an AI provider or related service -> minimum number of further characters.
_KEY_PREFIXES = {
    "sk-": 16,
    "AIza": 30,
    "ya29.": 20,
    "xai-": 24,
    "gsk_": 24,
    "hf_": 24,
    "r8_": 24,
    "pplx-": 24,
    "fw_": 20,
    "nvapi-": 30,
    "csk-": 24,
    "tvly-": 20,
    "dapi": 32,
    "lsv2_": 24,
    "github_pat_": 40,
    "glpat-": 20,
    "npm_": 30,
    "pypi-": 50,
    "rk_test_": 20,
    "sk_test_": 20,
    **{f"do{kind}_v1_": 60 for kind in "opr"},
    **{f"shp{kind}_": 30 for kind in ("at", "ca", "pa", "ss")},
    "GOCSPX-": 24,
    "e2b_": 36,
    "pcsk_": 36,
    "ATATT3": 40,
    "lin_api_": 32,
    "ntn_": 40,
    "AGE-SECRET-KEY-1": 50,
}
#: Keys whose prefix is too short to identify them, so the whole shape must match.
_SHAPES = re.compile(
    r"(?<![\w-])(?:SK[0-9a-f]{32}|secret_[A-Za-z0-9]{43}|pa-[A-Za-z0-9_-]{43}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"
    r"|[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38})(?![\w-])"
)
#: Prefixes too specific for chance: such keys are found after any preceding text.
_ANYWHERE = re.compile(r"sk-(?:proj|ant|admin|svcacct|or-v1)-[\w-]{30,}")
#: Words that may directly precede a key.
_GLUE = re.compile(r"(?:key|token|secret)[_-]?", re.IGNORECASE)
_LINE = re.compile(
    r"(?<![\w.$-])(?:(?:x-)?api[-_]key|(?:ocp-apim-)?subscription-key|passw(?:or)?d|(?:aws_)?secret_access_key"
    r"|cookie: {0,4}[\w.-]{1,40})[ \t]{0,4}[:=][ \t]{0,4}([\w+/.~-]{12,}=*)",
    re.IGNORECASE,
)
#: A setting with any name; `names` decides.
_SETTING = re.compile(
    r"(?<![\w.$-])-{0,2}([A-Za-z][\w.-]{1,80})(?: {1,4}[A-Za-z]\w{2,11})?[\"'`]?\s{0,4}"
    r"(?:[:?+.]{0,3}=>?|[:,>])\s{0,4}[|>]?\s{0,20}[\"'`]?"
    r"(?:(?:bearer|basic|token|apikey)[ \t]+)?([\w+/.~!@#$%^-][\w+/.~!@#$%^=:|-]{15,})",
    re.IGNORECASE | re.ASCII,
)
_CURL_USER = re.compile(r"\bcurl\b.{0,200}? (?:-u|--user) ?[\"'\\]*[^\s:\"']{1,80}:([^\s\"'\\]{8,})")
_FIELD = re.compile(r'form-data; *name="?([\w-]+)"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n([^\r\n]{6,})')
#: After these prefixes, the rest is one word; after the others it may contain hyphens and dots.
_ONE_WORD = frozenset(
    {"xai-", "gsk_", "hf_", "r8_", "pplx-", "fw_", "csk-", "dapi", "lsv2_", "npm_", "rk_test_", "sk_test_"}
)
_ID_PREFIXES = {
    **dict.fromkeys(("org-", "org_", "proj_", "req_"), 16),
    **dict.fromkeys(("user-", "user_"), 20),
    **dict.fromkeys(("acct_", "wrkspc_"), 12),
}

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{15,}")
_AFTER_SCHEME = re.compile(r"\b(bearer|basic) +([A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>\\`\])}]+", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ACCOUNT = re.compile(
    r"\b(?:team|account|user|api key id|organi[sz]ation|workspace|project|tenant|subscription)s?"
    r"(?:[ _-]?id)?[^A-Za-z0-9]{1,4}$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:\b(?:account|project)s?(?:[ _-]?(?:id|number))?[^A-Za-z0-9]{1,3}|\barn:aws[\w-]*:[\w-]+:[\w-]*:)"
    r"([0-9]{12})(?![0-9A-Za-z])",
    re.IGNORECASE | re.ASCII,
)
_STARRED = re.compile(r"(?<![\w*-])[\w-]{2,24}\*{2,}[\w-]{1,8}(?![\w*-])")
_ASSIGNED = re.compile(r"(?<![A-Z0-9_])([A-Z][A-Z0-9_]{2,60}) ?= ?[\"']?([A-Za-z0-9_+/=.-]{16,})")
_CONNECTION = re.compile(r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}=*)")
_AT = re.compile(r"(?<![A-Za-z0-9._%+-])([A-Za-z0-9._%+-]{1,64})@([A-Za-z0-9.-]{3,255})")

#: Names without case, hyphens and underscores.
_ID_NAMES = re.compile(
    "x?requestid|openaiorganization|organization|(?:organization|org|project|workspace|team|account|user|apikey)id|cfray"
)
_QUERY_NAMES = re.compile(
    "key|x?apikey|(?:access|refresh|id)?token|clientsecret|sig|signature|password|xamz(?:signature|credential|securitytoken)"
    "|xgoog(?:signature|credential)|awsaccesskeyid"
)

#: RFC 2606's domains, and file suffixes that look like domains (icon@2x.png).
_NO_DOMAINS = re.compile(
    "test|example|invalid|localhost|local|internal|png|jpe?g|gif|svg|webp|ico|m?js|css|json|html|py"
)
_IMPERSONAL_MAILBOXES = frozenset({"git", "noreply", "no-reply", "donotreply", "do-not-reply"})

#: Words that may directly precede a key.
_BEFORE_KEY = r"(?:(?<![\w-])|(?<=(?i:key))|(?<=(?i:key)[_-])|(?<=(?i:token))|(?<=(?i:token)[_-])|(?<=(?i:secret)[_-]))"

Detector = Callable[[str], Iterator[str]]


def in_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, secret) for everything that the detectors find in a text."""
    for kind, detect in _detectors():
        for secret in detect(text):
            if secret and not is_masked(secret):
                yield kind, secret


def in_member(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, value) if a member's name marks its value as a secret or an account id."""
    if not value or is_masked(value) or (names.plain(name) in _COOKIES and is_masked_by_hand(value)):
        return
    if names.is_secret(name):
        scheme, _, rest = value.partition(" ")
        value = rest if scheme.lower() in ("bearer", "basic", "token") else value
        if len(value) >= 8 and "://" not in value and not _is_made_up(value) and not is_masked(value):
            yield "named secret", value
    elif names.is_secret_if_random(name, value):
        yield "named secret", value
    elif _ID_NAMES.fullmatch(names.plain(name)) and _is_id(value):
        yield "account or request id", value


def in_address(uri: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, value) for the credentials in a request's address, where the name alone suffices."""
    try:
        parts = urlsplit(uri)
        credentials = [value for value in (parts.username, parts.password) if value]
    except ValueError:
        return
    named = [
        value for name, value in parse_qsl(f"{parts.query}&{parts.fragment}") if _names_secret(name) and len(value) >= 8
    ]
    for value in (*credentials, *named):
        if not is_masked(value):
            yield "credentials in a URL", value


def is_masked(secret: str) -> bool:
    """Return whether a value was already masked: a placeholder, not a secret."""
    letters = re.sub(r"[^A-Za-z0-9]", "", secret)
    return letters.upper().startswith("REDA") or "REDACTED" in secret


_COOKIES = frozenset({"cookie", "setcookie"})
#: What people and other tools write in the place of a credential.
_BY_HAND = re.compile(
    r"<[^<>]+>|.*(?:redacted|filtered|dummy|fake|mock|masked|scrubbed|sanitized|placeholder|removed|hidden|example"
    r"|your[-_ ]|x{4}|\*{3}).*|.*[-_]x{3,}|(?-i:[A-Z]{1,15}(?:[-_][A-Z]{1,15})+)",
    re.IGNORECASE | re.DOTALL,
)
_COOKIE_ATTRIBUTE = re.compile(
    r"(?:max-age|domain|path|expires|secure|samesite|httponly|version|priority)(?:=|$)", re.IGNORECASE
)


def has_only_short_cookies(header: str) -> bool:
    """Return whether no cookie of a header is as long as a credential, as in ``csv=1; Max-Age=63072000``."""
    cookies = [part.strip() for part in header.split(";") if not _COOKIE_ATTRIBUTE.match(part.strip())]
    return all(len(cookie.rsplit("=", 1)[-1]) < 8 for cookie in cookies)


def is_masked_by_hand(value: str) -> bool:
    """Return whether a header's value is shorter than any credential, or says that it replaces one."""
    if len(value) < 8:
        return True
    random = any(len(word) >= 16 and _is_mixed(word) for word in re.split(r"[^\w-]", value))
    return not random and _BY_HAND.fullmatch(value) is not None


@cache
def _detectors() -> tuple[tuple[str, Detector], ...]:
    found: list[tuple[str, Detector]] = []
    for module, name in _PLUGINS:
        plugin: Any = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)()
        found.append((plugin.secret_type, plugin.analyze_string))
    return (
        *found,
        ("provider key", _keys),
        ("provider key", _shaped),
        ("provider key", _glued),
        ("vendor key", _vendor_keys),
        ("named secret", _on_lines),
        ("account or request id", _ids),
        ("account or request id", _account_uuids),
        ("authorization", _authorizations),
        ("masked key", _starred),
        ("named secret", _assigned),
        ("credentials in a URL", _in_urls),
        ("e-mail address", _addresses),
    )


def _keys(text: str) -> Iterator[str]:
    return _words(text, _KEY_PREFIXES, least=2.8)


def _ids(text: str) -> Iterator[str]:
    return _words(text, _ID_PREFIXES, least=2.5)


def _words(text: str, prefixes: dict[str, int], least: float) -> Iterator[str]:
    beginnings = tuple(prefixes)
    if not any(beginning in text for beginning in beginnings):
        return
    for whole in _WORD.findall(text):
        for word in (whole, *(whole[glue.end() :] for glue in _GLUE.finditer(whole))):
            if not word.startswith(beginnings):
                continue
            prefix = next(beginning for beginning in beginnings if word.startswith(beginning))
            rest = word[len(prefix) :]
            if prefix in _ONE_WORD or prefix in _ID_PREFIXES:
                rest = re.split("[.-]", rest, maxsplit=1)[0]
            random = _is_mixed(rest) or _is_random_key(rest)
            if len(rest) >= prefixes[prefix] and random and entropy(rest) >= least:
                yield prefix + rest


def _shaped(text: str) -> Iterator[str]:
    yield from (found for found in _SHAPES.findall(text) if _is_mixed(found) and entropy(found) >= 2.8)


def _glued(text: str) -> Iterator[str]:
    for found in _ANYWHERE.findall(text):
        if any(len(part) >= 16 and _is_mixed(part) for part in re.split("[-_]", found)):
            yield found


def _on_lines(text: str) -> Iterator[str]:
    """Yield values after a name in headers, configurations, commands and forms within a text."""
    yield from (value for pattern in (_LINE, _CURL_USER) for value in pattern.findall(text) if _is_mixed(value))
    for name, value in _FIELD.findall(text):
        if (names.is_secret(name) and not _is_made_up(value)) or names.is_secret_if_random(name, value):
            yield value
    for name, value in _SETTING.findall(text):
        if names.is_random(value) and (names.is_secret(name) or names.is_secret_if_random(name, value)):
            yield value


def _account_uuids(text: str) -> Iterator[str]:
    for found in _UUID.finditer(text):
        if _ACCOUNT.search(text, max(found.start() - 30, 0), found.start()):
            yield found[0]
    yield from _NUMBERED.findall(text)


def _authorizations(text: str) -> Iterator[str]:
    for scheme, token in _AFTER_SCHEME.findall(text):
        if _is_mixed(token) and entropy(token) >= 2.5 and (scheme.lower() == "bearer" or _is_pair(token)):
            yield token


def _is_pair(token: str) -> bool:
    """Return whether a Basic token is valid: base64 of name:password."""
    try:
        return b":" in base64.b64decode(token, validate=True)
    except ValueError:
        return False


def _starred(text: str) -> Iterator[str]:
    for found in _STARRED.finditer(text):
        before = text[max(found.start() - 80, 0) : found.start()].lower()
        if found[0].startswith("sk-") or "api key" in before or "api_key" in before:
            yield found[0]


def _assigned(text: str) -> Iterator[str]:
    for name, value in _ASSIGNED.findall(text):
        if name.endswith(("API_KEY", "SECRET", "ACCESS_KEY", "TOKEN", "PASSWORD", "PASSWD")) and _is_mixed(value):
            yield value
    yield from _CONNECTION.findall(text)


def _in_urls(text: str) -> Iterator[str]:
    if "://" not in text:
        return
    for url in _URL.findall(text):
        try:
            parts = urlsplit(url)
            password = parts.password
        except ValueError:
            continue
        if password and password[0] not in "<${[*" and len(set(password)) > 2:
            yield password
        for name, value in parse_qsl(f"{parts.query}&{parts.fragment}"):
            known = _QUERY_NAMES.fullmatch(names.plain(name)) and len(value) >= 12 and _is_mixed(value)
            if known or ((names.is_secret(name) or names.is_secret_if_random(name, value)) and names.is_random(value)):
                yield value


def _addresses(text: str) -> Iterator[str]:
    if "@" not in text:
        return
    for found in _AT.finditer(text):
        labels = found[2].rstrip(".-").lower().split(".")
        no_domain = _NO_DOMAINS.fullmatch(labels[-1]) or labels[-2:-1] == ["example"]
        impersonal = no_domain or found[1].lower() in _IMPERSONAL_MAILBOXES
        whole = len(labels) > 1 and all(labels) and labels[-1].isalpha() and len(labels[-1]) > 1
        if whole and not impersonal and found[1][-1] != ".":
            yield found[0]


def _is_made_up(value: str) -> bool:
    """Return whether a value is an example: ``<token>``, ``${TOKEN}``, plain words, a repeated letter."""
    words = len(value) < 24 and value.replace("-", "").replace("_", "").isalpha()
    return words or value[:1] in tuple("<${[*") or " " in value or len(set(value)) < 4


def _is_id(value: str) -> bool:
    return bool(_UUID.fullmatch(value)) or (len(value) >= 16 and _is_mixed(value) and " " not in value)


def _names_secret(name: str) -> bool:
    plain = names.plain(name)
    ends = ("key", "token", "secret", "signature", "password", "credential", "sig", "session", "auth")
    return plain.endswith(ends) or names.is_secret(name)


def _is_mixed(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _vendor_keys(text: str) -> Iterator[str]:
    """Yield every text that has the form of a vendor's key and is random."""
    for mark, form, pattern in _vendor_rules():
        if mark in text and form.search(text):
            yield from (found for found in pattern.findall(text) if _is_random_key(found))


def _is_random_key(key: str) -> bool:
    """Return whether a key mixes digits and letters, or both cases with more variety than words have."""
    if any(map(str.isdigit, key)) and any(map(str.isalpha, key)):
        return entropy(key) >= 2.5
    return not key.islower() and not key.isupper() and entropy(key) >= 4.2


@cache
def _vendor_rules() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Return (a text that every match contains, the form of the key, the form where a key can begin) for every row.

    Python searches the form alone much faster.
    """
    table = tomllib.loads(resources.files(__package__).joinpath("vendors.toml").read_text(encoding="utf-8"))
    rows = [row for group in table.values() for row in group.values()]
    return [
        (mark, re.compile(form, re.ASCII), re.compile(f"{_BEFORE_KEY}({form})", re.ASCII))
        for mark, form in ((mark, f"{before}{re.escape(mark)}{after}") for before, mark, after in rows)
    ]
