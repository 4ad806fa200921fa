"""Unwrapping: finds entries that a collector of logs, a database or an export has put inside other members.

{"log": "{\\"request\\": …}\\n", "stream": "stdout"}         a container
{"hits": {"hits": [{"_source": {"request": …}}]}}            a search
{"records": [{"properties": {"backendRequestBody": …}}]}     a gateway
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .json_text import parsed

#: Members that hold entries: an object, a list of objects, or the JSON text of either.
MEMBERS = (
    *("data", "observations", "runs", "items", "results", "spans", "records", "logs", "hits", "rows", "events"),
    *("_source", "message", "log", "attributes", "properties"),
    *("jsonPayload", "textPayload", "fields", "line", "MESSAGE"),
)
#: Members that hold a line of a log, which can be plain text.
_LINES = ("message", "log", "line", "MESSAGE", "textPayload")
#: How many members inside each other are searched.
_DEEPEST = 4


class Wrapped(NamedTuple):
    """The entries inside an object, and how many elements of their lists are none."""

    entries: list[dict[str, Any]]
    others: int


def entries(item: dict[str, Any], is_entry: Callable[[dict[str, Any]], bool]) -> Wrapped:
    """Return the entries inside an object, which is none itself."""
    found = [*_inside(item, is_entry, _DEEPEST)]
    return Wrapped([entry for entry in found if entry is not None], sum(entry is None for entry in found))


def is_text(item: dict[str, Any]) -> bool:
    """Return whether an object is a line of plain text, as programs write it beside entries."""
    return any(isinstance(text := item.get(name), str) and text.lstrip()[:1] not in ("{", "[") for name in _LINES)


def _inside(
    item: dict[str, Any], is_entry: Callable[[dict[str, Any]], bool], deepest: int
) -> Iterator[dict[str, Any] | None]:
    """Yield each entry, and None for each element beside an entry that is not one."""
    for name in MEMBERS if deepest else ():
        value = parsed(item.get(name))
        elements = value if isinstance(value, list) else [value]
        found = [[*_of(parsed(element), is_entry, deepest)] for element in elements]
        if any(found):
            for entries in found:
                yield from entries or (None,)
            if not isinstance(value, list):  # the other members describe it
                return


def _of(element: Any, is_entry: Callable[[dict[str, Any]], bool], deepest: int) -> Iterator[dict[str, Any] | None]:
    if isinstance(element, dict):
        yield from (element,) if is_entry(element) else _inside(element, is_entry, deepest - 1)
