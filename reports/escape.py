"""Escaping and shortening of third-party text, so that it cannot hide anything or control a terminal or a page."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    r"""Return the text with every invisible character as an escape: ``\x1b``, ``\u202e``, ``\ud83d``, ``\n``.

    This covers control characters, direction marks, joiners, unusual spaces, lone surrogates and noncharacters. The
    characters of ``keep`` are not escaped.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _spelled(c) for c in text)


def cut(text: str, most: int) -> str:
    """Return the text, or its first ``most`` characters and a note with its length."""
    return text if len(text) <= most else f"{text[:most]}… [of {len(text):,} characters]"


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()
