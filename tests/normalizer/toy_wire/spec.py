"""Spec of the wire `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.wires.decode_context import Declared
from toolparity.normalizer.wires.limits import Boundary
from toolparity.normalizer.wires.registry import Shape, WireSpec


def shape(body: dict[str, Any]) -> Shape | None:
    if "toy_event" in body:
        return Shape(event=True, marked=True)
    return Shape(body=True, whole=True, marked=True) if "toy_reply" in body else None


def boundary(event: dict[str, Any]) -> Boundary:
    kind = event["toy_event"]
    return Boundary(event.get("toy_reply"), begins=kind == "begin", ends=kind == "end")


def declared(request: dict[str, Any]) -> Declared:
    functions = {function["fn"]: function.get("takes") for function in request.get("functions", ())}
    return Declared(frozenset(functions), schemas=functions)


def sdk_bytes(source: Any, event: bool) -> bytes:
    raw: bytes = source.raw
    return raw


SPEC = WireSpec(
    name="toy.chat",
    package=__package__,
    owner="toy",
    models="toy-",
    base_path="/v1",
    path="/replies",
    models_path="/models",
    hosts=("api.toy.example",),
    addresses=(r"/replies$",),
    stop_words={"done": "end_turn", "calls": "tool_calls", "cut": "max_tokens"},
    sdk="toy-wire",
    sdk_modules=(f"{__package__}.sdk",),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    declared=declared,
)
