"""Patterns of secrets that the scrubber replaces.

Each has hints (every match contains one of them), a regular expression whose group ``it`` is replaced, and a flag for
strong patterns, which are certain enough to be replaced in binary data too. To add a pattern, add a row.

Ids that replay needs are not secrets and have no row: those of responses and messages (``chatcmpl-``, ``resp_``,
``msg_``), of calls (``call_``, ``toolu_``, ``srvtoolu_``, ``fc_``), of items, files and containers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import names
from .names import entropy
from .placeholder import is_placeholder, placeholder
from .vendors import VENDORS


class SecretPattern(NamedTuple):
    """One form of secret. ``plausible`` may reject a match.

    ``named``: the pattern's group ``name`` holds the name of the value, which `names` must accept. ``core``: the
    pattern without its condition on what precedes it, which Python searches much faster; it is searched first.
    ``begins``: how many characters before the name the pattern begins. It can match only there, so that it is tried
    only where a hint is part of a name.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    strong: bool = False
    plausible: Callable[[str], bool] = lambda text: True
    named: bool = False
    core: re.Pattern[str] | None = None
    begins: int | None = None


class Match(NamedTuple):
    """A match: replace ``secret`` at ``start`` by ``stand_in``."""

    kind: str
    start: int
    secret: str
    stand_in: str


def patterns_in(text: str, *, strong_only: bool = False) -> list[SecretPattern]:
    """Return the forms with a hint in ``text``. Most texts contain none, so this costs a few substring searches."""
    matching = []
    lowered = ""
    for form, folded in _STRONG if strong_only else _ALL:
        if folded and not lowered:
            lowered = text.lower()
        where = lowered if folded else text
        for hint in form.hints:
            if hint in where:
                matching.append(form)
                break
    return matching


def matches(form: SecretPattern, text: str) -> Iterator[Match]:
    """Yield every match of one form, without overlaps."""
    if form.core is not None and form.core.search(text) is None:
        return
    for match in form.pattern.finditer(text) if form.begins is None else _at_names(form, text, form.begins):
        secret = match["it"]
        start = match.start("it")
        if form.named and not names.is_secret(match["name"], secret):
            continue
        if not secret or is_placeholder(secret) or text[start - 1 : start] == "\\" or not form.plausible(secret):
            continue  # a backslash before it starts an escape, and the decoded layer was searched before
        yield Match(form.kind, start, secret, placeholder(secret))


def _at_names(form: SecretPattern, text: str, begins: int) -> Iterator[re.Match[str]]:
    """Yield the matches of a form that begins at a name, without overlaps: like `finditer`, but much faster."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become longer
        yield from form.pattern.finditer(text)
        return
    starts = set()
    for hint in form.hints:
        at = lowered.find(hint)
        while at >= 0:
            start = at
            while start > 0 and text[start - 1] in _NAME_CHARS:
                start -= 1
            starts.add(start - begins)
            at = lowered.find(hint, at + 1)
    done = 0
    for start in sorted(starts):
        match = form.pattern.match(text, start) if start >= done else None
        if match is not None:
            done = match.end()
            yield match


_NAME_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")


def _mixed(text: str) -> bool:
    """Return whether a text has both letters and digits, unlike words joined by hyphens."""
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _random(text: str) -> bool:
    """Return whether a text is mixed, or has both cases and high entropy (Hugging Face's tokens)."""
    return _mixed(text) or (text.lower() != text != text.upper() and entropy(text) >= 4.2)


def _mixed_or_long(text: str) -> bool:
    return _mixed(text) or (len(text) >= 40 and not re.search(r"[a-z]{4,}[-_.][a-z]{3,}", text))


def _no_stand_in_by_hand(text: str) -> bool:
    """Return False for plain words and hand-written placeholders (``<token>``, ``${TOKEN}``, ``***``, ``xxxx``)."""
    words = len(text) < 24 and _WORDS.fullmatch(text) is not None
    return not words and text[0] not in "<${[*" and len(set(text)) > 3 and " " not in text


def _id_like(text: str) -> bool:
    return _UUID.fullmatch(text) is not None or (len(text) >= 16 and _mixed(text))


def _somebodys(address: str) -> bool:
    """Return whether an address can be a person's: not in RFC 2606's domains, not a no-reply sender."""
    local, _, domain = address.lower().partition("@")
    if is_placeholder(address.partition("@")[0]) or local in _NOBODY:  # credentials before a host were already replaced
        return False
    labels = domain.split(".")
    return labels[-1] not in _RESERVED_TLDS and labels[-2] != "example" and labels[-1] not in _FILE_ENDINGS


_NOBODY = frozenset({"git", "noreply", "no-reply", "donotreply", "do-not-reply"})
_RESERVED_TLDS = frozenset({"test", "example", "invalid", "localhost", "local", "internal"})
#: ``icon@2x.png``, ``loader@1.0.js``: the part after the last dot is a file suffix, not a domain.
_FILE_ENDINGS = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "css", "json", "html", "py"})

_WORDS = re.compile(r"[A-Za-z]+(?:[-_][A-Za-z]+)*")
_UUID_TEXT = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_UUID = re.compile(_UUID_TEXT)

#: No word character or hyphen before: a long base64url text has no such position, so a blob cannot match by chance.
#: Some names may directly precede it (``apikeysk-…``, ``KEY_sk-…``), because that does not happen by chance either.
_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=key)|(?<=key[_-])|(?<=token)|(?<=token[_-])|(?<=secret[_-])"
    r"|(?<=KEY[_-])|(?<=TOKEN[_-])|(?<=SECRET[_-]))"
)
_QUOTE = r"""\\*["']"""

#: Names of ids of requests and accounts.
_ID_NAMES = (
    r"(?:x-)?request[-_]?id|openai-organization|organization(?:[-_]?id)?|org[-_]id|project[-_]id|workspace[-_]id"
    r"|team[-_]id|account[-_]id|user[-_]id|cf-ray|api_key_id|teamId|userId|accountId|organizationId|projectId|requestId"
)
#: In texts, an id follows one of these words.
_ACCOUNTS = (
    *("team", "account", "user", "api key id", "organization", "organisation", "workspace", "project", "tenant"),
    "subscription",
)
_NAMED = (
    *("key", "token", "secret", "passw", "pwd", "passphrase", "passcode"),
    *("auth", "cookie", "credential", "bearer", "jwt", "pat", "dsn"),
)
_NAME = rf"(?P<name>[A-Za-z0-9_.-]{{0,64}}(?:{'|'.join(_NAMED)})[A-Za-z0-9_.-]{{0,24}})"
#: What is between a name and its value in configurations and programs: a type and an operator, as in
#: ``var apiToken string = "…"``, ``API_TOKEN ?= …``, ``'token' => '…'``, ``<token>…``, ``token,…``, or YAML's block.
_ASSIGNMENT = (
    r"(?:[ \t]{1,4}[a-z]{3,12})?[\"'`]?[ \t]{0,4}(?::{0,3}=>?|[?+.]=|:|,|>)[ \t]{0,4}(?:[|>][-+]?)?"
    r"(?:\r?\n[ \t]{1,16})?[\"'`]?"
)
_QUERY_NAMES = (
    r"api[-_]?key|x-api-key|access_token|refresh_token|id_token|client_secret|sig|signature|password"
    r"|X-Amz-(?:Signature|Credential|Security-Token)|X-Goog-(?:Signature|Credential)|AWSAccessKeyId|key|token"
)

PATTERNS: tuple[SecretPattern, ...] = (
    SecretPattern(
        "private key",
        ("PRIVATE KEY",),
        re.compile(
            r"(?P<it>-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.{0,20000}?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\\\s]*))",
            re.DOTALL,
        ),
        strong=True,
    ),
    SecretPattern(
        "credentials in a URL",
        ("://",),
        re.compile(r"://(?P<it>[^\s:/?#\[\]@\"'<>\\]{1,200}:[^\s/?#\[\]@\"'<>\\]{1,200})@"),
        plausible=_no_stand_in_by_hand,
    ),
    SecretPattern(
        "key", ("sk-",), re.compile(_START + r"(?P<it>sk-[A-Za-z0-9_-]{16,})"), strong=True, plausible=_mixed
    ),
    *(
        SecretPattern(
            kind,
            (hint,),
            re.compile(_START + f"(?P<it>{pattern})"),
            strong=True,
            plausible=_random,
            core=re.compile(pattern),
        )
        for kind, hint, pattern in VENDORS
    ),
    SecretPattern(
        "masked key",  # providers show the beginning and the end of a wrong key
        ("api key", "api_key", "sk-"),
        re.compile(
            r"(?:api[ _-]?key[^\"*]{0,60}?|(?<![\w-])(?=sk-))(?<![\w-])(?P<it>[\w-]{2,24}\*{2,}[\w-]{1,8})",
            re.IGNORECASE,
        ),
    ),
    SecretPattern(
        "token",
        ("bearer ",),
        re.compile(r"\bbearer\s+(?P<it>[A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE),
        plausible=_mixed_or_long,
    ),
    SecretPattern(
        "credentials",
        ("basic ",),
        re.compile(r"authorization[\"'\\\s:=]{1,12}basic\s+(?P<it>[A-Za-z0-9+/_-]{6,}={0,2})", re.IGNORECASE),
    ),
    SecretPattern(
        "named secret",
        _NAMED,
        re.compile(
            rf"{_QUOTE}{_NAME}{_QUOTE}\s*:\s*\\*(?P<quote>[\"'])(?:(?:bearer|basic|token)\s+)?"
            r"(?P<it>(?:(?!(?P=quote))[^\\\n]){6,})",
            re.IGNORECASE,
        ),
        plausible=_no_stand_in_by_hand,
        named=True,
        begins=1,
    ),
    SecretPattern(
        "named secret",  # in code, configurations and headers within a text
        _NAMED,
        re.compile(
            rf"(?<![A-Za-z0-9_.$-])(?:--?)?{_NAME}{_ASSIGNMENT}"
            r"(?:(?:bearer|basic|token|apikey)[ \t]+)?(?P<it>[A-Za-z0-9_+/.~!@#$%^-][A-Za-z0-9_+/.~!@#$%^=:|-]{15,})",
            re.IGNORECASE,
        ),
        plausible=names.is_random,
        named=True,
        begins=0,
    ),
    SecretPattern(
        "named secret",  # lines of a configuration or of headers
        ("key", "passw", "cookie"),
        re.compile(
            r"(?<![A-Za-z0-9_.$-])(?:(?:x-)?api[-_]key|(?:ocp-apim-)?subscription-key|password|passwd"
            r"|cookie:[ \t]{0,4}[\w.-]{1,40}(?==)|(?:aws_)?secret_access_key)[ \t]{0,4}[:=][ \t]{0,4}"
            r"(?P<it>[A-Za-z0-9_+/.~-]{12,}={0,2})",
            re.IGNORECASE,
        ),
        plausible=_mixed,
    ),
    SecretPattern(
        "credentials",
        ("-u ", "--user "),
        re.compile(r"\bcurl\b[^\n]{0,200}? (?:-u|--user) ?[\"'\\]*[^\s:\"'\\]{1,80}:(?P<it>[^\s\"'\\]{8,})"),
        plausible=_mixed,
    ),
    SecretPattern(
        "named secret",  # a form field (RFC 7578)
        ("form-data",),
        re.compile(
            rf"form-data;[ \t]*name=\"?{_NAME}\"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n(?P<it>[^\r\n]{{6,}})",
            re.IGNORECASE,
        ),
        plausible=_no_stand_in_by_hand,
        named=True,
    ),
    SecretPattern(
        "named secret",
        ("KEY", "TOKEN", "SECRET", "PASSW"),
        re.compile(
            r"\b[A-Z0-9_]*(?:API_KEY|SECRET|ACCESS_KEY|TOKEN|PASSWORD|PASSWD)[ \t]?=[ \t]?[\"'\\]*"
            r"(?P<it>[A-Za-z0-9_+/=.-]{16,})"
        ),
        plausible=_mixed,
    ),
    SecretPattern(
        "named secret",  # Azure's connection strings
        ("AccountKey=", "SharedAccessKey="),
        re.compile(r"(?:AccountKey|SharedAccessKey)=(?P<it>[A-Za-z0-9+/]{40,}={0,2})"),
    ),
    SecretPattern(
        "key in a URL",
        tuple(f"{name}=" for name in ("key", "token", "secret", "sig", "signature", "password", "credential", "keyid")),
        re.compile(rf"[?&;#](?:{_QUERY_NAMES})=(?P<it>[^&\s\"'<>\\#;)\]]{{12,}})", re.IGNORECASE),
        plausible=_mixed,
    ),
    SecretPattern(
        "key in a URL",
        tuple(f"{word}=" for word in _NAMED),
        re.compile(rf"[?&;#]{_NAME}=(?P<it>[^&\s\"'<>\\#;)\]]{{16,}})", re.IGNORECASE),
        plausible=names.is_random,
        named=True,
    ),
    SecretPattern(
        "organisation id", ("org-", "org_"), re.compile(_START + r"(?P<it>org[-_][A-Za-z0-9]{16,})"), plausible=_mixed
    ),
    SecretPattern("project id", ("proj_",), re.compile(_START + r"(?P<it>proj_[A-Za-z0-9]{16,})"), plausible=_mixed),
    SecretPattern("request id", ("req_",), re.compile(_START + r"(?P<it>req_[A-Za-z0-9_]{16,})"), plausible=_mixed),
    SecretPattern(
        "user id",
        ("user-", "user_"),
        re.compile(_START + r"(?P<it>user[-_][A-Za-z0-9]{20,})"),
        plausible=_mixed,
        core=re.compile(r"user[-_][A-Za-z0-9]{20}"),
    ),
    SecretPattern(
        "account id",
        ("acct_", "wrkspc_"),
        re.compile(_START + r"(?P<it>(?:acct|wrkspc)_[A-Za-z0-9]{12,})"),
        plausible=_mixed,
    ),
    SecretPattern(
        "account id",
        _ACCOUNTS,
        re.compile(
            rf"(?:{'|'.join(_ACCOUNTS)})s?(?:[ _-]?id)?[ /:=_(]{{1,3}}[\"'`\\]*(?P<it>{_UUID_TEXT})", re.IGNORECASE
        ),
        core=_UUID,
    ),
    SecretPattern(
        "account id",  # AWS and Google use twelve-digit account and project numbers
        ("account", "project", "arn:aws"),
        re.compile(
            r"(?:(?:account|project)s?(?:[ _-]?(?:id|number))?[ /:=(]{1,3}[\"'`\\]*"
            r"|\barn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:)(?P<it>[0-9]{12})(?![0-9A-Za-z])",
            re.IGNORECASE,
        ),
        core=re.compile("[0-9]{12}(?![0-9A-Za-z])"),
    ),
    SecretPattern(
        "account id",
        ("request", "organization", "org", "project", "workspace", "team", "account", "user", "cf-ray", "api_key_id"),
        re.compile(rf"{_QUOTE}(?:{_ID_NAMES}){_QUOTE}\s*:\s*{_QUOTE}(?P<it>[^\"\\\s]{{8,}})", re.IGNORECASE),
        plausible=_id_like,
    ),
    SecretPattern(
        "e-mail address",
        ("@",),
        re.compile(
            r"(?<![A-Za-z0-9._%+-])(?P<it>[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63})(?![A-Za-z0-9])"
        ),
        plausible=_somebodys,
    ),
)

_ALL = tuple((form, bool(form.pattern.flags & re.IGNORECASE)) for form in PATTERNS)
_STRONG = tuple((form, folded) for form, folded in _ALL if form.strong)
