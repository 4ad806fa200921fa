"""Forms of secrets that the shape of their container shows: what is beside a value, and not only its own name.

Each row finds values in text of any notation (JSON, YAML, XML, a command), so that it also works in cut documents and
in texts within texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import names
from .forms import Form, SecretPattern, is_chosen, is_chosen_and_mixed, is_mixed, is_pair
from .name_places import NAMED, QUOTE, places

#: Members with a name, and with the value that it names.
_NAMES = r"name|key|variable|var|field|header|param(?:eter)?|env|id|label|setting|option|attribute|property"
_VALUES = r"value|val|secret_?value|string_?value|plain_?text|default_?value|current_?value"
_CHARS = r"[^\s\"'<>{}\[\],;\\]"
_TO = rf"(?:{QUOTE})?\s*[:=]\s*"
_VALUE = (
    rf"(?:{QUOTE})?(?:{_VALUES}){_TO}(?:\{{\s*{QUOTE}string_?value{QUOTE}\s*:\s*)?"
    rf"(?:\\*(?P<quote>[\"'])(?:(?:bearer|basic|token)\s+)?(?P<quoted>(?:(?!(?P=quote))[^\\\n]){{6,}})"
    rf"|(?P<plain>{_CHARS}{{6,}}))"
)
_BEFORE = re.compile(rf"(?<![A-Za-z0-9])(?P<label>[\w-]{{0,24}}(?:{_NAMES})){_TO}(?:{QUOTE})?$", re.IGNORECASE)
_AFTER = re.compile(rf"(?:{QUOTE})?\s*[,;]?\s*(?:[^{{}}]{{0,200}}?[,;\s])?(?<![A-Za-z0-9_.-]){_VALUE}", re.IGNORECASE)
_KEY_NAME = re.compile(r"(?:key|token|secret|password|credential)_?name$", re.IGNORECASE)
_VALUE_HINT = re.compile(r"(?:val(?:ue)?|plain_?text)\\*[\"']?\s*[:=]", re.IGNORECASE)
#: How far a value is from its name.
_NEAR = 600

_LIST = re.compile(rf"{_TO}\[(?P<it>[^\[\]]{{6,8000}})(?:\]|$)|{_TO}\{{(?P<map>[^{{}}]{{6,8000}})(?:\}}|$)")
_NAME = re.compile(r"(?<=[\"'])[\w. -]+(?=\\*[\"'])|[\w.-]+")
_ITEM = re.compile(r"\\*(?P<quote>[\"'])(?P<it>(?:(?!(?P=quote))[^\\\n]){6,})\\*(?P=quote)(?!\s*:)")

_Found = Iterator[tuple[str, int, int]]


def _siblings(text: str) -> _Found:
    """Yield values whose names are the values beside them: ``{"name": "DB_PASSWORD", "value": …}``."""
    if _VALUE_HINT.search(text) is None:
        return
    for start in places(text):
        name = _NAME.match(text, start)
        if name is None:
            continue
        label = _BEFORE.search(text, max(start - 60, 0), start)
        after = None
        called = name[0]
        if label is not None:
            if _KEY_NAME.search(label["label"]):
                called = label["label"][: -len("name")] or called
            after = _AFTER.match(text, name.end())
            if after is None:
                begin = max(start - _NEAR, 0)
                head = text[begin : label.start()].rstrip("\\\"' \t\r\n-")
                if _VALUE_HINT.search(head):
                    brace = max(head.rfind("}"), head.rfind("{") if "stringValue" not in head else -1) + 1
                    for found in re.finditer(_VALUE, head[brace:] + '"', re.IGNORECASE):
                        yield (called, *_span(found, begin + brace))
        elif _KEY_NAME.search(name[0]):
            called = name[0][: -len("name")].rstrip("_")
            value = re.compile(_TO + QUOTE).match(text, name.end())
            after = _AFTER.match(text, value.end()) if value else None
        if after is not None:
            yield (called, *_span(after, 0))


def _span(found: re.Match[str], offset: int) -> tuple[int, int]:
    start, end = found.span("quoted" if found["quoted"] is not None else "plain")
    return start + offset, end + offset


def _items(text: str) -> _Found:
    """Yield the strings of lists and objects whose names mark secrets: ``"api_keys": ["…", "…"]``."""
    for start in places(text):
        name = _NAME.match(text, start)
        if name is None or (found := _LIST.match(text, name.end())) is None:
            continue
        if names.certainty_of(name[0]) is names.Certainty.NOTHING and name[0].lower() not in ("keys", "auths"):
            continue
        group = "it" if found["it"] is not None else "map"
        for item in _ITEM.finditer(text, *found.span(group)):
            if is_mixed(item["it"]) and (group == "it" or names.is_random(item["it"])):
                yield ("token", *item.span("it"))


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
_TOOLS = r"mysql\w*|mariadb\w*|sshpass|mongo\w*|redis-cli|docker|podman|helm|sqlcmd|ldap\w+|7z|zip|unzip"

CONTAINERS: tuple[SecretPattern, ...] = (
    SecretPattern("named secret", NAMED, named=True, plausible=is_chosen, member=True, find=_siblings),
    SecretPattern("named secret", NAMED, plausible=is_chosen, member=True, find=_items),
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
        "named secret",  # the path of an address: https://host/api_key/…
        ("key/", "token/", "secret/"),
        Form(r"/(?P<name>[\w.-]{0,40}(?:key|token|secret))/(?P<it>[A-Za-z0-9_~-]{16,})", re.IGNORECASE),
        plausible=names.is_random,
        named=True,
    ),
    SecretPattern(
        "named secret",  # a connection string: Server=…;Password=…
        ("password=", "pwd="),
        Form(r";[ \t]*(?:password|pwd)[ \t]*=[ \t]*(?P<it>[^;\s\"'\\]{6,})", re.IGNORECASE),
        plausible=is_chosen,
    ),
    SecretPattern(
        "named secret",  # an option of a command: --db-password …, and in lists of arguments
        NAMED,
        Form(
            r"--?(?P<name>[A-Za-z][\w.-]{2,60})(?:[= \t]|\\*[\"'],[ \t\r\n]*(?=\\*[\"']))[ \t]*\\*[\"']?"
            r"(?P<it>[^\s\"'\\<>|&;(){}\[\],-][^\s\"'\\<>|&;(){}\[\],]{5,})",
            re.IGNORECASE,
        ),
        plausible=is_chosen,
        named=True,
        begins=0,
        member=True,
    ),
    SecretPattern(
        "named secret",  # db_password = "…", in code and configurations
        NAMED,
        Form(
            r"(?<![\w.$-])(?P<name>[\w.-]{2,80})[ \t]{0,4}(?::?=|:|=>)[ \t]{0,4}[rbuf]?(?P<quote>[\"'`])"
            r"(?P<it>(?:(?!(?P=quote))[^\\\s]){6,200})(?P=quote)",
            re.IGNORECASE,
        ),
        plausible=is_chosen_and_mixed,
        named=True,
        begins=0,
    ),
    SecretPattern(
        "named secret",  # DB_PASSWORD: …, password=…&
        NAMED,
        Form(
            r"(?<![\w.$-])(?P<name>[\w.-]{0,60}(?:password|passwd|pwd))[ \t]{0,4}[:=][ \t]{0,4}"
            r"(?P<it>[^\s\"'`\\<>|&;(){}\[\],.:=/$][^\s\"'`\\<>|&;(){}\[\],=]{7,})",
            re.IGNORECASE,
        ),
        plausible=is_chosen_and_mixed,
        named=True,
        begins=0,
    ),
    SecretPattern(
        "named secret",  # <password>…</password>, <key>password</key><string>…, | DB_PASSWORD | … |, ENV DB_PASSWORD …
        NAMED,
        Form(
            r"(?P<name>[\w.-]{2,80})(?:(?<=[\w-])(?:>|</key>\s*<string>)|[ \t`*\"']{0,6}\|[ \t`*\"']{0,6}"
            r"|(?<=(?-i:[A-Z]))[ \t]+(?=[^\s=]+\s*$))"
            r"(?P<it>[^\s\"'`\\<>|&;(){}\[\],.:=/$-][^\s\"'`\\<>|&;(){}\[\],=]{5,})",
            re.IGNORECASE | re.MULTILINE,
        ),
        plausible=is_chosen_and_mixed,
        named=True,
        begins=0,
    ),
    SecretPattern(
        "named secret",  # in a sentence
        ("password", "passcode", "api key", "api_key"),
        Form(
            r"\b(?:password|passcode|api[ _]key)(?: (?:for|of|to) [^\n\"'.:]{1,40}?)? (?:is|was)(?: now)?:? [\"'`]?"
            r"(?P<it>[^\s\"'`\\<>|&;(){}\[\],.:=/$-][^\s\"'`\\<>|&;(){}\[\],=]{6,}[^\s\"'`\\<>|&;(){}\[\],=.:!?])",
            re.IGNORECASE,
        ),
        plausible=is_chosen_and_mixed,
    ),
    SecretPattern(
        "credentials",  # "auth": base64 of a name and a password, as in Docker's configuration
        ("auth",),
        Form(r"auth[\"'\\]*\s*[:=]\s*[\"'\\]*(?P<it>[A-Za-z0-9+/]{8,}={0,2})"),
        plausible=is_pair,
        member=True,
    ),
    SecretPattern(
        "named secret",  # a variable before a command: PGPASSWORD=… psql
        ("PASSWORD=", "PASSWD=", "MYSQL_PWD="),
        Form(r"(?<![\w$])(?P<name>[A-Z0-9_]*(?:PASSWORD|PASSWD|MYSQL_PWD))=[\"'\\]*(?P<it>[^\s\"'\\;&|<>(){}]{6,})"),
        plausible=is_chosen,
        named=True,
    ),
    SecretPattern(
        "named secret",  # mysql -p…
        (" -p", " -a ", '", "-p', '","-p'),
        Form(
            rf"\b(?:{_TOOLS})\b[^\n|;&]{{0,200}}?[\s\"'](?:-p(?:\\*[\"'],\s*\\*[\"']|[ \t]+)?|-a[ \t]+)\\*[\"']?"
            r"(?P<it>[^\s\"'\\<>|&;(){}\[\],=:/-][^\s\"'\\<>|&;(){}\[\],:/]{5,})"
        ),
        plausible=is_chosen_and_mixed,
        member=True,
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
