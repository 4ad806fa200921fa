"""Serves one provider response on the loopback interface, for subjects that fetch it with their own client.

    openai.chat, openai.responses    http://127.0.0.1:PORT/q7/v1
    anthropic.messages               http://127.0.0.1:PORT/q7
    xai.grpc                         127.0.0.1:PORT, a channel without TLS

The address is the base URL for the official SDK of the wire. ``q7`` identifies the question. A request to the address
of another question is refused, so that responses cannot be confused. gRPC has no paths: it always serves the open
question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

import grpc
from grpc import aio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.normalizer import json_codec

from . import SubjectExchange

#: The path that a client appends to the base URL.
_ENDS = {
    "openai.chat": "/chat/completions",
    "openai.responses": "/responses",
    "anthropic.messages": "/messages",
}
_BASES = {"openai.chat": "/v1", "openai.responses": "/v1", "anthropic.messages": ""}
#: The maximum number of requests for one response. Clients retry after an error, but not this often.
MOST_REQUESTS = 8
#: The maximum size of a request in bytes: the limit of xAI's SDK.
_LARGEST = 20 << 20
#: After this many pieces the server yields to the event loop, to notice a disconnected client. asyncio warns from five
#: writes on.
_UNSEEN = 4

_Context = aio.ServicerContext[Any, Any]


class PendingResponse:
    """One response to fetch.

    ``served``: how often it was sent. ``refused``: why requests were refused. ``overrun``: there were more than
    `MOST_REQUESTS` requests.
    """

    def __init__(self, token: str, ask: SubjectExchange) -> None:
        self.token = token
        self.ask = ask
        self.served = 0
        self.refused: list[str] = []
        self.overrun = False

    def refuse(self, why: str) -> str:
        """Record why a request is refused."""
        if why not in self.refused and len(self.refused) < MOST_REQUESTS:
            self.refused.append(why)
        return why

    def refusal(self, *, stream: Any) -> str | None:
        """Return why a request for this response is refused, or None if it is served."""
        if stream is not self.ask.stream:
            wanted, got = ("streamed", "plain") if self.ask.stream else ("plain", "streamed")
            return f"it asked for a {got} answer, and the question is about a {wanted} one"
        if self.served >= MOST_REQUESTS:
            self.overrun = True
            return f"it asked more than {MOST_REQUESTS} times for one answer"
        return None


class LoopbackServers:
    """The servers, which start with the first question. ``close`` stops them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._servers: Servers | None = None
        self._count = 0
        self._now: PendingResponse | None = None

    @contextmanager
    def question(self, ask: SubjectExchange) -> Iterator[tuple[PendingResponse, str]]:
        """Serve one response while the block runs.

        Yields the question and its base address. Raises ServerNotStarted.
        """
        if self._servers is None:
            self._servers = self._stack.enter_context(serving(self._application(), _Chat(self)))
        self._count += 1
        self._now = question = PendingResponse(f"q{self._count}", ask)
        try:
            if ask.wire == "xai.grpc":
                yield question, self._servers.grpc_address
            else:
                yield question, f"{self._servers.http_url}/{question.token}{_BASES[ask.wire]}"
        finally:
            self._now = None

    def close(self) -> None:
        """Stop the servers; open responses are aborted."""
        self._stack.close()
        self._servers = None

    def now(self) -> PendingResponse | None:
        """Return the open question."""
        return self._now

    def _application(self) -> Starlette:
        methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return Starlette(routes=[Route("/{path:path}", self._respond, methods=methods)])

    async def _respond(self, request: Request) -> Response:
        question = self._now
        if question is None:
            return _refused(410, "no question is open")
        token, _, rest = request.path_params["path"].partition("/")
        told = f"{request.method} {request.url.path}"
        if token != question.token:
            return _refused(410, question.refuse(f"{told}: this is not the base_url of the question"))
        end = _ENDS.get(question.ask.wire)
        if request.method != "POST" or end is None or not f"/{rest}".endswith(end):
            return _refused(404, question.refuse(f"{told}: only POST …{end or ''} is answered"))
        body = await _body(request)
        if body is None:
            return _refused(413, question.refuse(f"{told}: the request has more than {_LARGEST:,} bytes"))
        if (why := question.refusal(stream=_streams(body))) is not None:
            return _refused(400, question.refuse(f"{told}: {why}"))
        question.served += 1
        return _answer(question.ask)


class _Chat(chat_pb2_grpc.ChatServicer):  # type: ignore[misc] # the SDK's stubs are untyped
    """xAI's chat service, which sends the messages of the open question."""

    def __init__(self, loopback: LoopbackServers) -> None:
        self._loopback = loopback

    async def GetCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802 - the service's name
        """Send the response as one message."""
        ask = (await self._asked(context, stream=False)).ask
        if ask.status >= 400:
            return await _broken(ask.body, context)
        return chat_pb2.GetChatCompletionResponse.FromString(ask.body)

    async def GetCompletionChunk(self, request: Any, context: _Context) -> AsyncIterator[Any]:  # noqa: N802
        """Send the response in chunks."""
        ask = (await self._asked(context, stream=True)).ask
        messages, end = (ask.pieces[:-1], ask.pieces[-1]) if ask.status >= 400 else (ask.pieces, None)
        for message in messages:
            yield chat_pb2.GetChatCompletionChunk.FromString(message)
        if end is not None:
            await _broken(end, context)

    async def _asked(self, context: _Context, *, stream: bool) -> PendingResponse:
        question = self._loopback.now()
        if question is None or question.ask.wire != "xai.grpc":
            what = "no question about xai.grpc is open"
            await context.abort(grpc.StatusCode.NOT_FOUND, question.refuse(f"gRPC: {what}") if question else what)
        if (why := question.refusal(stream=stream)) is not None:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, question.refuse(f"gRPC: {why}"))
        question.served += 1
        return question


async def _broken(status: bytes, context: _Context) -> NoReturn:
    """Abort a call with the provider's status: ``{"code", "details"}``."""
    told = json_codec.decode(status)
    await context.abort(getattr(grpc.StatusCode, told["code"], grpc.StatusCode.UNKNOWN), str(told.get("details") or ""))


async def _body(request: Request) -> bytes | None:
    """Return the request's body, or None if it is too long."""
    body = bytearray()
    async for some in request.stream():
        body += some
        if len(body) > _LARGEST:
            return None
    return bytes(body)


def _streams(body: bytes) -> bool:
    try:
        value: Any = json_codec.decode(body)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("stream") is True


def _answer(ask: SubjectExchange) -> Response:
    """Return the HTTP response. A stream keeps its pieces, each as one HTTP chunk."""
    if not ask.stream or ask.status >= 400:
        return Response(ask.body, ask.status, media_type="application/json")
    return StreamingResponse(_each(ask.pieces), ask.status, {"content-type": "text/event-stream"})


async def _each(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for number, piece in enumerate(pieces):
        if number % _UNSEEN == 0:
            await asyncio.sleep(0)
        if piece:  # an empty chunk would end the body
            yield piece


def _refused(status: int, why: str) -> JSONResponse:
    inner = {"type": "not_served", "message": why}
    return JSONResponse({"type": "error", "error": inner}, status)
