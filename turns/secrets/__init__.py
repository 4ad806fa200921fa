"""What others may see of an error: no credential of any text, and nothing but the kind of a provider's error.

`outcome.Outcome.error` is the whole error, for the program. Events have `public`. The turn log has the whole error
after `scrubbed`, which tool results, log lines and errors of MCP servers pass, too.
"""

from __future__ import annotations

import logging
import os
import re
import traceback
from typing import TypeVar

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Error, Response

_T = TypeVar("_T", Error, Response)

#: The message of an error in events.
PROVIDER_FAILED = "the provider failed"
#: The type of an error is a word of the provider. Other texts may contain anything.
_TYPE = re.compile(r"[A-Za-z][A-Za-z_.-]{0,63}")
_STATUS = ", status "
#: The kinds of `patterns.PATTERNS` that identify someone and give no access.
ACCOUNTS = frozenset(("e-mail address", "organisation id", "project id", "request id", "user id", "account id"))
#: The shortest value of an environment variable that is searched for.
_SHORTEST = 8


def scrubbed(text: str, *, accounts: bool = True) -> str:
    """Return the text with a placeholder for each credential: by its form, or as the value of a secret variable.

    ``accounts``: replace e-mail addresses and ids of accounts, too. A model may need those in the error of a tool.
    """
    from . import names, patterns  # many regular expressions, which only errors need
    from .placeholder import placeholder

    for name, value in os.environ.items():
        if len(value) >= _SHORTEST and value in text and names.is_secret(name, value):
            text = text.replace(value, placeholder(value))
    for form in patterns.patterns_in(text):
        if not accounts and form.kind in ACCOUNTS:
            continue
        for match in reversed([*patterns.matches(form, text)]):  # a spelled placeholder can have another length
            text = text[: match.start] + match.spelled + text[match.start + match.length :]
    return text


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


def storable(value: _T) -> _T:
    """Return an error, or a response with an error, as the turn log stores it."""
    if isinstance(value, Response) and value.error is None:
        return value
    return json_codec.decoder(type(value))(scrubbed(json_codec.text(value)).encode())


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
