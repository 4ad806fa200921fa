"""Exceptions as text that can be sent, kept and logged, whatever their `str()` does."""

from __future__ import annotations

#: Characters of a message where an exception is quoted in an error or a log.
_MOST = 10_000


def message(error: BaseException) -> str:
    """The message of an exception, "" where it has none, or where ``str()`` raises. Half surrogates are escaped."""
    try:
        text = str(error)
        return text.encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return ""


def shortened(text: str, most: int | None = _MOST) -> str:
    """The text, cut to ``most`` characters, with a note of how many it had."""
    return text if most is None or len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def described(error: BaseException, most: int | None = _MOST) -> str:
    """Its type and its message, cut to ``most`` characters."""
    text = shortened(message(error), most)
    name = type(error).__name__
    return f"{name}: {text}" if text else name
