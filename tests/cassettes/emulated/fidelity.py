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
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from toolparity.normalizer.readers import sniff

Pair = tuple[str, str]
#: Pairs of each event of a stream (by its type; "chunk" where events have none), and of the plain body: "body".
Shape = dict[str, set[Pair]]

#: Members that callers and models fill as they like.
FREE = frozenset(("metadata", "parameters", "schema", "json_schema", "input_schema", "output_schema", "input"))

_JSON = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null", dict: "object"}


def pairs(value: Any, path: str = "") -> Iterator[Pair]:
    """The pairs of a JSON value, itself included."""
    if isinstance(value, dict):
        here = f"{path}<{value['type']}>" if path and isinstance(value.get("type"), str) else path
        yield here, "object"
        for name, member in value.items():
            below = f"{here}.{name}" if here else name
            if name in FREE and isinstance(member, dict):
                yield below, "object"
            else:
                yield from pairs(member, below)
    elif isinstance(value, list):
        yield path, "array"
        for item in value:
            yield from pairs(item, path + "[]")
    else:
        yield path, _JSON[type(value)]


def shape(bodies: Iterable[tuple[bytes, bool]]) -> Shape:
    """The pairs of response bodies, each with whether it was streamed; without those that are not JSON."""
    found: Shape = defaultdict(set)
    for data, stream in bodies:
        with suppress(ValueError, AssertionError):  # a few recordings were shortened, or are pages of HTML
            for event, payload in list(payloads(data)) if stream else [("body", json.loads(data))]:
                found[event].update(pairs(payload))
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


def typed(models: Mapping[str, Any]) -> Shape:
    """The pairs that an SDK's types allow. ``models``: what each event is, or "body"; a union has them all."""
    return {event: set(_annotated(model, "", ())) for event, model in models.items()}


def _annotated(annotation: Any, path: str, outer: tuple[Any, ...]) -> Iterator[Pair]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from _annotated(arguments[0], path, outer)
    elif origin in (typing.Union, types.UnionType):
        for argument in arguments:
            yield from _annotated(argument, path, outer)
    elif origin is typing.Literal:
        yield from ((path, _JSON[type(value)]) for value in arguments)
    elif origin is list:
        yield path, "array"
        yield from _annotated(arguments[0], path + "[]", outer)
    elif origin is dict or annotation is dict:
        yield path, "any"
    elif isinstance(annotation, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        yield from _annotated(annotation.__value__, path, outer)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _members(annotation, path, outer)
    elif annotation in _JSON:
        yield path, _JSON[annotation]
    else:
        yield path, "any"


def _members(model: type[BaseModel], path: str, outer: tuple[Any, ...]) -> Iterator[Pair]:
    if outer.count(model) > 1:
        yield path, "any"
        return
    for here in _tagged(model, path):
        yield here, "object"
        for name, field in model.model_fields.items():
            member = field.alias or name
            below = f"{here}.{member}" if here else member
            if member in FREE:
                yield below, "any"
            else:
                yield from _annotated(field.annotation, below, (*outer, model))


def _tagged(model: type[BaseModel], path: str) -> list[str]:
    """The path with each type that the object may name; without one where it need not."""
    field = model.model_fields.get("type")
    values = [] if field is None or not path else [v for v in _literals(field.annotation) if v is not None]
    untyped = [] if values and field is not None and field.is_required() else [path]
    return [f"{path}<{value}>" for value in values] + untyped


def _literals(annotation: Any) -> Iterator[Any]:
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    for argument in typing.get_args(annotation):
        yield from _literals(argument)


def unknown(emulated: Shape, *known: Shape) -> list[tuple[str, str, str]]:
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
