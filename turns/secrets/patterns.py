"""Patterns of secrets that the scrubber replaces.

Each has hints (every match contains one of them), a regular expression whose group ``it`` is replaced, and a flag for
strong patterns, which are certain enough to be replaced in binary data too. To add a pattern, add a row.

Ids that replay needs are not secrets and have no row: those of responses and messages (``chatcmpl-``, ``resp_``,
``msg_``), of calls (``call_``, ``toolu_``, ``srvtoolu_``, ``fc_``), of items, files and containers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial

from . import names
from .containers import CONTAINERS
from .forms import (
    Form,
    Match,
    SecretPattern,
    is_chosen,
    is_id,
    is_key,
    is_long,
    is_personal,
    is_random_key,
)
from .name_places import ALL_NAMED, NAMED, QUOTE
from .names import is_mixed
from .placeholder import is_placeholder, placeholder
from .vendors import VENDORS
from .wrapped import wrapped


def patterns_in(text: str, *, strong_only: bool = False, member: bool | None = None) -> list[SecretPattern]:
    """Return the forms with a hint in ``text``. Most texts contain none, so this costs a few substring searches."""
    if len(text) < _SHORTEST:
        return []
    dense = "\n".join(_LONG_WORDS(text))
    matching = [form for hint, form in _DENSE if hint in dense] if member is not True and dense else []
    begun = [form for form in matching if len(form.hints[0]) > 1 and form.hints[0][:2].isalnum()]
    if begun and "\n" in text:
        matching.insert(0, SecretPattern("key", (), find=partial(wrapped, forms=begun)))
    if strong_only:
        return [*matching, *(form for form in _STRONG if any(hint in text for hint in form.hints))]
    lowered, ascii = text.lower(), text.isascii()
    for hints, all_hints, mark, folded, forms in _OTHERS:
        where = lowered if folded else text
        if mark not in where:
            continue
        for hint in hints if ascii else all_hints:
            if hint in where:
                matching += forms if member is None else [form for form in forms if form.member]
                break
    return matching


def matches(form: SecretPattern, text: str) -> Iterator[Match]:
    """Yield every match of one form, without overlaps."""
    for name, start, end in (form.find or _found(form))(text):
        raw = secret = text[start:end]
        if form.member and "\\" in raw:
            secret = _unescaped(raw)
        if form.named and not names.is_secret(name, secret):
            continue
        if not secret or is_placeholder(secret) or text[start - 1 : start] == "\\":
            continue  # a backslash before it starts an escape, and the decoded layer was searched before
        if form.plausible(secret) or (form.named and names.is_phrase(name, secret)):
            yield Match(form.kind, start, secret, placeholder(secret), len(raw))


def _found(form: SecretPattern) -> Callable[[str], Iterator[tuple[str, int, int]]]:
    def find(text: str) -> Iterator[tuple[str, int, int]]:
        assert form.pattern is not None
        if form.leads and text.isascii():  # other letters can equal those of a hint
            found = _from_hints(form.pattern.compiled, form.hints, text)
        elif form.core is not None and form.core.compiled.search(text) is None:
            return
        else:
            found = form.pattern.compiled.finditer(text)
        for match in found:
            yield (match["name"] if form.named else "", *match.span("it"))

    return find


def _from_hints(pattern: re.Pattern[str], hints: tuple[str, ...], text: str) -> Iterator[re.Match[str]]:
    """Yield what `finditer` yields if each match begins with a hint. Python searches hints much faster."""
    lowered, end = text.lower(), 0
    starts: list[int] = []
    for hint in hints:
        at = -1
        while (at := lowered.find(hint, at + 1)) >= 0:
            starts.append(at)
    for start in sorted(starts):
        if start >= end and (match := pattern.match(text, start)) is not None:
            yield match
            end = match.end()


def _unescaped(raw: str) -> str:
    try:
        return str(json.loads(f'"{raw}"'))
    except ValueError:
        return raw


#: Shorter texts hold no secret of any form.
_SHORTEST = 8
#: Words that can hold a key. The characters are those of the forms of vendors.
_LONG_WORDS = re.compile(r"[A-Za-z0-9_.+/=~:@%|-]{14,}").findall
_UUID_TEXT = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_UUID = Form(_UUID_TEXT)

#: No word character or hyphen before: a long base64url text has no such position, so a blob cannot match by chance.
#: Some names may directly precede it (``apikeysk-…``, ``KEY_sk-…``), because that does not happen by chance either.
_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=key)|(?<=key[_-])|(?<=token)|(?<=token[_-])|(?<=secret[_-])"
    r"|(?<=KEY[_-])|(?<=TOKEN[_-])|(?<=SECRET[_-])|(?<=/bot))"
)

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
_NAME = rf"(?P<name>[\w.-]{{0,64}}(?:{'|'.join(ALL_NAMED)})[\w.-]{{0,24}})"
#: What says in an error that a credential was refused.
_REFUSALS = (
    *("invalid", "incorrect", "unknown", "wrong", "bad", "expired", "revoked", "rejected", "malformed"),
    *("unauthorized", "unauthorised", "unrecognized", "unrecognised"),
)
_REFUSED = rf"(?:{'|'.join(_REFUSALS)})"
_ECHOED = r"(?:(?<!page )(?<!next )(?<!sync )(?:keys?|tokens?|credentials?|secrets?))"
_WORD_OF_KEY = r"(?P<it>[A-Za-z0-9_+/=.~-]{16,})"
_QUERY_NAMES = (
    r"api[-_]?key|x-api-key|access_token|refresh_token|id_token|client_secret|sig|signature|password"
    r"|appid|pass|passwd|j?session_?id|phpsessid|sid|ticket|assertion|samlresponse|hmac|code|token_hash|code_verifier|X-Amz-(?:Signature|Credential|Security-Token)|X-Goog-(?:Signature|Credential)|AWSAccessKeyId|key|token"
)

PATTERNS: tuple[SecretPattern, ...] = (
    *CONTAINERS,
    SecretPattern(
        "private key",
        ("PRIVATE KEY", "Static key"),
        Form(
            r"(?P<it>-----BEGIN [A-Z0-9 ]{0,30}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d)-----"
            r"(?:.{0,20000}?-----END [A-Z0-9 ]{0,30}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d)-----"
            r"|[A-Za-z0-9+/=\\\s]*))",
            re.DOTALL,
        ),
        strong=True,
    ),
    SecretPattern(
        "credentials in a URL",  # of a service that is not a web site: any character may be in its password
        ("://",),
        Form(
            r"\b(?!https?:|wss?:|file:)[a-z][a-z0-9+.-]{1,30}://(?P<it>[^\s:/?#\[\]@\"'<>\\]{0,100}:[^\s\"'<>\\]{4,200})"
            r"@(?=[\w.-]+(?::[0-9]+|/|[\s\"'<\\]|$))",
            re.IGNORECASE,
        ),
        plausible=lambda pair: is_mixed(pair) and is_chosen(pair.partition(":")[2]),
    ),
    SecretPattern(
        "credentials in a URL",
        ("://",),
        Form(r"://(?P<it>[^\s:/?#\[\]@\"'<>\\]{0,200}:[^\s/?#\[\]@\"'<>\\]{1,200})@"),
        plausible=lambda pair: is_chosen(pair.partition(":")[2]),
    ),
    SecretPattern(
        "credentials in a URL",  # a token alone
        ("://",),
        Form(r"://(?P<it>[A-Za-z0-9_.~-]{16,200})@(?=[\w-]+[.:])"),
        plausible=names.is_random,
    ),
    SecretPattern(
        "credentials",  # in addresses that are not URLs: user:password@tcp(…), jdbc:oracle:thin:user/password@…
        ("@tcp(", "@unix(", "thin:"),
        Form(
            r"(?:thin:[\w.-]+/|(?<![\w.-])[\w.-]+:)(?P<it>[^\s\"'<>\\]{6,100})@(?=(?:tcp|unix)\(|(?://)?[\w.-]+:[0-9])"
        ),
        plausible=is_mixed,
    ),
    SecretPattern(
        "key", ("sk-",), Form(_START + r"(?P<it>sk-[A-Za-z0-9_-]{16,})"), strong=True, plausible=is_random_key
    ),
    SecretPattern(
        "key",  # too specific for chance, so that anything may precede it
        ("sk-proj-", "sk-ant-", "sk-admin-", "sk-svcacct-", "sk-or-v1-"),
        Form(r"(?P<it>sk-(?:proj|ant|admin|svcacct|or-v1)-[A-Za-z0-9_-]{30,})"),
        strong=True,
        plausible=is_random_key,
        dense=True,
    ),
    *(
        SecretPattern(
            kind,
            tuple(hint.split()),
            Form(_START + f"(?P<it>{pattern})"),
            strong=True,
            plausible=is_key,
            core=Form(pattern),
            dense=True,
        )
        for kind, hint, pattern in VENDORS
    ),
    SecretPattern(
        "masked key",  # providers show the beginning and the end of a wrong key
        ("api key", "api_key", "sk-"),
        Form(
            r"(?:api[ _-]?key[^\"*]{0,60}?|(?<![\w-])(?=sk-))(?<![\w-])(?P<it>[\w-]{2,24}\*{2,}[\w-]{1,8})",
            re.IGNORECASE,
        ),
    ),
    SecretPattern(
        "named secret",  # an error that repeats a key
        _REFUSALS,
        Form(rf"\b{_REFUSED}\b[^\n]{{0,40}}?{_ECHOED}\b[^\n]{{0,24}}?[\"'`:= (\[]{_WORD_OF_KEY}", re.IGNORECASE),
        plausible=names.is_random,
        core=Form(r"(?:key|token|credential|secret)s?\b", re.IGNORECASE),
        leads=True,
    ),
    SecretPattern(
        "named secret",
        (" not ", " no ", "invalid", "expired", "revoked", "unknown"),
        Form(
            rf"(?:{_ECHOED}\\*[\s\"'`:=(]{{1,4}}|[\w-]:[ \t]){_WORD_OF_KEY}(?<![.])\\*[\"'`)]?[ \t]+"
            r"(?:(?:is|has|was)[ \t]+)?(?:(?:been|not|no longer)[ \t]+)?"
            r"(?:valid|accepted|authorized|invalid|expired|incorrect|revoked|unknown)",
            re.IGNORECASE,
        ),
        plausible=names.is_random,
        core=Form(r"[ \t](?:valid|accepted|authorized|invalid|expired|incorrect|revoked|unknown)\b", re.IGNORECASE),
    ),
    SecretPattern(
        "named secret",
        (" for key", " for token"),
        Form(rf"\b(?:no|unknown)\b[^\n]{{0,30}} for (?:key|token)[ =:]{{1,2}}[\"'`]?{_WORD_OF_KEY}", re.IGNORECASE),
        plausible=names.is_random,
    ),
    SecretPattern(
        "token",
        ("bearer ", "ssws "),
        Form(r"\b(?:bearer|ssws)\s+(?P<it>[A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE),
        plausible=is_long,
    ),
    SecretPattern(
        "credentials",
        ("basic ",),
        Form(r"authorization[\"'\\\s:=]{1,12}basic\s+(?P<it>[A-Za-z0-9+/_-]{6,}={0,2})", re.IGNORECASE),
    ),
    SecretPattern(
        "credentials",
        ("-u ", "--user "),
        Form(r"\bcurl\b[^\n]{0,200}? (?:-u|--user) ?[\"'\\]*[^\s:\"'\\]{1,80}:(?P<it>[^\s\"'\\]{8,})"),
        plausible=is_mixed,
    ),
    SecretPattern(
        "named secret",  # a form field (RFC 7578)
        ("form-data",),
        Form(
            rf"form-data;[ \t]*name=\"?{_NAME}\"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n(?P<it>[^\r\n]{{6,}})",
            re.IGNORECASE,
        ),
        plausible=is_chosen,
        named=True,
    ),
    SecretPattern(
        "named secret",  # Azure's connection strings
        ("AccountKey=", "SharedAccessKey="),
        Form(r"(?:AccountKey|SharedAccessKey)=(?P<it>[A-Za-z0-9+/]{40,}={0,2})"),
    ),
    SecretPattern(
        "key in a URL",
        tuple(
            f"{name}="
            for name in (
                "key",
                "token",
                "secret",
                "sig",
                "signature",
                "password",
                "credential",
                "keyid",
                "pass",
                "appid",
                "sid",
                "sessionid",
                "ticket",
                "assertion",
                "samlresponse",
                "hmac",
                "code",
                "_hash",
                "verifier",
            )
        ),
        Form(rf"[?&;#](?:{_QUERY_NAMES})=(?P<it>[^&\s\"'<>\\#;)\]]{{12,}})", re.IGNORECASE),
        plausible=is_mixed,
    ),
    SecretPattern(
        "key in a URL",
        tuple(f"{word}=" for word in ALL_NAMED),
        Form(rf"[?&;#]{_NAME}=(?P<it>[^&\s\"'<>\\#;)\]]{{16,}})", re.IGNORECASE),
        plausible=names.is_random,
        named=True,
    ),
    SecretPattern(
        "organisation id", ("org-", "org_"), Form(_START + r"(?P<it>org[-_][A-Za-z0-9]{16,})"), plausible=is_mixed
    ),
    SecretPattern("project id", ("proj_",), Form(_START + r"(?P<it>proj_[A-Za-z0-9]{16,})"), plausible=is_mixed),
    SecretPattern("request id", ("req_",), Form(_START + r"(?P<it>req_[A-Za-z0-9_]{16,})"), plausible=is_mixed),
    SecretPattern(
        "user id",
        ("user-", "user_"),
        Form(_START + r"(?P<it>user[-_][A-Za-z0-9]{20,})"),
        plausible=is_mixed,
        core=Form(r"user[-_][A-Za-z0-9]{20}"),
    ),
    SecretPattern(
        "account id",
        ("acct_", "wrkspc_"),
        Form(_START + r"(?P<it>(?:acct|wrkspc)_[A-Za-z0-9]{12,})"),
        plausible=is_mixed,
    ),
    SecretPattern(
        "account id",
        _ACCOUNTS,
        Form(rf"(?:{'|'.join(_ACCOUNTS)})s?(?:[ _-]?id)?[ /:=_(]{{1,3}}[\"'`\\]*(?P<it>{_UUID_TEXT})", re.IGNORECASE),
        core=_UUID,
    ),
    SecretPattern(
        "account id",  # AWS and Google use twelve-digit account and project numbers
        ("account", "project", "arn:aws"),
        Form(
            r"(?:(?:account|project)s?(?:[ _-]?(?:id|number))?[ /:=(]{1,3}[\"'`\\]*"
            r"|\barn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:)(?P<it>[0-9]{12})(?![0-9A-Za-z])",
            re.IGNORECASE,
        ),
        core=Form("[0-9]{12}(?![0-9A-Za-z])"),
    ),
    SecretPattern(
        "account id",
        ("request", "organization", "org", "project", "workspace", "team", "account", "user", "cf-ray", "api_key_id"),
        Form(rf"{QUOTE}(?:{_ID_NAMES}){QUOTE}\s*:\s*{QUOTE}(?P<it>[^\"\\\s]{{8,}})", re.IGNORECASE),
        plausible=is_id,
        member=True,
    ),
    SecretPattern(
        "e-mail address",
        ("@",),
        Form(
            r"(?<![A-Za-z0-9._%+-])(?P<it>[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63})(?![A-Za-z0-9])"
        ),
        plausible=is_personal,
    ),
)

#: Forms of one word with their hints, and the others: those with equal hints share one search. These have the hints
#: that contain no other one, those for texts beyond ASCII, and a character that all of them have, or none.
_DENSE = [(hint, form) for form in PATTERNS if form.dense for hint in form.hints]
_STRONG = [form for form in PATTERNS if form.strong and not form.dense]
_GROUPS: dict[tuple[tuple[str, ...], bool], list[SecretPattern]] = {}
for _form in PATTERNS:
    if not _form.dense:
        _folded = _form.pattern is None or bool(_form.pattern.flags & re.IGNORECASE)
        _GROUPS.setdefault((_form.hints, _folded), []).append(_form)
_OTHERS = [
    (
        [hint for hint in hints if not any(other in hint for other in hints if other != hint)],
        ALL_NAMED if hints is NAMED else hints,
        next((mark for mark in "=@$" if all(mark in hint for hint in hints)), ""),
        folded,
        forms,
    )
    for (hints, folded), forms in _GROUPS.items()
]
