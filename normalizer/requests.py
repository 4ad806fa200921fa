"""Requests of every wire: read into the canonical conversation, written back, and judged by the provider's rules."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msgspec.structs import replace

from .conversation import Encoded, Request
from .errors import PolicyError, UnknownWire
from .policies import POLICIES
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


def with_policy(request: Request, policy: str) -> Request:
    """The request, telling the provider what the policy will do: under `first` the model is asked for one call at most.

    A target without a switch for that gets none, and the writing reports the loss `parallel`; whatever a server makes
    of the switch (failure PAR-02), `select` keeps to the policy. Raises PolicyError for an unknown policy.
    """
    if policy not in POLICIES:
        raise PolicyError(f"no policy is called {policy!r}", hint=f"one of {', '.join(POLICIES)}")
    return replace(request, parallel=False) if policy == "first" and request.tools else request


def check_request(body: Any, wire: str, *, provider: str | None = None) -> list[Violation]:
    """What the provider would refuse, by the rules of its wire, before anything is sent."""
    return violations(body, _module(wire, "rules").RULES, provider)


def _module(wire: str, part: str) -> Any:
    package = WIRES.get(wire)
    if package is None:
        raise UnknownWire(f"no wire is called {wire!r}", hint=f"one of {', '.join(WIRES)}")
    return import_module(f".wires.{package}.{part}", __package__)
