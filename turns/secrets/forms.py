"""Forms of secrets: their types, and what a value must look like."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from . import names
from .names import entropy, is_mixed
from .placeholder import is_placeholder


class Form:
    """A regular expression that is compiled when a text has its hint: most are never needed."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self.text = text
        self.flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.text, self.flags)


class SecretPattern(NamedTuple):
    """One form of secret. ``plausible`` may reject a match.

    ``named``: the pattern's group ``name`` holds the name of the value, which `names` must accept. ``core``: the
    pattern without its condition on what precedes it, which Python searches much faster; it is searched first.
    ``leads``: each match begins with a hint. ``member``: the form of a member of JSON, which only a document as a whole
    shows. ``dense``: each match is one long word, so that hints are looked for in long words only. ``find``: yields
    (name, start, end) of the values, in the place of a pattern.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: Form | None = None
    strong: bool = False
    plausible: Callable[[str], bool] = lambda text: True
    named: bool = False
    core: Form | None = None
    leads: bool = False
    member: bool = False
    dense: bool = False
    find: Callable[[str], Iterator[tuple[str, int, int]]] | None = None


class Match(NamedTuple):
    """A match: replace ``secret`` at ``start`` by ``stand_in``.

    ``length``: the characters in the text. They are more than in the secret if JSON escapes some of it.
    """

    kind: str
    start: int
    secret: str
    stand_in: str
    length: int

    @property
    def spelled(self) -> str:
        """Return the placeholder as the text spells it."""
        return self.stand_in if self.length == len(self.secret) else json.dumps(self.stand_in)[1:-1]


def is_key(text: str) -> bool:
    """Return whether a text is mixed, or is as random as letters alone can be (Hugging Face's tokens)."""
    if is_mixed(text):
        return True
    return entropy(text) >= 4.2 if text.lower() != text != text.upper() else len(text) >= 30 and entropy(text) >= 3.6


def is_random_key(text: str) -> bool:
    """Return whether a text after ``sk-`` is a key, unlike the names of classes (``sk-container-id-12``)."""
    return names.is_random(text) or (text.lower() != text != text.upper() and entropy(text) >= 4.2)


def is_long(text: str) -> bool:
    return is_mixed(text) or (len(text) >= 40 and not re.search(r"[a-z]{4,}[-_.][a-z]{3,}", text))


def is_chosen(text: str) -> bool:
    """Return False for plain words and hand-written placeholders (``<token>``, ``${TOKEN}``, ``***``, ``xxxx``)."""
    words = len(text) < 24 and _WORDS.fullmatch(text) is not None and not is_pair(text)
    return not words and text[0] not in "<${[*" and len(set(text)) > 3 and " " not in text and not is_mask(text)


def is_pair(text: str) -> bool:
    """Return whether a text is base64 of ``name:password``."""
    try:
        pair = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return b":" in pair[1:-1] and pair.isascii() and pair.decode("ascii").isprintable()


def is_mask(text: str) -> bool:
    """Return whether a text consists of words, one of which says that it replaces a secret: ``test_api_key``."""
    return _NUMBERED.fullmatch(text) is not None and not _MASKS.isdisjoint(_SEPARATOR.split(text.lower()))


def is_id(text: str) -> bool:
    return names.UUID.fullmatch(text) is not None or (len(text) >= 16 and is_mixed(text))


def is_personal(address: str) -> bool:
    """Return whether an address can be a person's: not in RFC 2606's domains, not a no-reply sender."""
    local, _, domain = address.lower().partition("@")
    if is_placeholder(address.partition("@")[0]) or local in _NOBODY:  # credentials before a host were already replaced
        return False
    labels = domain.split(".")
    return labels[-1] not in _RESERVED_TLDS and labels[-2] != "example" and labels[-1] not in _FILE_ENDINGS


_NOBODY = frozenset({"git", "noreply", "no-reply", "donotreply", "do-not-reply"})
_RESERVED_TLDS = frozenset({"test", "example", "invalid", "localhost", "local", "internal"})
#: ``icon@2x.png``, ``loader@1.0.js``: the part after the last dot is a file suffix, not a domain.
_FILE_ENDINGS = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "css", "json", "html", "py"})

_SEPARATOR = re.compile("[-_. ]+")
_NUMBERED = re.compile(r"[A-Za-z]+(?:[-_. ]+[A-Za-z]+)*(?:[-_. ]*[0-9]{1,3})?")
_MASKS = frozenset(
    {
        *("redacted", "filtered", "dummy", "fake", "mock", "mocked", "masked", "scrubbed", "sanitized", "placeholder"),
        *("removed", "hidden", "example", "your", "my", "test", "testing", "sample", "changeme", "insert", "some"),
    }
)
_WORDS = re.compile(r"[A-Za-z]+(?:[-_][A-Za-z]+)*")
