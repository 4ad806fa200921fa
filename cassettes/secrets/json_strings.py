"""The strings of streamed JSON, by the path on which a reader puts them together.

A delta repeats one path event after event (``choices.delta.content``, ``delta.partial_json``): what stands on one path
is one text. Where several texts are streamed at once, the numbers beside them (``index``, ``output_index``,
``content_index``, …) tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Span = tuple[int, int]

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
#: Lines end in CR, LF or both, and "^" knows but one (https://html.spec.whatwg.org/multipage/server-sent-events.html).
_DATA_LINE = re.compile(r"(?<![^\r\n])data:[ \t]?([^\r\n]*)")
_OBJECT_LINE = re.compile(r"(?<![^\r\n])[ \t]*(\{[^\r\n]*)")
#: A stream may come as one array, an item an event, as Google's does. Other arrays are no streams.
_ARRAY = re.compile(r'\s*\[\s*\{.*?"(?:candidates|choices|delta)"', re.DOTALL)


class Leaf(NamedTuple):
    """A string value: the names on the way to it, the objects it stands in, and where it stands between its quotes."""

    path: tuple[str, ...]
    holders: tuple[dict[str, str], ...]  # of each object above it, the members that number it
    span: Span


def streamed_texts(text: str) -> Iterator[list[Span]]:
    """The pieces (spans between the quotes) of each text that ``text``, a body, streams; nothing where it does not.

    A body that is one JSON document streams nothing, with two exceptions: an array of a stream's events, and a
    recorded gRPC answer, whose messages are the events. A request's ``messages`` are texts of their own.
    """
    events = _events(text)
    if len(events) > 1:
        streamed: Iterator[Leaf] = (leaf for start, end in events for leaf in leaves(text, start, end))
    elif _ARRAY.match(text):
        streamed = leaves(text, 0, len(text))
    elif '"messages"' in text and '"serialized"' in text:
        streamed = _of_grpc(list(leaves(text, 0, len(text))))
    else:
        return
    texts: dict[tuple[object, ...], list[Span]] = {}
    for leaf in list(streamed):  # all of them first: a number may follow the text that it numbers
        numbers = tuple(tuple(sorted(holder.items())) for holder in leaf.holders)
        texts.setdefault((leaf.path, numbers), []).append(leaf.span)
    yield from (spans for spans in texts.values() if len(spans) > 1)


def _of_grpc(found: list[Leaf]) -> Iterator[Leaf]:
    """The leaves of recorded messages: what stands in an item of the top's ``messages`` that has ``serialized``."""
    recorded = {id(leaf.holders[1]) for leaf in found if _named(leaf) == ("messages", "serialized")}
    for leaf in found:
        if _named(leaf)[:1] == ("messages",) and len(leaf.holders) > 1 and id(leaf.holders[1]) in recorded:
            yield leaf


def _named(leaf: Leaf) -> tuple[str, ...]:
    """The names on the way; an array's items have none."""
    return tuple(filter(None, leaf.path))


def _events(text: str) -> list[Span]:
    spans = [found.span(1) for found in _DATA_LINE.finditer(text)]
    if not spans and text.lstrip()[:1] == "{":
        spans = [found.span(1) for found in _OBJECT_LINE.finditer(text)]
    return spans if len(spans) > 1 else [(0, len(text))]


def leaves(text: str, start: int, end: int) -> Iterator[Leaf]:
    """Every string value of one JSON document; of one that is cut, those before the cut."""
    path: list[str] = []
    holders: list[dict[str, str]] = []
    objects: list[bool] = []  # what is open: an object, or an array
    name = ""
    value_next = False
    for found in _TOKEN.finditer(text, start, end):
        token = found.group()
        first = token[0]
        if first == '"':
            if objects and objects[-1] and not value_next:
                name = token[1:-1]
            else:
                yield Leaf((*path, name), tuple(holders), (found.start() + 1, found.end() - 1))
        elif first == ":":
            value_next = True
        elif first == ",":
            value_next = False
        elif first in "{[":
            objects.append(first == "{")
            path.append(name)
            if first == "{":
                holders.append({})
            value_next, name = False, ""
        elif first in "}]":
            if not objects:
                return
            if objects.pop():
                holders.pop()
            name = path.pop()
            value_next = False
        elif value_next and holders and objects[-1] and (name == "index" or name.endswith("_index")):
            holders[-1][name] = token
