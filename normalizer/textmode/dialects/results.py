"""Helpers for writing and parsing the results of calls."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ..dialect import WrittenResult
from ..parsers.json_scan import JsonScanner
from ..tags import after_space


def result_text(result: WrittenResult) -> str:
    """Return the text of a result in a dialect without a tag for errors."""
    return f"Error: {result.text}" if result.is_error else result.text


def contents(text: str, opening: str, closing: str) -> list[str] | None:
    """Return the content of consecutive tags; None if the text contains anything else but white space."""
    found = tagged_contents(text, (opening, closing))
    return None if found is None else [inner for _, inner in found]


def tagged_contents(text: str, *tags: tuple[str, str]) -> list[tuple[int, str]] | None:
    """Do the same as `contents` for several kinds of tags; each content comes with the index of its kind.

    JSON content is scanned to its end, because its strings may contain the closing tag. After one content that is not
    JSON, the rest is not scanned as JSON, so no text is read more than twice.
    """
    found: list[tuple[int, str]] = []
    at, size, json = after_space(text, 0), len(text), True
    while at < size:
        kind = next((n for n, (opening, _) in enumerate(tags) if text.startswith(opening, at)), None)
        if kind is None:
            return None
        opening, closing = tags[kind]
        at += len(opening)
        start, end = after_space(text, at), -1
        if json and text.startswith(("{", "["), start):
            end = _behind_json(text, start, closing)
            json = end >= 0
        if end < 0:
            end = text.find(closing, at)
        if end < 0:
            return None
        found.append((kind, text[at:end]))
        at = after_space(text, end + len(closing))
    return found or None


def _behind_json(text: str, start: int, closing: str) -> int:
    """Return the index of the closing tag that directly follows the JSON at an index; -1 if there is none."""
    value = JsonScanner()
    behind = value.feed(text, start, final=True)
    end = text.find(closing, behind, after_space(text, behind) + len(closing)) if value.done else -1
    return end if end >= 0 and _decoded(text[start:behind]) is not None else -1


def _decoded(spelled: str) -> Any:
    try:
        return json_codec.decode(spelled)
    except (ValueError, RecursionError):
        return None


def json_member(spelled: str, key: str) -> tuple[dict[str, Any], str] | None:
    """Return a JSON object and its member ``key`` as text; None if the text is not an object with that member."""
    value = _decoded(spelled)
    if not isinstance(value, dict) or key not in value:
        return None
    content = value[key]
    return value, content if isinstance(content, str) else json_codec.text(content)
