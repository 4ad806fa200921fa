"""The members of emulated and real traffic, as paths.

A path names members from the top, ``[]`` for the items of a list and ``<text>`` behind an object that says its type:
``output[]<message>.content[]<output_text>.text``. What callers and models make up (metadata, schemas, arguments) is not
looked into.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from toolparity.normalizer.readers import sniff

#: Paths of each event of a stream (by its type; "chunk" where events have none), and of the plain body: "body".
Shape = dict[str, set[str]]

#: Members that callers and models fill as they like.
FREE = frozenset(("metadata", "parameters", "schema", "json_schema", "input_schema", "output_schema", "input"))


def paths(value: Any, path: str = "") -> Iterator[str]:
    """The paths of a JSON value, its own included."""
    kind = value.get("type") if isinstance(value, dict) else None
    here = f"{path}<{kind}>" if path and isinstance(kind, str) else path
    yield here
    if isinstance(value, dict):
        for name, member in value.items():
            below = f"{here}.{name}" if here else name
            yield from [below] if name in FREE else paths(member, below)
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, path + "[]")


def foreign(found: Any, path: str = "") -> Iterator[str]:
    """The paths of the members of an SDK's object that its type does not know."""
    if isinstance(found, list):
        for item in found:
            yield from foreign(item, path + "[]")
    elif isinstance(found, BaseModel):
        kind = getattr(found, "type", None)
        here = f"{path}<{kind}>" if path and isinstance(kind, str) else path
        start = f"{here}." if here else ""
        for name, value in (found.model_extra or {}).items():
            yield from paths(value, start + name)
        for name, member in found.__dict__.items():
            if isinstance(member, list | BaseModel) and name not in FREE:
                yield from foreign(member, start + name)


def shape(bodies: Iterable[tuple[bytes, bool]]) -> Shape:
    """The paths of response bodies, each with whether it was streamed; without those that are not JSON."""
    found: Shape = defaultdict(set)
    for data, stream in bodies:
        with suppress(ValueError, AssertionError):  # a few recordings were shortened, or are pages of HTML
            for event, payload in list(payloads(data)) if stream else [("body", json.loads(data))]:
                found[event].update(paths(payload))
    return dict(found)


def payloads(data: bytes) -> Iterator[tuple[str, Any]]:
    """Type and payload of each event of a stream, in whichever framing it was kept."""
    reader = sniff(data, len(data) + 1)
    assert reader is not None
    for _, text in [*reader.feed(data), *reader.close()]:
        if text.strip() == b"[DONE]":
            continue
        payload = json.loads(text)
        kind = payload.get("type") if isinstance(payload, dict) else None
        yield kind if isinstance(kind, str) else "chunk", payload
