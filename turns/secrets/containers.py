"""Forms of secrets that the shape of their container shows: what is beside a value, and not only its own name.

Each row finds values in text of any notation (JSON, YAML, XML, a command), so that it also works in cut documents and
in texts within texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import named, names
from .commands import COMMANDS, arguments
from .forms import Form, SecretPattern, is_chosen, is_pair
from .name_places import NAMED, QUOTE, name_at, places
from .names import is_mixed
from .tables import rows

#: Members with a name, and with the value that it names.
_NAMES = (
    r"name|key|variable|var|field|header|param(?:eter)?|env|id|label|setting|option|attribute|property|title"
    r"|element|selector|object"
)
_VALUES = r"\w{0,20}value|val|plain_?text"
#: Other members beside a name, whose values must look like passwords.
_CONTENTS = r"v|content|text|data|default|new|old"
_CHARS = r"[^\s\"'<>{}\[\],;\\]"
_TO = rf"(?:{QUOTE})?\s*[:=]\s*"
_VALUE = (
    rf"(?:{QUOTE})?(?:{_VALUES}|(?P<weak>{_CONTENTS})){_TO}(?:\{{\s*{QUOTE}string_?value{QUOTE}\s*:\s*)?"
    rf"(?:\\*(?P<quote>[\"'])(?:(?:bearer|basic|token)\s+)?(?P<quoted>(?:(?!(?P=quote))[^\\\n\"]){{6,}})"
    rf"|(?P<plain>{_CHARS}{{6,}}))"
)
_LABEL = re.compile(rf"(?<![A-Za-z0-9])(?P<label>[\w-]{{0,24}}(?:{_NAMES})|k)(?:{QUOTE})?\s*$", re.IGNORECASE)
#: What may be between the label and the name: a quote, a path, words.
_PATH = re.compile(rf"\s*(?:{QUOTE}(?:[\w.-]+ ){{0,2}})?(?:[\w.-]*/){{0,8}}")
_AFTER = re.compile(rf"(?:{QUOTE})?\s*[,;]?\s*(?:[^{{}}]{{0,200}}?[,;\s])?(?<![A-Za-z0-9_.-]){_VALUE}", re.IGNORECASE)
_KEY_NAME = re.compile(r"(?:key|token|secret|password|credential)_?name$", re.IGNORECASE)
_FLAG = re.compile(rf"{QUOTE}(?:sensitive|secure|(?:is_?)?secret|no_?echo){QUOTE}\s*:\s*true", re.IGNORECASE)
_FLAGS = ("sensitive", "secure", "secret", "echo")
_FLAGGED = re.compile(_VALUE, re.IGNORECASE)
#: How far a value is from its name.
_NEAR = 600

_YAML_LIST = re.compile(r":[ \t]*\r?\n(?:[ \t]*-[ \t]+[^\s\"']+[ \t]*(?:\r?\n|$))+")
_YAML_ITEM = re.compile(r"-[ \t]+(?P<it>[^\s\"'-][^\s\"']{5,})")
_LIST = re.compile(
    rf"{_TO}\[(?P<it>[^\[\]]{{6,8000}})(?:\]|$)|(?:{_TO}|{QUOTE}\s*)\{{(?P<map>[^{{}}]{{6,8000}})(?:\}}|$)"
)
_NAME = re.compile(r"(?<=[\"'])[\w. -]{1,120}(?=\\*[\"'])|[\w.-]{1,120}")
_ITEM = re.compile(r"\\*(?P<quote>[\"'])(?P<it>(?:(?!(?P=quote))[^\\\n\"]){6,})\\*(?P=quote)(?!\s*:)")

_Found = Iterator[tuple[str, int, int]]


def _siblings(text: str) -> _Found:
    """Yield values whose names are the values beside them: ``{"name": "DB_PASSWORD", "value": …}``."""
    for start in places(text):
        name = _NAME.match(text, start)
        if name is None:
            continue
        label = _label(text, start)
        found: list[tuple[re.Match[str], int]] = []
        at = name_at(text, start)
        called = at[0] if at else name[0]
        if label is not None:
            if _KEY_NAME.search(label["label"]):
                called = label["label"][: -len("name")] or called
            if names.certainty_of(called) is names.Certainty.NOTHING:
                continue
            if after := _AFTER.match(text, name.end()):
                found.append((after, 0))
            else:
                begin = max(start - _NEAR, 0)
                head = text[begin : label.start()].rstrip("\\\"' \t\r\n-")
                brace = max(head.rfind("}"), head.rfind("{") if "stringValue" not in head else -1) + 1
                found += ((before, begin + brace) for before in _FLAGGED.finditer(head[brace:] + '"'))
        elif _KEY_NAME.search(name[0]):
            called = name[0][: -len("name")].rstrip("_")
            called = "access key" if called.lower() == "key" else called
            value = _QUOTED_AFTER.match(text, name.end())
            if value and (after := _AFTER.match(text, value.end())):
                found.append((after, 0))
        for each, offset in found:
            if each["weak"] is None or names.is_password(each["quoted"] or each["plain"]):
                yield (called, *_span(each, offset))


def _label(text: str, start: int) -> re.Match[str] | None:
    operator = max(text.rfind(":", max(start - 100, 0), start), text.rfind("=", max(start - 100, 0), start))
    if operator < 0 or _PATH.fullmatch(text, operator + 1, start) is None:
        return None
    return _LABEL.search(text, max(operator - 40, 0), operator)


_QUOTED_AFTER = re.compile(_TO + QUOTE)


def _flagged(text: str) -> _Found:
    """Yield the values of objects that call themselves secret: ``{"value": …, "sensitive": true}``."""
    for flag in _FLAG.finditer(text):
        begin = text.rfind("{", 0, flag.start()) + 1
        end = text.find("}", flag.end())
        for found in _FLAGGED.finditer(text, begin, end if end >= 0 else len(text)):
            yield ("", *_span(found, 0))


def _span(found: re.Match[str], offset: int) -> tuple[int, int]:
    start, end = found.span("quoted" if found["quoted"] is not None else "plain")
    return start + offset, end + offset


def _items(text: str) -> _Found:
    """Yield the strings of lists and objects whose names mark secrets: ``"api_keys": ["…", "…"]``."""
    for start in places(text):
        name = _NAME.match(text, start)
        if name is None:
            continue
        said = names.certainty_of(name[0])
        if listed := _YAML_LIST.match(text, name.end()):
            for item in _YAML_ITEM.finditer(text, *listed.span()):
                if _is_member(said, item["it"]):
                    yield ("token", *item.span("it"))
        if (found := _LIST.match(text, name.end())) is None:
            continue
        if said is names.Certainty.NOTHING and name[0].lower() not in ("keys", "auths"):
            continue
        group = "it" if found["it"] is not None else "map"
        for item in _ITEM.finditer(text, *found.span(group)):
            value = item["it"]
            is_code = said is names.Certainty.CHOSEN and value.isdecimal()
            if (is_mixed(value) or is_code) if group == "it" else _is_member(said, value):
                yield ("token", *item.span("it"))


def _is_member(said: names.Certainty, value: str) -> bool:
    if names.is_random(value):
        return True
    strong = said in (names.Certainty.SURE, names.Certainty.CHOSEN) and names.is_password(value)
    return strong and not names.is_reference(value) and _PATTERN.search(value) is None


#: Characters of patterns in schemas.
_PATTERN = re.compile(r"[][{}()\\|/]")


_STRINGS = re.compile(r"stringData[\"'\\]*\s*:\s*(?:\{(?P<json>[^{}]*)|(?P<yaml>(?:\r?\n[ \t]+[^\r\n]+)+))")
_DATA = re.compile(r"(?<![A-Za-z])data[\"'\\]*\s*:\s*(?:\{(?P<json>[^{}]*)|(?P<yaml>(?:\r?\n[ \t]+[\w.-]+:[^\r\n]+)+))")
_ENTRY = re.compile(
    r"[\w.-]+[\"'\\]*\s*:[ \t]*\\*[\"']?(?P<it>[^\s\"'\\,{}|>][^\"'\\\r\n{}]{3,}?)(?=[\"'\\\r\n}]|[ \t]*$)",
    re.MULTILINE,
)
_KIND = re.compile(r"kind[\"'\\]*\s*:\s*[\"'\\]*Secret\b")


def _kubernetes(text: str) -> _Found:
    """Yield the values of Kubernetes' secrets: all of them are secrets, whatever their names."""
    of_secret = [_DATA] if _KIND.search(text) else []
    for pattern in (_STRINGS, *of_secret):
        for found in pattern.finditer(text):
            for entry in _ENTRY.finditer(text, *found.span("json" if found["json"] is not None else "yaml")):
                yield ("", *entry.span("it"))


#: Two keys of one account, side by side: alone, ``primaryKey`` and ``key1`` are harmless.
_ORDINALS = ("secondarykey", "secondary_key", "secondary-key", "key2", "key_2", "key-2")

#: Words of languages that put no blank after them.
_UNSPACED = tuple(word for word in names.FOREIGN if word[0] > "\u3000")

CONTAINERS: tuple[SecretPattern, ...] = (
    SecretPattern("named secret", NAMED, member=True, find=named.values),
    SecretPattern("named secret", NAMED, plausible=is_chosen, member=True, find=rows),
    SecretPattern("named secret", COMMANDS, plausible=is_chosen, member=True, find=arguments),
    SecretPattern("named secret", NAMED, named=True, plausible=is_chosen, member=True, find=_siblings),
    SecretPattern("named secret", NAMED, plausible=is_chosen, member=True, find=_items),
    SecretPattern("named secret", _FLAGS, plausible=is_chosen, member=True, find=_flagged),
    SecretPattern(
        "named secret",
        _ORDINALS,
        Form(
            rf"(?<![A-Za-z0-9])(?:(?:primary|secondary)[_-]?key|key[_-]?[12]){_TO}(?:{QUOTE})?(?P<it>{_CHARS}{{16,}})",
            re.IGNORECASE,
        ),
        plausible=names.is_random,
        member=True,
    ),
    SecretPattern("named secret", ("stringdata", "secret"), member=True, find=_kubernetes, plausible=is_chosen),
    SecretPattern(
        "webhook",  # addresses whose path is a credential
        ("/services/t", "/api/webhooks/", "/hooks/catch/", "/soap/v3", "/telemetry"),
        Form(
            r"/(?:services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}|api/webhooks/[0-9]{16,20}|hooks/catch/[0-9]+|soap/v3(?:\.1)?"
            r"|api/v1(?=/[A-Z0-9]{20}/telemetry))/(?P<it>[\w-]{6,})",
            re.IGNORECASE,
        ),
    ),
    SecretPattern(
        "password hash",
        ("$",),
        Form(
            r"(?P<it>\$(?:2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{40,53}"
            r"|(?:[156y]|apr1|argon2[a-z]{1,2})\$[./A-Za-z0-9$,=+]{20,}))"
        ),
    ),
    SecretPattern(
        "seed phrase",
        ("phrase", "mnemonic"),
        Form(
            r"\b(?:(?:seed|recovery|backup|secret)[ _-]?phrase|mnemonic)[\"']?(?: is| are|[ \t]*[:=])[: \t]*[\"']?"
            r"(?P<it>(?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b",
            re.IGNORECASE,
        ),
    ),
    SecretPattern(
        "named secret",  # the path of an address: https://host/api_key/…
        ("key/", "token/", "secret/", "password/"),
        Form(r"/[\w.-]{0,40}(?:key|token|secret|reset-password)/(?P<it>[A-Za-z0-9_~-]{16,})", re.IGNORECASE),
        plausible=names.is_random,
    ),
    SecretPattern(
        "credentials",  # "auth": base64 of a name and a password, as in Docker's configuration
        ("auth",),
        Form(r"auth[\"'\\]*\s*[:=]\s*[\"'\\]*(?P<it>[A-Za-z0-9+/]{8,}={0,2})"),
        plausible=is_pair,
        member=True,
    ),
    SecretPattern(
        "named secret",  # a call or a pair with the name of a user: login('bob', '…'), credentials: bob:…
        ("auth=", "auth(", "login", "credential", "connect(", "wifi.begin", "directoryentry", "opendsobject"),
        Form(
            r"(?:auth|login|credentials?|authenticate|connect|wifi\.begin|directoryentry|opendsobject)[\"']?"
            r"(?:[ \t]*=?[ \t]*\([^()]{0,120}?[\"'][^\"'\n]{1,80}[\"'],\s*[rbu]?[\"']"
            r"|[ \t]*[:=][ \t]*[\w.@-]{1,60}[ \t]*[:/][ \t]*)(?P<it>[^\s\"'\\,;()]{6,200})",
            re.IGNORECASE,
        ),
        plausible=lambda text: is_chosen(text) and names.is_password(text) and not names.is_reference(text),
    ),
    SecretPattern(
        "named secret",  # in a sentence without blanks
        _UNSPACED,
        Form(rf"(?:{'|'.join(_UNSPACED)})[^\x00-\x7f]{{1,4}}(?P<it>[!#-&(-~]{{6,100}})"),
        plausible=lambda text: is_chosen(text) and names.is_password(text),
        member=True,
    ),
    SecretPattern(
        "named secret",  # a code for one time, Google's passwords for applications
        ("otp", "code", "app"),
        Form(
            r"\b(?:(?:otp|your code|one[- ]time (?:code|password)|(?:verification|security|login) code)\b[^\n0-9]{0,20}"
            r"(?=[0-9]{6,8}\b)"
            r"|app[ -]password[^\n]{0,12}?[ :=](?=[a-z]{4} ))(?P<it>[0-9]{6,8}|(?:[a-z]{4} ){3}[a-z]{4}\b)",
            re.IGNORECASE,
        ),
    ),
    SecretPattern(
        "private key",  # JSON Web Keys (RFC 7518): the private members
        ("kty",),
        Form(r"(?<=[\"'])(?:d|p|q|dp|dq|qi|k)\\*[\"']\s*:\s*\\*[\"'](?P<it>[A-Za-z0-9_-]{20,})"),
        member=True,
    ),
    SecretPattern(
        "private key",  # PuTTY
        ("Private-Lines:",),
        Form(r"Private-Lines: *[0-9]+[\s\\rn]+(?P<it>(?:[A-Za-z0-9+/=]{4,80}\r?\n?){1,200})"),
    ),
    SecretPattern(
        "AWS secret",  # beside the id of its key
        ("AKIA", "ASIA", "REDA"),  # the id may be replaced already
        Form(
            r"(?:(?:AKIA|ASIA)[0-9A-Z]{16}|REDACTEDREDACTED[a-z2-7]{4})[\"'\s,;:|/]{1,12}"
            r"(?:[\w .-]{0,30}[=:]\s*)?[\"']?(?P<it>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
        plausible=is_mixed,
    ),
    SecretPattern(
        "named secret",  # .netrc
        ("login",),
        Form(r"\blogin\s+\S{1,100}\s+(?:account\s+\S+\s+)?password\s+[\"'\\]*(?P<it>[^\s\"'\\]{6,})", re.IGNORECASE),
        plausible=is_chosen,
    ),
    SecretPattern(
        "named secret",  # .pgpass: host:port:database:user:password
        (":54", ":6432:", ":*:"),
        Form(
            r"(?<![^\s\"'`])[\w.*-]{1,120}:(?:54[0-9]{2}|6432|\*):[\w.*-]{1,63}:[\w.*-]{1,63}:"
            r"(?P<it>(?:[^\s:\"'\\`]|\\\\[:\\]){6,})"
        ),
        plausible=is_chosen,
        core=Form(r":(?:54[0-9]{2}|6432|\*):[\w.*-]{1,63}:"),
    ),
)
