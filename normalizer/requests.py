"""Requests of every wire: read into the canonical conversation, written back, and judged by the provider's rules."""

from __future__ import annotations

from importlib import import_module
from operator import is_not
from typing import Any

from msgspec.structs import replace

from . import json_codec
from .conversation import Encoded, Request, Turn
from .errors import PolicyError, UnknownWire
from .pairing import is_seam, last_seam, open_ids
from .policies import POLICIES
from .wires import HOME, WIRES
from .wires.rule import Violation, violations


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
    target, provider = _target(request, wire, provider)
    encoded: Encoded = _module(target, "write").write(request, provider)
    return encoded


class RequestWriter:
    """Writes a conversation that grows, round by round: each time exactly what `write_request` gives, in less time.

    It remembers what it wrote last, and where the next request begins with the same turns (the very objects) for the
    same wire and provider, it goes on behind them; else, and where the provider keeps a part of the history, it
    writes everything. So what a turn holds must not be changed in place once it was written; whoever changes a turn
    makes another one. The bodies are the caller's to add to (messages, members); what stands inside one message is
    shared with the bodies before and after it (not on `xai.grpc`) and is to be left as it is. Not for several threads.
    """

    def __init__(self, wire: str | None = None, *, provider: str | None = None) -> None:
        self._wire = wire
        self._provider = provider
        self._turns: list[Turn] = []  # those that `_written` holds
        self._open: set[str] = set()  # the ids of the calls in them that got no answer but one that says so
        self._written: Any = None

    def write(self, request: Request) -> Encoded:
        """The request as a body, as `write_request` gives it. Raises what that raises, and has forgotten all then."""
        target, provider = _target(request, self._wire, self._provider)
        module, turns = _module(target, "write"), request.turns
        writer = module.Writer(request, provider)
        known = len(self._turns) if self._goes_on(writer, turns) else 0
        if known:
            writer = self._written.fork(request)
        self._written = None
        closed = max(known, last_seam(turns)) if writer.basis is not None else 0
        if closed:
            if closed > known:
                writer.add(turns, known, closed)
                self._open = open_ids(turns, known, closed) | (self._open if known else set())
            if not writer.settled:
                return write_request(request, target, provider=provider)
            self._turns, self._written = turns[:closed], writer.fork(request)
        writer.add(turns, closed, len(turns))
        encoded: Encoded = writer.encoded()
        return encoded

    def _goes_on(self, writer: Any, turns: list[Turn]) -> bool:
        """Whether the turns begin with those that were written, and what these depend on is the same."""
        before, known = self._written, len(self._turns)
        if type(before) is not type(writer) or before.basis != writer.basis or known > len(turns):
            return False
        return not any(map(is_not, self._turns, turns)) and is_seam(turns, known, self._open)


def with_policy(request: Request, policy: str) -> Request:
    """The request, telling the provider what the policy will do: under `first` the model is asked for one call at most.

    A target without a switch for that gets none, and the writing reports the loss `parallel`; whatever a server makes
    of the switch (failure PAR-02), `select` keeps to the policy. Raises PolicyError for an unknown policy.
    """
    if policy not in POLICIES:
        raise PolicyError(f"no policy is called {policy!r}", hint=f"one of {', '.join(POLICIES)}")
    return replace(request, parallel=False) if policy == "first" and request.tools else request


def check_request(body: Any, wire: str, *, provider: str | None = None) -> list[Violation]:
    """What the provider would refuse, by the rules of its wire, before anything is sent.

    ``body``: as `read_request` takes it. ``provider``: whose format the wire is, where none is told.
    """
    rules = _module(wire, "rules").RULES
    if wire == "xai.grpc":
        body = _module(wire, "rules").parsed(body)
    elif isinstance(body, (bytes, bytearray, memoryview, str)):
        try:
            body = json_codec.decode(body if isinstance(body, str) else bytes(body))
        except ValueError:
            body = None  # every wire has a rule for what is no request
    return violations(body, rules, provider or HOME[wire])


def _target(request: Request, wire: str | None, provider: str | None) -> tuple[str, str | None]:
    target = wire or request.wire
    return target, request.provider if provider is None and target == request.wire else provider


def _module(wire: str, part: str) -> Any:
    package = WIRES.get(wire)
    if package is None:
        raise UnknownWire(f"no wire is called {wire!r}", hint=f"one of {', '.join(WIRES)}")
    return import_module(f".wires.{package}.{part}", __package__)
