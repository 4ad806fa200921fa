"""Scrubbing of recorded gRPC bodies: ``{"messages": [{"message": …, "serialized": "<base64>"}, …]}``.

The readable halves are JSON and are scrubbed like streamed JSON. Their changes are copied into the serialized halves,
so that both agree. If the type was unknown during recording, the readable half is missing; then the serialized messages
are scrubbed together, field by field.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator

from . import protowire
from .json_strings import Leaf, Span, leaves


def carried(before: str, after: str) -> str:
    """Return ``after`` with the changes of its readable halves also written into the serialized halves.

    A text is located among the fields of its message by equality; equal texts are matched in order.
    """
    if before == after or '"serialized"' not in before:
        return after
    for readable, (start, end) in _entries(before):
        news: dict[str, list[str]] = {}
        for low, high in readable:
            news.setdefault(_decoded(before[low:high]), []).append(_decoded(after[low:high]))
        changed = {old: new for old, new in news.items() if set(new) != {old}}
        data = _from_base64(before[start:end])
        if changed and data is not None:
            after = after[:start] + base64.b64encode(_written(data, changed)).decode() + after[end:]
    return after


def rewritten(body: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """Apply ``change``, which must keep lengths, to the messages of ``body`` that have no readable half."""
    if b'"serialized"' not in body or b'"messages"' not in body or not body.lstrip().startswith(b"{"):
        return body
    text = body.decode("utf-8", "surrogateescape")
    spans = [span for readable, span in _entries(text) if not readable]
    messages = [data for start, end in spans if (data := _from_base64(text[start:end])) is not None]
    if len(messages) < 2 or len(messages) < len(spans):
        return body
    for (start, end), message in zip(spans, change(messages), strict=True):
        text = text[:start] + base64.b64encode(message).decode() + text[end:]
    return text.encode("utf-8", "surrogateescape")


def _entries(text: str) -> Iterator[tuple[list[Span], Span]]:
    """Yield, for each message, the spans of its readable half's texts and the span of its serialized half."""
    entries: dict[int, tuple[list[Leaf], list[Span]]] = {}
    for leaf in list(leaves(text, 0, len(text))):
        path = tuple(filter(None, leaf.path))
        if path[:1] != ("messages",) or len(leaf.holders) < 2:
            continue
        readable, serialized = entries.setdefault(id(leaf.holders[1]), ([], []))
        if path == ("messages", "serialized"):
            serialized.append(leaf.span)
        elif path[1:2] == ("message",):
            readable.append(leaf)
    yield from (([leaf.span for leaf in readable], spans[0]) for readable, spans in entries.values() if spans)


def _written(data: bytes, changed: dict[str, list[str]]) -> bytes:
    seen: dict[str, int] = {}
    for field in protowire.strings(data) or ():
        old = data[field.start : field.end].decode()
        if old not in changed:
            continue
        at = min(seen.get(old, 0), len(changed[old]) - 1)
        seen[old] = at + 1
        new = changed[old][at].encode()
        if len(new) == field.end - field.start:
            data = data[: field.start] + new + data[field.end :]
    return data


def _decoded(raw: str) -> str:
    try:
        return str(json.loads(f'"{raw}"'))
    except ValueError:
        return raw


def _from_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
