"""Conversion of exceptions to text that can be encoded, stored and logged, even if their `str()` raises."""

from __future__ import annotations

#: Maximum characters of an exception's message in an error or a log.
_MOST = 10_000


def message(error: BaseException) -> str:
    """Return the message of an exception, "" if it is empty or ``str()`` raises. Lone surrogates are escaped."""
    try:
        text = str(error)
        return text.encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return ""


def shortened(text: str, most: int | None = _MOST) -> str:
    """Return the text, cut to ``most`` characters with a note of its length. None: no limit."""
    return text if most is None or len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def described(error: BaseException, most: int | None = _MOST) -> str:
    """Return the type and the message of an exception, the message cut to ``most`` characters. None: no limit."""
    text = shortened(message(error), most)
    name = type(error).__name__
    return f"{name}: {text}" if text else name
