"""The surface of `toy.chat`."""

from __future__ import annotations

from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer.wires.registry import wire_name

_ADDRESS = "https://api.toy.example/v1"
SURFACES = (
    Surface("toy.chat", "toy", wire_name("toy.chat"), "toy-wire", _ADDRESS, "TOY_API_KEY", "toy-1", frozenset()),
)
