"""How alike emulated and real traffic are: the (path, type) pairs of both, and of the SDK's own types.

A path names members from the top, ``[]`` for the items of a list and ``<text>`` behind an object that says its type:
``output[]<message>.content[]<output_text>.text``. Types are JSON's: null, boolean, number, string, object, array; "any"
where an SDK does not say. What callers and models make up (metadata, schemas, arguments) is not looked into.
"""

from __future__ import annotations

import json
import types
import typing
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from tests.normalizer.recorded.rows import Row, rows
from toolparity.normalizer.readers import sniff

Pair = tuple[str, str]
#: Pairs of each event of a stream (by its type; "chunk" where events have none), and of the plain body: "body".
Shape = dict[str, set[Pair]]

#: Members that callers and models fill as they like.
FREE = frozenset(("metadata", "parameters", "schema", "json_schema", "input_schema", "output_schema"))

_JSON = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null", dict: "object"}


class Coverage(NamedTuple):
    """``missing``: the real pairs that emulated traffic never shows, as (event, path, type)."""

    covered: int
    total: int
    missing: list[tuple[str, str, str]]

    @property
    def share(self) -> float:
        return self.covered / self.total


def pairs(value: Any, path: str = "", free: frozenset[str] = FREE) -> Iterator[Pair]:
    """The pairs of a JSON value, itself included."""
    if isinstance(value, dict):
        here = f"{path}<{value['type']}>" if path and isinstance(value.get("type"), str) else path
        yield here, "object"
        for name, member in value.items():
            below = f"{here}.{name}" if here else name
            if name in free and isinstance(member, dict):
                yield below, "object"
            else:
                yield from pairs(member, below, free)
    elif isinstance(value, list):
        yield path, "array"
        for item in value:
            yield from pairs(item, path + "[]", free)
    else:
        yield path, _JSON[type(value)]


def shape(bodies: Iterable[tuple[bytes, bool]], free: frozenset[str] = FREE) -> Shape:
    """The pairs of response bodies, each with whether it was streamed."""
    found: Shape = defaultdict(set)
    for data, stream in bodies:
        for event, payload in payloads(data) if stream else [("body", json.loads(data))]:
            found[event].update(pairs(payload, free=free))
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


def recorded(recordings: Path, wire: str, provider: str) -> list[Row]:
    """The real exchanges of a surface that hold an answer."""
    return [
        row
        for row in rows(recordings, wire)
        if row.provider == provider and not row.failed and row.body is not None and _readable(row)
    ]


def _readable(row: Row) -> bool:
    """Whether the body is JSON, or a stream of it; a few are not (they were shortened, or are pages of HTML)."""
    try:
        return bool(shape([(row.data, row.stream)]))
    except (ValueError, AssertionError):
        return False


def real(found: Iterable[Row], free: frozenset[str] = FREE) -> Shape:
    """The pairs of recorded exchanges."""
    return shape(((row.data, row.stream) for row in found), free)


def typed(models: Mapping[str, Any], free: frozenset[str] = FREE) -> Shape:
    """The pairs that an SDK's types allow. ``models``: what each event is, or "body"; a union has them all."""
    return {event: set(_annotated(model, "", free, ())) for event, model in models.items()}


def _annotated(annotation: Any, path: str, free: frozenset[str], outer: tuple[Any, ...]) -> Iterator[Pair]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from _annotated(arguments[0], path, free, outer)
    elif origin in (typing.Union, types.UnionType):
        for argument in arguments:
            yield from _annotated(argument, path, free, outer)
    elif origin is typing.Literal:
        yield from ((path, _JSON[type(value)]) for value in arguments)
    elif origin is list:
        yield path, "array"
        yield from _annotated(arguments[0], path + "[]", free, outer)
    elif origin is dict or annotation is dict:
        yield path, "any"
    elif isinstance(annotation, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        yield from _annotated(annotation.__value__, path, free, outer)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _members(annotation, path, free, outer)
    elif annotation in _JSON:
        yield path, _JSON[annotation]
    else:
        yield path, "any"


def _members(model: type[BaseModel], path: str, free: frozenset[str], outer: tuple[Any, ...]) -> Iterator[Pair]:
    if outer.count(model) > 1:
        yield path, "any"
        return
    for here in _tagged(model, path):
        yield here, "object"
        for name, field in model.model_fields.items():
            member = field.alias or name
            below = f"{here}.{member}" if here else member
            if member in free:
                yield below, "any"
            else:
                yield from _annotated(field.annotation, below, free, (*outer, model))


def _tagged(model: type[BaseModel], path: str) -> list[str]:
    """The path with each type that the object may name; without one where it need not."""
    field = model.model_fields.get("type")
    values = [] if field is None or not path else [v for v in _literals(field.annotation) if v is not None]
    bare = [] if values and field is not None and field.is_required() else [path]
    return [f"{path}<{value}>" for value in values] + bare


def _literals(annotation: Any) -> Iterator[Any]:
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    for argument in typing.get_args(annotation):
        yield from _literals(argument)


def strange(emulated: Shape, *known: Shape) -> list[tuple[str, str, str]]:
    """The emulated (event, path, type) that are in none of the others."""
    return sorted(
        (event, path, kind)
        for event, found in emulated.items()
        for path, kind in found
        if not any(_allows(one.get(event, set()), path, kind) for one in known)
    )


def _allows(known: set[Pair], path: str, kind: str) -> bool:
    if (path, kind) in known:
        return True
    while path:
        if (path, "any") in known:
            return True
        path = path.rpartition(".")[0]
    return False


def coverage(emulated: Shape, of: Shape) -> Coverage:
    """How much of real traffic the emulated one shows."""
    all_pairs = {(event, *pair) for event, found in of.items() for pair in found}
    missing = sorted(one for one in all_pairs if (one[1], one[2]) not in emulated.get(one[0], set()))
    return Coverage(len(all_pairs) - len(missing), len(all_pairs), missing)
