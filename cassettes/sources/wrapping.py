"""Unwrapping: finds entries that a collector of logs, a database or an export has put inside other members.

{"log": "{\\"request\\": …}\\n", "stream": "stdout"}         a container
{"hits": {"hits": [{"_source": {"request": …}}]}}            a search
{"records": [{"properties": {"backendRequestBody": …}}]}     a gateway
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from toolparity.normalizer import json_codec

#: Members that hold entries: an object, a list of objects, or the JSON text of either.
MEMBERS = (
    *("data", "observations", "runs", "items", "results", "spans", "records", "logs", "hits", "rows", "events"),
    *(
        "_source",
        "message",
        "log",
        "attributes",
        "properties",
        "jsonPayload",
        "textPayload",
        "fields",
        "line",
        "MESSAGE",
    ),
)
#: How many members inside each other are searched.
_DEEPEST = 4


def entries(item: dict[str, Any], is_entry: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Return the entries inside an object, which is none itself; an empty list if there are none."""
    return list(_inside(item, is_entry, _DEEPEST))


def _inside(item: dict[str, Any], is_entry: Callable[[dict[str, Any]], bool], deepest: int) -> Iterator[dict[str, Any]]:
    for name in MEMBERS if deepest else ():
        found = False
        for value in _objects(item.get(name)):
            if is_entry(value):
                found = True
                yield value
            else:
                for entry in _inside(value, is_entry, deepest - 1):
                    found = True
                    yield entry
        if found:
            return


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    value = _decoded(value)
    for one in value if isinstance(value, list) else (value,):
        if isinstance(one := _decoded(one), dict):
            yield one


def _decoded(value: Any) -> Any:
    """Return the value of JSON text, and any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json_codec.decode(value)
        except (ValueError, RecursionError):
            return value
    return value
