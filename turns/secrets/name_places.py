"""Where a text has names that can mark a secret."""

from __future__ import annotations

import re
from functools import lru_cache

from .names import FOREIGN

#: Every name of a secret contains one of these.
NAMED = (
    *("key", "token", "secret", "pass", "pwd", "phrase", "mnemonic"),
    *("auth", "cookie", "credential", "bearer", "jwt", "pat", "dsn"),
    *(word for word in FOREIGN if word.isascii()),
)
#: The same, with words that are not ASCII.
ALL_NAMED = NAMED + tuple(word for word in FOREIGN if not word.isascii())
#: A quote, which JSON in JSON escapes.
QUOTE = r"""\\*["']"""
_NAME_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_QUOTED = re.compile(r"([\"'])[\w.-]+(?: [\w.-]+)* $")
#: A member whose value is a number or a constant, such as the tokens of a usage.
_NO_TEXT = re.compile(r"[\w.-]*\\*[\"']\s*:\s*(?:-?[0-9]|true|false|null)")


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
            while start > 0 and (text[start - 1] in _NAME_CHARS or _is_letter(text[start - 1])):
                start -= 1
            if start in seen:
                continue
            seen.add(start)
            if _NO_TEXT.match(text, at):
                continue
            starts.add(start)
            if text[start - 1 : start] == " " and (quoted := _QUOTED.search(text, max(start - 40, 0), start)):
                starts.add(quoted.end(1))  # "API key"
    return sorted(starts)
