"""The strings of streamed JSON, grouped by the path on which a reader concatenates them.

A delta repeats one path in every event (``choices.delta.content``, ``delta.partial_json``), and the strings on that
path form one text. If several texts are streamed at once, the numbers beside them (``index``, ``output_index``,
``content_index``, …) distinguish them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Span = tuple[int, int]

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
#: Lines end in CR, LF or both, but "^" matches only after LF
#: (https://html.spec.whatwg.org/multipage/server-sent-events.html).
_DATA_LINE = re.compile(r"(?<![^\r\n])data:[ \t]?([^\r\n]*)")
_OBJECT_LINE = re.compile(r"(?<![^\r\n])[ \t]*(\{[^\r\n]*)")
#: A stream may be one array with an item per event, like Google's. Other arrays are not streams.
_ARRAY = re.compile(r'\s*\[\s*\{.*?"(?:candidates|choices|delta)"', re.DOTALL)


class Leaf(NamedTuple):
    """A string value: the names on the path to it, the objects that contain it, and its span between the quotes."""

    path: tuple[str, ...]
    holders: tuple[dict[str, str], ...]  # for each object above it: its index members
    span: Span


def streamed_texts(text: str) -> Iterator[list[Span]]:
    """Yield the spans (between the quotes) of each text that a body streams in pieces; nothing for other bodies.

    A body that is a single JSON document is not a stream, with two exceptions: an array of stream events, and a
    recorded gRPC response, whose messages are the events. The ``messages`` of a request are separate texts.
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
    for leaf in list(streamed):  # collect all first: an index may follow its text
        numbers = tuple(tuple(sorted(holder.items())) for holder in leaf.holders)
        texts.setdefault((leaf.path, numbers), []).append(leaf.span)
    yield from (spans for spans in texts.values() if len(spans) > 1)


def _of_grpc(all_leaves: list[Leaf]) -> Iterator[Leaf]:
    """Yield the leaves of recorded messages: items of the top-level ``messages`` that have ``serialized``."""
    recorded = {id(leaf.holders[1]) for leaf in all_leaves if _named(leaf) == ("messages", "serialized")}
    for leaf in all_leaves:
        if _named(leaf)[:1] == ("messages",) and len(leaf.holders) > 1 and id(leaf.holders[1]) in recorded:
            yield leaf


def _named(leaf: Leaf) -> tuple[str, ...]:
    """Return the names on the path; array items have none."""
    return tuple(filter(None, leaf.path))


def _events(text: str) -> list[Span]:
    spans = [match.span(1) for match in _DATA_LINE.finditer(text)] if "data:" in text else []
    if not spans and text.lstrip()[:1] == "{":
        spans = [match.span(1) for match in _OBJECT_LINE.finditer(text)]
    return spans if len(spans) > 1 else [(0, len(text))]


def leaves(text: str, start: int, end: int) -> Iterator[Leaf]:
    """Yield every string value of one JSON document; of a truncated one, those before the cut."""
    path: list[str] = []
    holders: list[dict[str, str]] = []
    objects: list[bool] = []  # per open collection: whether it is an object
    name = ""
    value_next = False
    for match in _TOKEN.finditer(text, start, end):
        token = match.group()
        first = token[0]
        if first == '"':
            if objects and objects[-1] and not value_next:
                name = token[1:-1]
            else:
                yield Leaf((*path, name), tuple(holders), (match.start() + 1, match.end() - 1))
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
