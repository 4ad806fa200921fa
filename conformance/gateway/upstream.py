"""The upstream: the provider behind the gateway, at one HTTP address and one gRPC address.

Each conversation has a ticket with the response that the gateway gets next. The upstream finds the ticket by the token
in the request, captures the request and sends the response in the recorded pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from msgspec import Struct

from toolparity.cassettes.emulated.servers import LOOPBACK, Servers, serving_http
from toolparity.cassettes.errors import ServerNotStarted
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec, specs

from ..subjects.loopback import MessageService, refusal_body
from .correlation import find
from .errors import GatewayFailed
from .holding import PATIENCE, Hold
from .http_server import HttpRequest, HttpResponse, HttpServer, json_response

#: The maximum number of requests for one response. A gateway may retry, but not this often.
MOST_REQUESTS = 8
#: The header of responses that ask the client to wait, and the statuses that have it.
RETRY_AFTER = {"retry-after": "3"}
_ASKS_TO_WAIT = frozenset((429, 503, 529))
#: One server-sent event with one line of data.
_EVENT = re.compile(rb"(?m)^data: (.*)\r?\n\r?\n")


class Served(Struct, frozen=True):
    """A response of the upstream. ``pieces``: as in `conformance.subjects.SubjectExchange`.

    ``streamed``: the pieces of a plain response for a gateway that asks for a stream, or empty. ``hold``: holds back
    the rest of a stream, or None.
    """

    wire: str
    stream: bool
    pieces: Sequence[bytes]
    status: int = 200
    streamed: Sequence[bytes] = ()
    hold: Hold | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields that matter to clients."""
        return RETRY_AFTER if self.status in _ASKS_TO_WAIT else {}


class Ticket:
    """One conversation at the upstream.

    ``served``: the response to the next request. ``captured``: the bodies of the requests since it was set, as JSON.
    ``headers``: the headers of these requests over HTTP. ``refused``: why requests were refused. ``plain``: whether one
    asked for a plain response although the client asked for a stream.
    """

    def __init__(self, served: Served) -> None:
        self.served = served
        self.serve(served)

    def serve(self, served: Served) -> None:
        """Set the response to the next request."""
        self.served = served
        self.captured: list[Any] = []
        self.headers: list[Mapping[str, str]] = []
        self.refused: list[str] = []
        self.plain = False

    def refusal(self, wire: str, *, stream: bool) -> str | None:
        """Return why a request is refused, or None if it gets the response."""
        reason = None
        if spec(self.served.wire).path != spec(wire).path:
            reason = f"the gateway asked on the wire {wire}, but the case is on {self.served.wire}"
        elif stream is not self.served.stream and not (stream and self.served.streamed):
            # A wire with two paths says in the path, which the suite does not read, whether it wants a stream.
            self.plain = not stream and not spec(wire).stream_path
            asked, has = ("a streamed", "a plain") if stream else ("a plain", "a streamed")
            reason = f"the gateway asked for {asked} response, but the case has {has} one"
        elif len(self.captured) >= MOST_REQUESTS:
            reason = f"the gateway sent more than {MOST_REQUESTS} requests for one response"
        if reason is not None and reason not in self.refused:
            self.refused.append(reason)
        return reason


class Upstream:
    """The tickets, and the addresses of the servers. Threads may share it.

    ``every``: the ticket for requests without a token, or None to refuse them. ``patience``: as in `Hold.pieces`.
    ``beside``: the end of a path -> the JSON body that requests to it get.
    """

    def __init__(self, servers: Servers | None = None) -> None:
        self.servers = servers
        self.patience = PATIENCE
        self.every: Ticket | None = None
        self.beside: Mapping[str, Any] = {}
        self.unknown = 0
        self._tickets: dict[str, Ticket] = {}

    @contextmanager
    def ticket(self, token: str, served: Served) -> Iterator[Ticket]:
        """Yield the ticket of a conversation, which is valid while the block runs."""
        ticket = self._tickets[token] = Ticket(served)
        try:
            yield ticket
        finally:
            del self._tickets[token]

    def find(self, headers: Any, body: bytes) -> Ticket | None:
        """Return the ticket of a request, or None."""
        token = find(headers, body)
        ticket = self.every if token is None else self._tickets.get(token, self.every)
        if ticket is None:
            self.unknown += 1
        return ticket

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Answer an HTTP request."""
        for path, value in self.beside.items():
            if request.path.endswith(path):
                return json_response(value)
        if request.method == "GET":
            return json_response({"object": "list", "data": []})
        wire = _wire_of(request.path)
        ticket = self.find(request.headers, request.body)
        if wire is None or ticket is None:
            what = f"{request.method} {request.path}: no case has this path or token"
            return json_response(refusal_body(what), 404)
        value = _json(request.body)
        stream = isinstance(value, dict) and value.get("stream") is True
        reason = ticket.refusal(wire, stream=stream)
        if reason is not None:
            return json_response(refusal_body(reason), 400)
        ticket.captured.append(value)
        ticket.headers.append(request.headers)
        served, stream = ticket.served, stream and ticket.served.status < 400
        pieces = served.streamed if stream and not served.stream else served.pieces
        if stream and not _wants_usage(wire, value):
            pieces = without_usage(pieces)
        hold = served.hold if stream else None
        slowly = None if hold is None else partial(hold.pieces, patience=self.patience)
        return HttpResponse(pieces, served.status, stream, served.headers, slowly)


@contextmanager
def running(host: str = LOOPBACK, port: int = 0) -> Iterator[Upstream]:
    """Run an upstream while the block runs. Port 0 means free ports.

    Raises GatewayFailed if the port is used, for instance by another run.
    """
    upstream = Upstream()
    web = HttpServer(upstream.respond)
    try:
        grpc_port = port + 1 if port else 0
        with serving_http(web, _Chat(upstream), host, http_port=port, grpc_port=grpc_port) as servers:
            upstream.servers = servers
            yield upstream
    except ServerNotStarted as error:
        hint = "stop the other run, or choose another address with --listen and in the gateway's configuration"
        raise GatewayFailed(f"the upstream cannot start: {error.what}", where=f"{host}:{port}", hint=hint) from None


class _Chat(MessageService):
    """The service for the response of the ticket."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def found(self, request: Any, context: Any, *, stream: bool) -> tuple[Sequence[bytes], int]:
        metadata = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        ticket = self._upstream.find(metadata, request.SerializeToString())
        if ticket is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no case has the token of this request")
            raise LookupError  # `abort` raises first; its stub is untyped
        if (reason := ticket.refusal("xai.grpc", stream=stream)) is not None:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, reason)
        ticket.captured.append(MessageToDict(request, preserving_proto_field_name=True))
        return ticket.served.pieces, ticket.served.status


def _wire_of(path: str) -> str | None:
    """Return the wire whose requests have this path."""
    for wire in specs():
        if wire.framing == "bytes" and wire.path and path.endswith(wire.path.removeprefix("/v1")):
            return wire.name
    return None


def _wants_usage(wire: str, request: Any) -> bool:
    """Return whether a stream has usage: Chat Completions sends it only to requests with the option."""
    if wire != "openai.chat" or not isinstance(request, dict):
        return True
    options = request.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def without_usage(pieces: Sequence[bytes]) -> list[bytes]:
    """Return the pieces of a Chat Completions stream without the chunks that have usage and no choice."""
    kept: list[bytes] = []
    body, start, cuts = b"".join(pieces), 0, [0]
    for event in _EVENT.finditer(body):
        chunk = _json(event[1])
        if isinstance(chunk, dict) and chunk.get("choices") == [] and chunk.get("usage"):
            cuts += event.span()
    spans = [*zip(cuts[::2], [*cuts[1::2], len(body)], strict=True)]
    for piece in pieces:
        end = start + len(piece)
        kept.append(b"".join(body[max(start, first) : min(end, last)] for first, last in spans))
        start = end
    return [piece for piece in kept if piece]


def _json(body: bytes) -> Any:
    try:
        return json_codec.decode(body)
    except ValueError:
        return None
