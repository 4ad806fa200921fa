"""Reading, writing and checking of requests on every wire."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not
from typing import Any, get_args

from msgspec.structs import replace

from . import json_codec
from .conversation import Encoded, Loss, Message, Request
from .errors import MalformedBody
from .model import Policy, Wire
from .pairing import is_boundary, last_boundary, open_ids
from .policies import policy_name
from .wires.model_rules import rules_for_body
from .wires.registry import is_wire, spec, wire_name
from .wires.rule import Rule, Violation, violations

#: Providers that accept every tool of a wire with namespaces.
_OWNERS = ("openai", "azure")


def read_request(body: Any, wire: Wire, *, provider: str | None = None) -> Request:
    """Decode a request body into the canonical request.

    ``body``: parsed JSON, bytes or str; on `xai.grpc` the protobuf message or its JSON. ``provider``: the provider, for
    wires whose providers differ. Raises MalformedBody if the body is not a request of the wire, and UnknownWire for an
    unknown wire name.
    """
    request: Request = spec(wire).part("read").read(body, provider)
    return request


def write_request(request: Request, wire: Wire | None = None, *, provider: str | None = None) -> Encoded:
    """Encode a request as a body of a wire, and report the losses.

    ``wire``: the target; by default the wire that the request came from. The output is deterministic, and an assistant
    message whose calls all have results is written the same in every later request. Raises UnknownWire for an unknown
    wire name.
    """
    target, provider = _target(request, wire, provider)
    try:
        flat, namespaces, losses = _flattened(request, target, provider)
        encoded: Encoded = spec(target).part("write").write(flat, provider)
    except AttributeError:
        _check_messages(request)  # only now: it would take a tenth of the time
        raise
    return _with(encoded, namespaces, losses)


class RequestWriter:
    """Incremental writer for a growing conversation, with the same output as `write_request` in less time.

    The writer caches the messages of the last request. If the next request begins with the same message objects for the
    same wire and provider, it encodes only the messages after them; otherwise, or if the provider stores a part of the
    history, it encodes everything.

    Do not change a message in place once it was written: make a new one. The caller may add members to a body and
    messages to its list, but must not change a message in it, because bodies share messages (except on `xai.grpc`). Not
    thread-safe.
    """

    def __init__(self, wire: Wire | None = None, *, provider: str | None = None) -> None:
        self._wire = wire
        self._provider = provider
        self._cached: list[Message] = []  # the messages that `_cached_writer` has written
        self._cached_writer: Any = None
        self._open_ids: set[str] = set()  # ids of their calls without a result

    def write(self, request: Request) -> Encoded:
        """Encode the request like `write_request`, with the same errors. An error clears the cache."""
        target, provider = _target(request, self._wire, self._provider)
        try:
            flat, namespaces, losses = _flattened(request, target, provider)
            return _with(self._write(flat, target, provider), namespaces, losses)
        except AttributeError:
            _check_messages(request)
            raise

    def _write(self, request: Request, target: Wire, provider: str | None) -> Encoded:
        messages = request.messages
        writer = spec(target).part("write").Writer(request, provider)
        known = len(self._cached) if self._continues_cached(writer, messages) else 0
        if known:
            writer = self._cached_writer.fork(request)
        self._cached_writer = None
        closed = max(known, last_boundary(messages)) if writer.basis is not None else 0
        if closed:
            if closed > known:
                writer.add(messages, known, closed)
                self._open_ids = open_ids(messages, known, closed) | (self._open_ids if known else set())
            if not writer.settled:
                return write_request(request, target, provider=provider)
            self._cached, self._cached_writer = messages[:closed], writer.fork(request)
        writer.add(messages, closed, len(messages))
        encoded: Encoded = writer.encoded()
        return encoded

    def _continues_cached(self, writer: Any, messages: list[Message]) -> bool:
        """Return whether the messages begin with the cached ones and the settings of the writer are unchanged."""
        before, known = self._cached_writer, len(self._cached)
        if type(before) is not type(writer) or before.basis != writer.basis or known > len(messages):
            return False
        return not any(map(is_not, self._cached, messages)) and is_boundary(messages, known, self._open_ids)


def with_policy(request: Request, policy: Policy) -> Request:
    """Return the request with parallel calls turned off if the policy is `first` and it has tools, else unchanged.

    If the target has no such switch, `write_request` reports the loss `parallel`. A server can ignore the switch
    (failure PAR-02); `select` enforces the policy in any case. Raises PolicyError for an unknown policy.
    """
    return replace(request, parallel=False) if policy_name(policy) == "first" and request.tools else request


def check_request(body: Any, wire: Wire, *, provider: str | None = None) -> list[Violation]:
    """Return the violations for which the provider would refuse a request, by the rules of its wire and of its model.

    ``body``: as for `read_request`. ``provider``: by default the provider that owns the wire. Raises UnknownWire for an
    unknown wire name, and MalformedBody for a body that is nested too deeply, or a Request.
    """
    return broken_rules(body, wire, provider)


def broken_rules(
    body: Any, wire: Wire, provider: str | None, chosen: Callable[[Rule], bool] = lambda rule: True
) -> list[Violation]:
    """Return what `check_request` returns, by the rules for which ``chosen`` returns True."""
    wire_spec = spec(wire)
    if isinstance(body, Request):
        raise MalformedBody("the body of a request is needed, got a Request", hint="pass write_request(request).body")
    parsed = getattr(wire_spec.part("rules"), "parsed", None)
    if wire_spec.framing != "messages" and isinstance(body, (bytes, bytearray, memoryview, str)):
        try:
            body = json_codec.decode(body if isinstance(body, str) else bytes(body))
        except ValueError:
            body = None  # every wire has a rule that rejects None
    if parsed is not None:
        body = parsed(body)
    rules = tuple(filter(chosen, request_rules(body, wire, provider)))
    return violations(body, rules, provider or wire_spec.owner)


def request_rules(body: Any, wire: Wire, provider: str | None = None) -> tuple[Rule, ...]:
    """Return the request rules of a wire, and those of the model that the body names."""
    rules: tuple[Rule, ...] = spec(wire).part("rules").RULES
    return (*rules, *(each.rule for each in rules_for_body(wire, provider, body) if each.certain))


def _flattened(
    request: Request, target: Wire, provider: str | None
) -> tuple[Request, dict[str, tuple[str, str]], list[Loss]]:
    """Return the request with a flat list of tools if the target lacks the namespaces of its wire."""
    flatten = spec(request.wire).flatten if is_wire(request.wire) else None
    kept = provider in (None, request.provider) or (request.provider is None and provider in _OWNERS)
    if flatten is None or (target == request.wire and kept):
        return request, {}, []
    return flatten(request)


def _with(encoded: Encoded, namespaces: dict[str, tuple[str, str]], losses: list[Loss]) -> Encoded:
    if not (namespaces or losses):
        return encoded
    return replace(encoded, namespaces=namespaces, losses=[*encoded.losses, *losses])


def _check_messages(request: Request) -> None:
    """Raise MalformedBody for something else among the messages."""
    for number, message in enumerate(request.messages):
        if not isinstance(message, get_args(Message)):
            hint = "make it with answer() or read_request(), or with a class of toolparity.normalizer.conversation"
            raise MalformedBody(f"messages[{number}] must be a message, got {type(message).__name__}", hint=hint)


def _target(request: Request, wire: Wire | None, provider: str | None) -> tuple[Wire, str | None]:
    if not isinstance(request, Request):
        hint = "decode a request body with read_request(body, wire)"
        raise MalformedBody(f"not a canonical Request, but {type(request).__name__}", hint=hint)
    target = wire or wire_name(request.wire)
    return target, request.provider if provider is None and target == request.wire else provider
