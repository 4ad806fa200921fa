"""Conversion between gRPC calls and ordinary vcrpy interactions.

    request:
      method: POST
      uri: grpc://host:port/package.Service/Method
      headers: {…metadata…}
      body: '{"message": {…}, "serialized": "…", "type": "package.Request"}'
    response:
      status: {code: 200, message: OK}         # of the HTTP/2 response that carries every gRPC response
      headers: {…initial metadata…}
      body: {string: '{"messages": [{"message": {…}, "serialized": "…"}, …], "type": "package.Response"}'}
      trailers: {…trailing metadata…}
      grpc: {code: NOT_FOUND, details: "…", stream: false}     # or {left_by_caller: true, stream: true}

A call with a stream of requests has ``{"messages": […], "type": "…"}`` as the body of its request as well, and in
``grpc`` the order of both streams: ``requests: {after: [0, 0, 1], closed_after: 2}`` means that the client sent two
messages, received one, sent its third, received another, and closed its stream. ``closed_after`` is absent if the call
ended before the client closed it.

``metadata_order`` and ``trailers_order`` in ``grpc`` list the names of metadata that was not in alphabetical order.

The scheme is ``grpc`` for plain and encrypted channels alike, because grpcio does not expose which one a stub uses.
JSON texts have sorted keys, so equal requests have equal bodies.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from google.protobuf.message import Message
from vcr.request import Request

from . import messages
from .core import STATUS_BY_NUMBER, StatusCode
from .errors import Disagreement, UnreadableInteraction, UnserializableRequest
from .metadata import Pairs, from_headers, order_of, to_headers, to_request_headers

SCHEME = "grpc"
_RESOLVER = re.compile(r"^(?:dns:(?://[^/]*/)?|ipv[46]:|passthrough:/*)")

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(:\d+)?")


@dataclass(frozen=True)
class RequestOrder:
    """When the client sent each message of its stream, and closed it: the number of messages received until then."""

    after: tuple[int, ...] = ()
    closed_after: int | None = None


@dataclass(frozen=True)
class OutgoingCall:
    """A call before it is sent. ``serialized``: the bytes to send and record, or those sent so far of a stream.

    ``method``: "/package.Service/Method".
    """

    target: str
    method: str
    metadata: Pairs
    serialized: bytes | tuple[bytes, ...]
    request_type: messages.MessageType | None
    deserializer: messages.Deserializer
    stream: bool

    @property
    def uri(self) -> str:
        """The address of the call, without the resolver prefix that grpcio adds to some targets."""
        host = _RESOLVER.sub("", self.target)
        if not _HOST.fullmatch(host):  # a socket path, several addresses, …
            host = quote(host, safe="")
        return f"{SCHEME}://{host}{self.method}"

    def request(self) -> Any:
        """Return the vcrpy request that hooks, filters and matchers see."""
        if isinstance(self.serialized, bytes):
            entry = messages.written(self.serialized, self.request_type)
        else:
            entry = {"messages": [messages.written(message, self.request_type) for message in self.serialized]}
        if self.request_type is not None:
            entry["type"] = messages.name_of(self.request_type)
        return Request("POST", self.uri, _json(entry), to_request_headers(self.metadata))


@dataclass(frozen=True)
class RecordedAnswer:
    """A response. ``code`` is None if the client left the stream before its end (``left``)."""

    initial: Pairs
    messages: tuple[bytes, ...]
    trailing: Pairs
    code: int | None
    details: str
    left: bool = False
    requests: RequestOrder | None = None


def serialized(request: Any, serializer: Any, where: str) -> tuple[bytes, messages.MessageType | None]:
    """Return the request's bytes, and its type if it is a protobuf message. Raises UnserializableRequest.

    If the stub uses protobuf's own serializer, the bytes are in deterministic form, which orders map entries. Equal
    requests then have equal bytes. The recorded bytes are the bytes sent.
    """
    try:
        data = request if serializer is None else serializer(request)
    except Exception as error:
        raise UnserializableRequest(f"the request cannot be serialized: {error}", where=where) from error
    if not isinstance(data, bytes):
        raise UnserializableRequest(f"the request was serialized to {type(data).__name__}, not to bytes", where=where)
    if not isinstance(request, Message):
        return data, None
    if data == request.SerializeToString():
        data = request.SerializeToString(deterministic=True)
    return data, type(request)


def response(answer: RecordedAnswer, call: OutgoingCall) -> dict[str, Any]:
    """Return the vcrpy response."""
    type_ = messages.type_of(call.deserializer, answer.messages[0] if answer.messages else None)
    body: dict[str, Any] = {"messages": [messages.written(message, type_) for message in answer.messages]}
    if type_ is not None:
        body["type"] = messages.name_of(type_)
    if answer.left:
        ended: dict[str, Any] = {"left_by_caller": True}
    else:
        status = STATUS_BY_NUMBER.get(answer.code or 0)
        ended = {"code": answer.code if status is None else status.name, "details": answer.details}
    if answer.requests is not None:
        closed = answer.requests.closed_after
        order = {"after": list(answer.requests.after), **({} if closed is None else {"closed_after": closed})}
        ended["requests"] = order
    orders = {"metadata_order": order_of(answer.initial), "trailers_order": order_of(answer.trailing)}
    ended |= {name: names for name, names in orders.items() if names}
    return {
        "status": {"code": 200, "message": "OK"},
        "headers": to_headers(answer.initial),
        "body": {"string": _json(body).encode("ascii")},
        "trailers": to_headers(answer.trailing),
        "grpc": {**ended, "stream": call.stream},
    }


def answer(recorded: Any, call: OutgoingCall, where: str) -> RecordedAnswer:
    """Return a recorded response. Raises UnreadableInteraction; Disagreement if readable and exact form differ."""
    ended = recorded.get("grpc") if isinstance(recorded, dict) else None
    if not isinstance(ended, dict):
        raise UnreadableInteraction("the interaction was not recorded from a gRPC call", where=where)
    body = _parsed((recorded.get("body") or {}).get("string"), where)
    entries = body.get("messages")
    if not isinstance(entries, list):
        raise UnreadableInteraction("its body has no list of messages", where=where)
    plain = [messages.read(entry, None, f"{where}, message {n}") for n, entry in enumerate(entries, 1)]
    type_ = messages.type_of(call.deserializer, plain[0] if plain else None, body.get("type"))
    for n, entry in enumerate(entries, 1):
        messages.read(entry, type_, f"{where}, message {n}")
    left = ended.get("left_by_caller") is True
    code = None if left else _number(ended.get("code"), where)
    if not call.stream and code == 0 and len(plain) != 1:
        raise UnreadableInteraction(f"{len(plain)} messages, but a unary call has one", where=where)
    return RecordedAnswer(
        initial=from_headers(recorded.get("headers"), where, ended.get("metadata_order")),
        messages=tuple(plain),
        trailing=from_headers(recorded.get("trailers"), where, ended.get("trailers_order")),
        code=code,
        details=str(ended.get("details") or ""),
        left=left,
        requests=_order(ended.get("requests"), where),
    )


def sent_messages(body: Any, where: str) -> tuple[bytes, ...]:
    """Return the messages of a recorded stream of requests. Raises UnreadableInteraction."""
    entries = _parsed(body, where).get("messages")
    if not isinstance(entries, list):
        raise UnreadableInteraction("its request has no list of messages", where=where)
    return tuple(messages.read(entry, None, f"{where}, message {n}") for n, entry in enumerate(entries, 1))


def check_request(body: Any, type_: messages.MessageType | None, where: str) -> None:
    """Check that a recorded request's readable form agrees with its bytes. Raises Disagreement.

    A body in another shape is accepted: a hook may have changed it, and only the response is played.
    """
    try:
        entry = _parsed(body, where)
        for each in entry.get("messages", [entry]):
            messages.read(each, type_, where)
    except Disagreement:
        raise
    except UnreadableInteraction:
        return


def message_of(body: Any) -> Any:
    """Return the readable message in a recorded request's body, or None."""
    try:
        entry = _parsed(body, "")
        if isinstance(entry.get("messages"), list):
            return [each.get("message") for each in entry["messages"] if isinstance(each, dict)]
        return entry.get("message")
    except UnreadableInteraction:
        return None


def _order(value: Any, where: str) -> RequestOrder | None:
    if value is None:
        return None
    try:
        closed = value.get("closed_after")
        return RequestOrder(tuple(map(int, value["after"])), None if closed is None else int(closed))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UnreadableInteraction("the order of its requests is damaged", where=where) from None


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _parsed(text: Any, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableInteraction(f"its body is not JSON: {error}", where=where) from None
    if not isinstance(value, dict):
        raise UnreadableInteraction("its body is not a JSON object", where=where)
    return value


def _number(code: Any, where: str) -> int:
    if isinstance(code, int):
        return code
    status = getattr(StatusCode, code, None) if isinstance(code, str) else None
    if status is None:
        raise UnreadableInteraction(f"{code!r} is not a gRPC status", where=where)
    number: int = status.value[0]
    return number
