"""Unwrapping: finds entries that a collector of logs, a database or an export has put inside other members.

{"log": "{\\"request\\": …}\\n", "stream": "stdout"}         a container
{"hits": {"hits": [{"_source": {"request": …}}]}}            a search
{"records": [{"properties": {"backendRequestBody": …}}]}     a gateway
{"message": "INFO request={…} response={…}"}                 a line of a program
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource
from . import traffic_marks
from .json_text import objects_in, parsed

#: Members that hold entries: an object, a list of objects, or the JSON text of either.
MEMBERS = (
    *("data", "observations", "runs", "items", "results", "spans", "records", "logs", "hits", "rows", "events"),
    *("_source", "message", "log", "attributes", "properties"),
    *("Entries", "entries", "mappings", "requests", "interactions", "http_interactions"),  # recorders
    *("jsonPayload", "textPayload", "fields", "line", "MESSAGE", "requestOptions"),
)
#: Members that hold a line of a log, which can be plain text.
LINES = ("message", "log", "line", "MESSAGE", "textPayload")
#: How many members inside each other are searched.
_DEEPEST = 4


class Found(NamedTuple):
    """An entry, and the members inside which it is: ``hits > _source``."""

    entry: dict[str, Any]
    where: str


class Wrapped(NamedTuple):
    """The entries inside an object, and how many elements beside them are none."""

    entries: list[Found]
    others: int


_IsEntry = Callable[[dict[str, Any]], bool]


class _Rules(NamedTuple):
    is_entry: _IsEntry
    is_together: _IsEntry


def entries(item: dict[str, Any], is_entry: _IsEntry, is_together: _IsEntry | None = None) -> Wrapped:
    """Return the entries inside an object, which is none itself.

    ``is_together``: whether the objects of a text, by their names, are an entry together; by default ``is_entry``.
    """
    found = [*_inside(item, _Rules(is_entry, is_together or is_entry), _DEEPEST, "")]
    return Wrapped([entry for entry in found if entry is not None], sum(entry is None for entry in found))


def is_text(item: dict[str, Any]) -> bool:
    """Return whether an object is a line of a program without traffic, as programs write it beside entries.

    Raises UnreadableSource if the line or a member beside it shows traffic, or if it is JSON that is not complete.
    """
    text = next((text for name in LINES if isinstance(text := item.get(name), str)), None)
    if text is not None and (
        traffic_marks.in_entry(json_codec.encode(item)) or (text.lstrip()[:1] == "{" and parsed(text) is text)
    ):
        raise UnreadableSource(
            "a text shows traffic, but no JSON that is complete and known", hint="log bodies as JSON"
        )
    return text is not None


def _inside(item: dict[str, Any], rules: _Rules, deepest: int, above: str) -> Iterator[Found | None]:
    """Yield each entry, and None for each element beside an entry that is not one."""
    for name in MEMBERS if deepest else ():
        value, where = parsed(item.get(name)), above + name
        if isinstance(value, str) and name in LINES:
            found, is_list = [[*_in_text(value, rules, deepest, where)]], False
        else:
            elements, is_list = (value, True) if isinstance(value, list) else ([value], False)
            found = [[*_of(parsed(element), rules, deepest, where)] for element in elements]
        if any(found):
            for entries in found:
                yield from entries or (None,)
            if not is_list:  # the other members describe it
                return


def _of(element: Any, rules: _Rules, deepest: int, where: str) -> Iterator[Found | None]:
    if isinstance(element, dict):
        if rules.is_entry(element):
            yield Found(element, where)
        else:
            yield from _inside(element, rules, deepest - 1, f"{where} > ")


def _in_text(text: str, rules: _Rules, deepest: int, where: str) -> Iterator[Found | None]:
    """Yield what the JSON objects of a text hold together, or each of them, and None for other traffic beside it."""
    objects, rest = objects_in(text)
    where = f"{where} (text)"
    if len(objects) > 1 and rules.is_together(objects):
        yield Found(objects, where)
        return
    found = [[*_of(one, rules, deepest, where)] for one in objects.values()]
    if any(found):
        for entries, one in zip(found, objects.values(), strict=True):
            yield from entries or ((None,) if traffic_marks.in_entry(json_codec.encode(one)) else ())
        if traffic_marks.in_entry(rest):
            yield None
