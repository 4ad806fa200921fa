"""HTTP endpoints of the emulated providers: the table of paths, and the request handling that all of them share."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolparity.normalizer import json_codec

from .. import emulation_marker
from ..scripts import Script
from ..surfaces import SURFACES
from .script_player import Held, Play, Refused, Reset, play

#: The emulated providers reject an API key with this prefix, and accept every other one.
BAD_KEY = "invalid"
#: Members of request bodies that must be lists or objects.
_SHAPES: dict[str, type] = {
    "include": list,
    "messages": list,
    "metadata": dict,
    "reasoning": dict,
    "stream_options": dict,
    "text": dict,
    "tools": list,
}


class Spelling(Protocol):
    """The functions of a module that encodes the answers of one surface."""

    def answer(self, play: Play) -> dict[str, Any]:
        """Return the body of an answer that is not streamed."""

    def events(self, play: Play) -> Iterator[bytes]:
        """Yield the chunks of the streamed body. Raises Reset at the point where the script breaks the connection."""

    def error(self, refused: Refused) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Return the status, additional headers and body of an error response."""

    def headers(self, play: Play) -> dict[str, str]:
        """Return the provider's headers of an answer."""


class Endpoint(NamedTuple):
    """A path of the HTTP server.

    ``module``: the module of this package that encodes the answers (see `Spelling`). ``streamed``: the content type of
    a stream. ``indented``: the provider indents the JSON of bodies that are not streamed. ``keeps``: the provider
    stores answers, and GET returns them by id.
    """

    path: str
    surface: str
    module: str
    streamed: str = "text/event-stream; charset=utf-8"
    indented: bool = False
    keeps: bool = False

    @property
    def spelling(self) -> Spelling:
        return cast(Spelling, import_module(f".{self.module}", __package__))


ENDPOINTS = (
    Endpoint("/openai/v1/chat/completions", "openai.chat", "openai_chat", indented=True),
    Endpoint("/openai/v1/responses", "openai.responses", "openai_responses", indented=True, keeps=True),
    Endpoint("/xai/v1/chat/completions", "xai.chat", "xai_chat", "text/event-stream"),
    Endpoint("/xai/v1/responses", "xai.responses", "xai_responses", "text/event-stream", keeps=True),
    Endpoint("/anthropic/v1/messages", "anthropic.messages", "anthropic_messages"),
)


def application(library: Mapping[str, Script] | None = None) -> Starlette:
    """Return the ASGI application of all endpoints. ``library``: scripts by id, by default those of this package."""
    held = Held()
    routes = []
    for endpoint in ENDPOINTS:
        routes.append(Route(endpoint.path, _asked(endpoint, held, library), methods=["POST"]))
        if endpoint.keeps:
            routes.append(Route(endpoint.path + "/{id}", _asked_again(endpoint, held), methods=["GET"]))
    return Starlette(
        routes=routes, exception_handlers={HTTPException: nowhere}, middleware=[Middleware(_SayingWhoAnswers)]
    )


def _asked(endpoint: Endpoint, held: Held, library: Mapping[str, Script] | None) -> Callable[[Request], Any]:
    async def respond(request: Request) -> Response:
        spelling = endpoint.spelling
        try:
            _check_key(request)
            body = _parsed(request.headers.get("content-type", ""), await request.body())
            found = play(SURFACES[endpoint.surface], body, held, library)
            stream = body.get("stream") is True
            if not stream:
                _no_plain_answer(found)
        except Refused as refused:
            return _refusal(endpoint, refused)
        if endpoint.keeps and body.get("store") is not False:
            held.keep(spelling.answer(found)["id"], found)
        headers = spelling.headers(found)
        if stream:
            return _Pieces(spelling.events(found), {**headers, "content-type": endpoint.streamed})
        data = _json(spelling.answer(found), endpoint.indented)
        if found.fault() is not None:
            return _Pieces(_half(data), {**headers, "content-type": "application/json"})
        return Response(data, headers=headers, media_type="application/json")

    return respond


def _asked_again(endpoint: Endpoint, held: Held) -> Callable[[Request], Any]:
    async def respond(request: Request) -> Response:
        spelling = endpoint.spelling
        id = request.path_params["id"]
        try:
            _check_key(request)
            found = held.answer(id)
            if found is None or found.surface.name != endpoint.surface:
                raise Refused("not_found", f"Response with id '{id}' not found.")
        except Refused as refused:
            return _refusal(endpoint, refused)
        data = _json(spelling.answer(found), endpoint.indented)
        return Response(data, headers=spelling.headers(found), media_type="application/json")

    return respond


async def nowhere(request: Request, error: Exception) -> Response:
    """Answer a request for an unknown path or method with the 404 or 405 response of the provider that owns the path.

    Paths under no provider get the error of the first endpoint.
    """
    asked = request.url.path
    if asked.startswith("/scenario/"):  # a path of the replay server
        asked = "/" + asked.removeprefix("/scenario/").partition("/")[2]
    endpoint = next((e for e in ENDPOINTS if e.path.split("/")[1] == asked.split("/")[1]), ENDPOINTS[0])
    path = asked.removeprefix("/" + endpoint.path.split("/")[1])
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = f"Invalid URL ({request.method} {path})"
    return _refusal(endpoint, Refused("not_found", words, status=status))


def _check_key(request: Request) -> None:
    given = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
    if not given.strip() or given.startswith(BAD_KEY):
        raise Refused("authentication", "the key is missing or unknown", value=given.strip() or None)


def _parsed(content_type: str, data: bytes) -> dict[str, Any]:
    if content_type.partition(";")[0].strip().lower() != "application/json":
        words = f"Unsupported content type: '{content_type}'. This API method only accepts 'application/json' requests."
        raise Refused("invalid_request", words, rule="content-type")
    try:
        body = json_codec.decode(data)
    except ValueError:
        raise Refused("invalid_request", "We could not parse the JSON body of your request.", rule="json") from None
    if not isinstance(body, dict):
        raise Refused("invalid_request", "The JSON body of your request is no object.", rule="json")
    if not isinstance(body.get("model"), str):
        raise Refused("invalid_request", "Field required", path="model", rule="model-missing", value=body.get("model"))
    for path, value, expected in _misshapen(body):
        words = f"expected {expected}, but got {type(value).__name__} instead"
        raise Refused("invalid_request", words, path=path, rule="member-type", value=value)
    return body


def _misshapen(body: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield the path, value and expected type of each member whose type the encoding modules cannot handle."""
    for member, kind in _SHAPES.items():
        if body.get(member) is not None and not isinstance(body[member], kind):
            yield member, body[member], "an array" if kind is list else "an object"
    for member in ("tools", "messages"):
        for number, item in enumerate(body.get(member) or ()):
            if not isinstance(item, dict):
                yield f"{member}[{number}]", item, "an object"


def _no_plain_answer(found: Play) -> None:
    """Raise Refused if the script fails in the middle of the answer. A plain body then becomes an error response."""
    fault = found.fault()
    if fault is not None and fault.kind not in ("cut", "reset"):
        raise Refused(fault.kind, f"the script {found.script.id} fails here", retry_after=fault.retry_after)


def _refusal(endpoint: Endpoint, refused: Refused) -> Response:
    status, headers, body = endpoint.spelling.error(refused)
    return Response(_json(body, endpoint.indented), status, headers, "application/json")


def _json(body: dict[str, Any], indented: bool) -> bytes:
    if indented:
        try:
            return json.dumps(body, indent=2, ensure_ascii=False).encode() + b"\n"
        except UnicodeEncodeError:  # scripts may put lone surrogates into arguments
            return json.dumps(body, indent=2).encode() + b"\n"
    return json_codec.encode(body)


def _half(data: bytes) -> Iterator[bytes]:
    yield data[: len(data) // 2]
    raise Reset


class _SayingWhoAnswers:
    """Middleware that adds the emulation header to every response, also to error responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def saying(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[emulation_marker.HEADER] = emulation_marker.EMULATED
            await send(message)

        await self._app(scope, receive, saying)


class _Pieces(Response):
    """A response body in chunks. On Reset it ends without its last chunk, so the server closes the connection."""

    def __init__(self, pieces: Iterator[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(None, headers=headers)
        self._pieces = pieces
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for piece in _one_by_one(self._pieces):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except Reset:
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _one_by_one(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield each chunk, and let the event loop run before the next one, so that each is sent separately."""
    import asyncio

    for piece in pieces:
        yield piece
        await asyncio.sleep(0)
