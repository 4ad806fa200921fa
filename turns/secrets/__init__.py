"""What others may see of an error: no credential of any text, and nothing but the kind of a provider's error.

`outcome.Outcome.error` is the whole error, for the program. Events have `public`. The turn log has the whole error
after `scrubbed`, which tool results, log lines and errors of MCP servers pass, too.
"""

from __future__ import annotations

import logging
import os
import re
import traceback
from collections.abc import Callable
from typing import TypeVar

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Error, Response

_T = TypeVar("_T")
_E = TypeVar("_E", Error, Response)

#: The message of an error in events.
PROVIDER_FAILED = "the provider failed"
#: The type of an error is a word of the provider. Other texts may contain anything.
_TYPE = re.compile(r"[A-Za-z][A-Za-z_.-]{0,63}")
_STATUS = ", status "
#: The kinds of `patterns.PATTERNS` that identify someone and give no access.
ACCOUNTS = frozenset(("e-mail address", "organisation id", "project id", "request id", "user id", "account id"))
#: The shortest value of an environment variable that is searched for.
_SHORTEST = 8
#: A string in JSON.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
#: Characters that JSON may escape.
_ESCAPED = re.compile(r'["\\\x00-\x1f]|[^\x00-\x7f]')


def scrubbed(text: str, *, accounts: bool = True) -> str:
    """Return the text with a placeholder for each credential: by its form, or as the value of a secret variable.

    ``accounts``: replace e-mail addresses and ids of accounts, too. A model may need those in the error of a tool.
    """
    return _scrubber(text, accounts)(text)


def without_credentials(value: _T, *, accounts: bool = True) -> _T:
    """Return a struct or JSON value with every string in it `scrubbed`, or the same object if that changes nothing.

    Strings are decoded first, because the letter of an escape would belong to the word after it. Each keeps what
    precedes it, because a name or a word before a value can mark it as a secret.
    """
    text = json_codec.text(value)
    scrub, written, end, before = _scrubber(text, accounts), list[str](), 0, ""
    for match in _STRING.finditer(text):
        between, literal = text[end : match.start()], match[0]
        own: str = json_codec.decode(literal)
        lead = f'"{before}"{between}"' if between in (":", ",") else '"'
        whole = scrub(f'{lead}{own}"')
        clean = whole[len(lead) : -1] if whole.startswith(lead) else scrub(own)
        written += between, literal if clean == own else json_codec.text(clean)
        end, before = match.end(), own
    changed = "".join(written) + text[end:]
    return value if changed == text else json_codec.convert(json_codec.decode(changed), type(value))


def _scrubber(whole: str, accounts: bool) -> Callable[[str], str]:
    """Return a function that scrubs texts of which ``whole`` consists, as they are or in JSON."""
    from . import names, patterns  # many regular expressions, which only errors need
    from .placeholder import placeholder

    long = ((name, value) for name, value in os.environ.items() if len(value) >= _SHORTEST)
    within = ((name, value) for name, value in long if value in whole or _ESCAPED.search(value))
    values = [value for name, value in within if names.is_secret(name, value)]
    forms = [form for form in patterns.patterns_in(whole) if accounts or form.kind not in ACCOUNTS]

    def scrub(text: str) -> str:
        for value in values:
            text = text.replace(value, placeholder(value)) if value in text else text
        for form in forms:
            for match in reversed([*patterns.matches(form, text)]):  # a spelled placeholder can have another length
                text = text[: match.start] + match.spelled + text[match.start + match.length :]
        return text

    return scrub


def public(error: Error) -> Error:
    """Return the part of a provider's error that clients may see: its type, its status, and whether to try again."""
    type = error.type if _TYPE.fullmatch(error.type) else "error"
    return Error(type, PROVIDER_FAILED, error.status, error.retryable)


def public_text(error: Error) -> str:
    """Return `public` as a text."""
    return public(error).type + (f"{_STATUS}{error.status}" if error.status else "")


def kind_and_status(text: str) -> tuple[str, int | None]:
    """Return the type and the status in a `public_text`. Earlier versions wrote the type and the message."""
    kind, _, status = text.partition(_STATUS)
    return kind.partition(": ")[0], int(status) if status.isdigit() else None


def storable(value: _E) -> _E:
    """Return an error, or a response with an error, as the turn log stores it."""
    return value if isinstance(value, Response) and value.error is None else without_credentials(value)


def _scrub(record: logging.LogRecord) -> bool:
    """Scrub a log line and its traceback."""
    text = record.getMessage()
    if (clean := scrubbed(text)) != text:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[1] is not None:
        text = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
        if (clean := scrubbed(text)) != text:
            record.exc_info, record.exc_text = None, clean
    return True


logging.getLogger("toolparity").addFilter(_scrub)
