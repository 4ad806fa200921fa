"""Where a text has names that can mark a secret."""

from __future__ import annotations

import re
from functools import lru_cache

from .names import FOREIGN, Certainty, certainty_of, is_harmless

#: Every name of a secret contains one of these.
NAMED = (
    *("key", "token", "secret", "pass", "pwd", "phrase", "mnemonic"),
    *(
        "auth",
        "cookie",
        "credential",
        "bearer",
        "jwt",
        "pat",
        "dsn",
        "pw",
        "psk",
        "pswd",
        "clave",
        "sas",
        "pem",
        "seed",
    ),
    *("pin", "otp", "cvv", "_code", "code", "verifier", "assertion", "answer", "identified by", "login"),
    *(word for word in FOREIGN if word.isascii()),
)
#: The same, with words that are not ASCII.
ALL_NAMED = NAMED + tuple(word for word in FOREIGN if not word.isascii())
#: A quote, which JSON in JSON escapes.
QUOTE = r"""\\*["']"""
_NAME_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
#: Names that have blanks, or marks that do not count as letters.
_OF_MARKS = [word for word in FOREIGN if re.fullmatch(r"\w+", word) is None]
#: Names are words that other words can precede: ``API key``. Some have blanks inside.
_NAME = re.compile(rf"(?:{'|'.join(_OF_MARKS)})|identified by|[\w.-]{{0,120}}[\w-]", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"(?<![\w.-])([A-Za-z]+) $")
#: A member whose value is a number or a constant, such as the tokens of a usage.
_NO_TEXT = re.compile(r"[\w.-]{0,60}\\*[\"']\s*:\s*(?:-?[0-9]|true|false|null)")


#: How many characters of a name precede its hint: longer ones are data.
_LONGEST_BEFORE = 100


def _is_letter(char: str) -> bool:
    return char > "\x7f" and char.isalpha()


@lru_cache(maxsize=4)  # several forms look for names in the same text
def places(text: str) -> list[int]:
    """Return where names of `NAMED` begin, in order."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become longer
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    seen: set[int] = set()
    starts: set[int] = set()
    for hint in NAMED if text.isascii() else ALL_NAMED:
        at = -1
        while (at := lowered.find(hint, at + 1)) >= 0:
            start = at
            first = max(at - _LONGEST_BEFORE, 0)
            while start > first and (text[start - 1] in _NAME_CHARS or _is_letter(text[start - 1])):
                start -= 1
            if start in seen or (start == first > 0 and text[start - 1] in _NAME_CHARS):
                continue
            seen.add(start)
            if not _NO_TEXT.match(text, at):
                starts.add(start)
    return sorted(starts)


def name_at(text: str, start: int) -> tuple[str, int] | None:
    """Return the name at a place and its end, if it can mark a secret, with the word before it if that decides."""
    found = _NAME.match(text, start)
    if found is None:
        return None
    name = found[0]
    before = _WORD_BEFORE.search(text, max(start - 24, 0), start)
    if before is not None:
        longer = f"{before[1]} {name}"
        if certainty_of(longer).value > certainty_of(name).value or is_harmless(longer):
            name = longer
    return (name, found.end()) if certainty_of(name) is not Certainty.NOTHING else None
