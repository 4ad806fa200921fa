"""Exceptions of called code: which of them are ordinary failures, and their text for results and logs."""

from __future__ import annotations

import asyncio

from ..secrets import scrubbed

#: Exceptions that end the program. If a tool raises one, it counts as a failure of the tool.
EXITS = (KeyboardInterrupt, SystemExit)
#: Maximum characters of an exception's message in an error or a log.
_MAX_TEXT = 10_000
#: A credential that is cut after so many characters is still recognized by what is left of it.
_LONGEST_CREDENTIAL = 4_000


def is_failure(error: BaseException) -> bool:
    """Return whether the error is an ordinary failure: it ends neither the program nor the running task."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() == 0  # else the running task itself is being cancelled
    return not isinstance(error, EXITS)


def message(error: BaseException, max_length: int | None = None) -> str:
    """Return the message of an exception without credentials, "" if it is empty. Lone surrogates are escaped.

    ``max_length``: cut it. Only what is kept is searched, and enough behind it to recognize a credential at its end.
    """
    whole = whole_message(error)
    kept = whole if max_length is None else whole[: max_length + _LONGEST_CREDENTIAL]
    return shortened(scrubbed(kept, accounts=False), max_length, len(whole))


def whole_message(error: BaseException) -> str:
    """Return the unchanged message of an exception, "" if it is empty or ``str()`` raises."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return ""


def shortened(text: str, max_length: int | None = _MAX_TEXT, length: int | None = None) -> str:
    """Return the text, cut to ``max_length`` characters with a note of its ``length``. None: no limit; its own."""
    if max_length is None or len(text) <= max_length:
        return text
    return f"{text[:max_length]}… ({length or len(text)} characters)"


def described(error: BaseException, max_length: int | None = _MAX_TEXT) -> str:
    """Return the type and the message of an exception, the message cut to ``max_length`` characters."""
    text = message(error, max_length)
    name = type(error).__name__
    return f"{name}: {text}" if text else name
