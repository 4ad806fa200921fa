"""Secrets in command lines whose options do not name them: ``mysql -p…``, ``zip -P …``, ``ldapsearch -w …``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import is_mixed, is_password, is_reference

#: A blank, or the end of one argument in a list and the beginning of the next.
_NEXT = r"(?:\\*[\"'],\s*\\*[\"']|[ \t]+)"
_VALUE = r"\\*[\"']?(?P<it>[^\s\"'\\<>|;(){}\[\],=:/-][^\s\"'\\<>|;(){}\[\],]{5,})"

_COOKIE = r"(?:\\*[\"'])?\w*(?:session|sid|auth|token)\w*="
_P = rf"(?<![\w-])-p{_NEXT}"
#: Commands, and what precedes the secret in their arguments.
_OPTIONS = {
    "mysql, mysqldump, mysqladmin, mysqlsh, mariadb, sshpass, 7z, 7za, unrar": rf"(?<![\w-])-p(?:{_NEXT})?",
    "mongo, mongosh, mongodump, docker, podman, helm, psexec, xfreerdp, az login": _P,
    "redis-cli, snmpwalk, snmpget": rf"(?<![\w-])-[aAX]{_NEXT}",
    "zip, unzip, sqlcmd, ipmitool": rf"(?<![\w-])-P{_NEXT}",
    "ldapsearch, ldapadd, ldapmodify, ldapwhoami": rf"(?<![\w-])-w{_NEXT}",
    "openssl": rf"(?:-pass(?:in|out)?{_NEXT}pass:|(?<![\w-])-[kK]{_NEXT})",
    "convertto-securestring": rf"\A(?:{_NEXT}-String)?{_NEXT}(?=\\*[\"'])",
    "keytool, jarsigner": rf"-(?:store|key|deststore|srcstore)pass(?:wd)?{_NEXT}",
    "smbclient, rpcclient": rf"(?<![\w-])-U{_NEXT}[^\s%\"']+%",
    "net use": rf"\A\s+\S+\s+\S+{_NEXT}(?:/user:\S+{_NEXT})?",
    "curl": rf"(?:--proxy-user|-U){_NEXT}[^\s:\"']+:|(?:-b|--cookie){_NEXT}{_COOKIE}",
    "wrangler secret put, vercel env add": rf"<<<{_NEXT}",
    "sqlplus": rf"\A{_NEXT}[\w.]+/",
    "nmcli": rf"password{_NEXT}",
    "wpa_passphrase": rf"\A{_NEXT}\S+{_NEXT}",
    "rclone": rf"pass(?:word)?{_NEXT}",
    "htpasswd": rf"-\w*b\w*{_NEXT}\S+{_NEXT}\S+{_NEXT}",
    "mc alias set": rf"\A{_NEXT}\S+{_NEXT}\S+{_NEXT}\S+{_NEXT}",
    "gh secret set": rf"(?:--body|-b){_NEXT}",
    "kubectl": rf"--from-literal(?:=|{_NEXT})[\w.-]+=",
    "fly secrets set, flyctl secrets set, heroku config:set": rf"{_NEXT}[\w.-]+=",
}
#: The same for lines of configurations and of output.
_LINES = {
    "requirepass, masterauth, snmp-server community": rf"\A{_NEXT}",
    "enable secret": rf"\A{_NEXT}\d{_NEXT}",
    "username": rf"\A{_NEXT}\S+{_NEXT}(?:password|secret){_NEXT}\d{_NEXT}",
    "unseal key": r"\A[ \t]\d:[ \t]+(?=[A-Za-z0-9+/]{40})",
}
_PATTERNS = {
    command: (
        re.compile(rf"{begin}{re.escape(command)}(?:\.exe)?(?=[\s\"'\\])", re.IGNORECASE | re.MULTILINE),
        re.compile(f"(?:{before}){_VALUE}"),
    )
    for table, begin in ((_OPTIONS, r"\b"), (_LINES, r"(?:^|\\n|[\"'])[ \t]*"))
    for commands, before in table.items()
    for command in commands.split(", ")
}
_ARGUMENTS = re.compile(r"[^\n|;]{0,400}")
_FED = re.compile(
    r"\becho[ \t]+(?:-n[ \t]+)?[\"']?(?P<it>[^\s\"'`$|<>(){}-][^\s\"'`|<>(){}]{5,})[\"']?\s*\|\s*"
    r"(?:sudo[ \t]+-S|[^\n|]{0,200}--password-stdin|[^\n|]{0,60}passwd)"
)
#: Each command line contains one of these.
COMMANDS = (*_PATTERNS, "echo")


def arguments(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield ("", start, end) of the secrets in command lines."""
    lowered = text.lower()
    for command, (begins, option) in _PATTERNS.items():
        for begin in begins.finditer(text) if command in lowered else ():
            rest = _ARGUMENTS.match(text, begin.end())
            assert rest is not None
            for found in option.finditer(rest[0]):
                if is_mixed(found["it"]) and not is_reference(found["it"]):
                    yield "", found.start("it") + begin.end(), found.end("it") + begin.end()
    for found in _FED.finditer(text) if "echo" in lowered else ():
        if is_password(found["it"]) and not is_reference(found["it"]):
            yield "", *found.span("it")
