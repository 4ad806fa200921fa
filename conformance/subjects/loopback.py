"""Serves one provider response on the loopback interface, for subjects that fetch it with their own client.

    openai.chat, openai.responses    http://127.0.0.1:PORT/q7/v1
    anthropic.messages, cohere.chat  http://127.0.0.1:PORT/q7
    google.gemini, ollama.chat       http://127.0.0.1:PORT/q7
    xai.grpc                         127.0.0.1:PORT, a channel without TLS

The address is the base URL for the official SDK of the wire. ``q7`` identifies the response. A request to the address
of another response is refused, so that responses cannot be confused. gRPC has no paths: it always serves the pending
response.

    POST http://127.0.0.1:PORT/q7/tools/NAME

runs a tool of an agent. The request's body holds the arguments as JSON, and the answer is the result as plain text.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

import grpc
from google.protobuf.json_format import MessageToDict
from grpc import aio
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec

from .interface import SubjectExchange

#: The maximum number of requests for one response. Clients retry after an error, but not this often.
MOST_REQUESTS = 8
#: The maximum size of a request in bytes: the limit of xAI's SDK.
_LARGEST = 20 << 20
#: The path of the tools, below the address of a response.
_TOOLS = "/tools"
#: After this many pieces the server yields to the event loop, to notice a disconnected client. asyncio warns from five
#: writes on.
_UNCHECKED = 4

_Context = aio.ServicerContext[Any, Any]


class PendingResponse:
    """One response to fetch.

    ``served``: how often it was sent. ``refused``: why requests were refused. ``overrun``: there were more than
    `MOST_REQUESTS` requests. ``first``: the first request, as JSON. ``later``: the requests after it. ``tools_url``:
    the address of the tools.
    """

    def __init__(self, token: str, exchange: SubjectExchange, http_url: str) -> None:
        self.token = token
        self.tools_url = f"{http_url}/{token}{_TOOLS}"
        self.exchange = exchange
        self.served = 0
        self.refused: list[str] = []
        self.overrun = False
        self.first: Any = None
        self.later: list[Any] = []

    @property
    def by_messages(self) -> bool:
        """Whether the response consists of gRPC messages."""
        return spec(self.exchange.wire).framing == "messages"

    def serve(self, request: Any) -> SubjectExchange:
        """Return the exchange to send for a request. An agent gets the final response for each later request."""
        self.served += 1
        if self.served == 1:
            self.first = request
        else:
            self.later.append(request)
            if self.exchange.final:
                return replace(self.exchange, pieces=self.exchange.final, status=200)
        return self.exchange

    def refuse(self, reason: str) -> str:
        """Record why a request is refused."""
        if reason not in self.refused and len(self.refused) < MOST_REQUESTS:
            self.refused.append(reason)
        return reason

    def refusal(self, *, stream: Any) -> str | None:
        """Return why a request for this response is refused, or None if it is served."""
        if stream is not self.exchange.stream:
            wanted, got = ("streamed", "plain") if self.exchange.stream else ("plain", "streamed")
            return f"the request asks for a {got} response, but the case has a {wanted} one"
        if self.served >= MOST_REQUESTS:
            self.overrun = True
            return f"more than {MOST_REQUESTS} requests for one response"
        return None


class LoopbackServers:
    """The servers, which start with the first response. ``close`` stops them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._servers: Servers | None = None
        self._count = 0
        self.pending: PendingResponse | None = None

    @contextmanager
    def serve(self, exchange: SubjectExchange) -> Iterator[tuple[PendingResponse, str]]:
        """Serve one response while the block runs.

        Yields the pending response and its base address. Raises ServerNotStarted.
        """
        if self._servers is None:
            self._servers = self._stack.enter_context(serving(self._application(), _ChatService(self)))
        self._count += 1
        self.pending = pending = PendingResponse(f"q{self._count}", exchange, self._servers.http_url)
        try:
            if pending.by_messages:
                yield pending, self._servers.grpc_address
            else:
                yield pending, f"{self._servers.http_url}/{pending.token}{spec(exchange.wire).base_path}"
        finally:
            self.pending = None

    def close(self) -> None:
        """Stop the servers; open responses are aborted."""
        self._stack.close()
        self._servers = None

    def _application(self) -> Starlette:
        methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return Starlette(routes=[Route("/{path:path}", self._respond, methods=methods)])

    async def _respond(self, request: Request) -> Response:
        pending = self.pending
        if pending is None:
            return refusal(410, "no response is served now")
        token, _, rest = request.path_params["path"].partition("/")
        line = f"{request.method} {request.url.path}"
        if token != pending.token:
            return refusal(410, pending.refuse(f"{line}: this is not the base_url of this case"))
        if f"/{rest}".startswith(f"{_TOOLS}/"):
            return await _run_tool(pending.exchange, rest.partition("/")[2], request)
        end = _end(pending.exchange)
        is_served = re.search(end.replace("{model}", "[^/]+") + "$", f"/{rest}") is not None
        if request.method != "POST" or pending.by_messages or not is_served:
            return refusal(404, pending.refuse(f"{line}: only POST …{end} is served"))
        body = await _body(request)
        if body is None:
            return refusal(413, pending.refuse(f"{line}: the request has more than {_LARGEST:,} bytes"))
        members = _members(body)
        by_path = bool(spec(pending.exchange.wire).stream_path)  # the address requests a stream
        streams = pending.exchange.stream if by_path else members.get("stream") is True
        if (reason := pending.refusal(stream=streams)) is not None:
            return refusal(400, pending.refuse(f"{line}: {reason}"))
        served = pending.serve(members)
        return pieces_response(served.pieces, served.status, stream=served.stream)


def _end(exchange: SubjectExchange) -> str:
    """Return the end of the path to which a request for a response is sent."""
    wire = spec(exchange.wire)
    path = wire.stream_path if exchange.stream and wire.stream_path else wire.path
    return re.sub("^/v1(?=/)", "", path)  # some clients have /v1 in their base URL


async def _run_tool(exchange: SubjectExchange, name: str, request: Request) -> Response:
    """Run a tool with the arguments in a request, and return its result. Arguments that are not JSON are recorded."""
    tool = next((tool for tool in exchange.tools if tool.name == name), None)
    if tool is None or request.method != "POST":
        names = ", ".join(tool.name for tool in exchange.tools) or "none"
        return refusal(404, f"{request.method} {request.url.path}: the tools that run with POST are {names}")
    body = await _body(request)
    if body is None:
        return refusal(413, f"the arguments have more than {_LARGEST:,} bytes")
    return PlainTextResponse(tool(body.decode("utf-8", "replace")))


class MessageService(chat_pb2_grpc.ChatServicer):  # type: ignore[misc] # the SDK's stubs are untyped
    """xAI's chat service, which sends recorded messages."""

    async def found(self, request: Any, context: _Context, *, stream: bool) -> tuple[Sequence[bytes], int]:
        """Return the messages for a request, and the HTTP status that corresponds to their end; or abort the call."""
        raise NotImplementedError

    async def GetCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802 - the service's name
        """Send the response as one message."""
        pieces, status = await self.found(request, context, stream=False)
        if status >= 400:
            return await _abort(pieces[-1], context)
        return chat_pb2.GetChatCompletionResponse.FromString(b"".join(pieces))

    async def GetCompletionChunk(self, request: Any, context: _Context) -> AsyncIterator[Any]:  # noqa: N802
        """Send the response in chunks."""
        pieces, status = await self.found(request, context, stream=True)
        failed = status >= 400
        for message in pieces[:-1] if failed else pieces:
            yield chat_pb2.GetChatCompletionChunk.FromString(message)
        if failed:
            await _abort(pieces[-1], context)


class _ChatService(MessageService):
    """The service for the pending response."""

    def __init__(self, servers: LoopbackServers) -> None:
        self._servers = servers

    async def found(self, request: Any, context: _Context, *, stream: bool) -> tuple[Sequence[bytes], int]:
        pending = self._servers.pending
        if pending is None or not pending.by_messages:
            reason = "no response with gRPC messages is served now"
            await context.abort(grpc.StatusCode.NOT_FOUND, pending.refuse(f"gRPC: {reason}") if pending else reason)
        if (why := pending.refusal(stream=stream)) is not None:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, pending.refuse(f"gRPC: {why}"))
        served = pending.serve(MessageToDict(request, preserving_proto_field_name=True))
        return served.pieces, served.status


async def _abort(status: bytes, context: _Context) -> NoReturn:
    """Abort a call with the provider's status: ``{"code", "details"}``."""
    error = json_codec.decode(status)
    code = getattr(grpc.StatusCode, error["code"], grpc.StatusCode.UNKNOWN)
    await context.abort(code, str(error.get("details") or ""))


async def _body(request: Request) -> bytes | None:
    """Return the request's body, or None if it is too long."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST:
            return None
    return bytes(body)


def _members(body: bytes) -> dict[str, Any]:
    """Return the members of a request; none if it is not a JSON object."""
    try:
        value: Any = json_codec.decode(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def pieces_response(pieces: Sequence[bytes], status: int, *, stream: bool) -> Response:
    """Return the HTTP response. A stream keeps its pieces, each as one HTTP chunk."""
    if not stream or status >= 400:
        return Response(b"".join(pieces), status, media_type="application/json")
    return StreamingResponse(_chunks(pieces), status, {"content-type": "text/event-stream"})


async def _chunks(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for number, piece in enumerate(pieces):
        if number % _UNCHECKED == 0:
            await asyncio.sleep(0)
        if piece:  # an empty chunk would end the body
            yield piece


def refusal(status: int, reason: str) -> JSONResponse:
    """Return the error of the suite's own server, for a request that no response belongs to."""
    return JSONResponse(refusal_body(reason), status)


def refusal_body(reason: str) -> dict[str, Any]:
    """Return the body of such an error, in a form that the clients of all wires can read."""
    return {"type": "error", "error": {"type": "not_served", "message": reason}}
