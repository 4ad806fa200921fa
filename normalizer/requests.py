"""Requests of every wire: read into the canonical conversation, written back, and judged by the provider's rules."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .conversation import Encoded, Request
from .errors import UnknownWire
from .rules import Violation, violations
from .wires import WIRES


def read_request(body: Any, wire: str, *, provider: str | None = None) -> Request:
    """The canonical request of a body: parsed JSON, bytes, text; on `xai.grpc` the protobuf message or its JSON.

    Raises MalformedBody for what is no request of the wire, UnknownWire for a wire that is in no table.
    """
    request: Request = _module(wire, "read").read(body, provider)
    return request


def write_request(request: Request, wire: str | None = None, *, provider: str | None = None) -> Encoded:
    """The request as a body of a wire (default: the one it came from), with what could not be carried.

    The same request always gives the same body, and turns that were closed once are written the same for ever.
    """
    target = wire or request.wire
    if provider is None and target == request.wire:
        provider = request.provider
    encoded: Encoded = _module(target, "write").write(request, provider)
    return encoded


def check_request(body: Any, wire: str, *, provider: str | None = None) -> list[Violation]:
    """What the provider would refuse, by the rules of its wire, before anything is sent."""
    return violations(body, _module(wire, "rules").RULES, provider)


def _module(wire: str, part: str) -> Any:
    package = WIRES.get(wire)
    if package is None:
        raise UnknownWire(f"no wire is called {wire!r}", hint=f"one of {', '.join(WIRES)}")
    return import_module(f".wires.{package}.{part}", __package__)
