"""HTTP endpoints of the emulated providers, and the request handling that all of them share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

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
from ..surfaces import SURFACES, Surface
from .encoding import encoded, encoding
from .script_player import ConnectionReset, Play, ProviderRefusal, StoredAnswers, play

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


def application(library: Mapping[str, Script] | None = None) -> Starlette:
    """Return the ASGI application of all endpoints. ``library``: scripts by id, by default those of this package."""
    held = StoredAnswers()
    routes = []
    for surface in _surfaces():
        path = surface.base_path + surface.spec.path
        routes.append(Route(path, _asked(surface, held, library), methods=["POST"]))
        if surface.spec.stream_path:
            stream_path = surface.base_path + surface.spec.stream_path
            routes.append(Route(stream_path, _asked(surface, held, library, stream=True), methods=["POST"]))
        if encoding(surface).stores:
            routes.append(Route(path + "/{id}", _asked_again(surface, held), methods=["GET"]))
    return Starlette(
        routes=routes, exception_handlers={HTTPException: nowhere}, middleware=[Middleware(_MarksEmulation)]
    )


def _surfaces() -> list[Surface]:
    return [surface for surface in SURFACES.values() if not surface.by_messages]


def _asked(
    surface: Surface, held: StoredAnswers, library: Mapping[str, Script] | None, *, stream: bool = False
) -> Callable[[Request], Any]:
    """``stream``: the path requests a stream."""
    by_path = stream

    async def respond(request: Request) -> Response:
        emulation = surface.emulation
        try:
            _check_key(request)
            body = _parsed(surface, request.headers.get("content-type", ""), await request.body(), request.path_params)
            played = play(surface, body, held, library)
            stream = by_path or body.get("stream", surface.spec.streams_by_default) is True
            if not stream:
                _no_plain_answer(played)
        except ProviderRefusal as refused:
            return _refusal(surface, refused)
        if encoding(surface).stores and body.get("store") is not False:
            held.keep(emulation.answer(played)["id"], played)
        headers = emulation.headers(played)
        if stream:
            return _Pieces(emulation.events(played), {**headers, "content-type": encoding(surface).stream_type})
        data = encoded(surface, emulation.answer(played))
        if played.fault is not None:
            return _Pieces(_half(data), {**headers, "content-type": "application/json"})
        return Response(data, headers=headers, media_type="application/json")

    return respond


def _asked_again(surface: Surface, held: StoredAnswers) -> Callable[[Request], Any]:
    async def respond(request: Request) -> Response:
        emulation = surface.emulation
        id = request.path_params["id"]
        try:
            _check_key(request)
            stored = held.answer(id)
            if stored is None or stored.surface.name != surface.name:
                raise ProviderRefusal("not_found", f"Response with id '{id}' not found.")
        except ProviderRefusal as refused:
            return _refusal(surface, refused)
        data = encoded(surface, emulation.answer(stored))
        return Response(data, headers=emulation.headers(stored), media_type="application/json")

    return respond


async def nowhere(request: Request, error: Exception) -> Response:
    """Answer a request for an unknown path or method with the 404 or 405 response of the provider that owns the path.

    Paths under no provider get the error of the first surface.
    """
    path_asked = request.url.path
    if path_asked.startswith("/scenario/"):  # a path of the replay server
        path_asked = "/" + path_asked.removeprefix("/scenario/").partition("/")[2]
    provider = path_asked.split("/")[1]
    surface = next((surface for surface in _surfaces() if surface.provider == provider), _surfaces()[0])
    path = path_asked.removeprefix(f"/{surface.provider}")
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = f"Invalid URL ({request.method} {path})"
    return _refusal(surface, ProviderRefusal("not_found", words, status=status))


def _check_key(request: Request) -> None:
    header = next((name for name in ("x-api-key", "x-goog-api-key") if request.headers.get(name)), "authorization")
    key = request.headers.get(header, "").removeprefix("Bearer ")
    key = key.removeprefix("AWS4-HMAC-SHA256 Credential=")  # AWS signs requests; the header begins with the key
    if not key.strip() or key.startswith(BAD_KEY):
        raise ProviderRefusal("authentication", "the API key is missing or unknown", value=key.strip() or None)


def _parsed(surface: Surface, content_type: str, data: bytes, in_path: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a request, with the model that its path names."""
    if content_type.partition(";")[0].strip().lower() != "application/json":
        words = f"Unsupported content type: '{content_type}'. This API method only accepts 'application/json' requests."
        raise ProviderRefusal("invalid_request", words, rule="content-type")
    body = request_body(data)
    if "model" in in_path:
        body = {surface.spec.model_member: in_path["model"], **body}
    elif (refusal := without_model(body)) is not None:
        raise refusal
    for path, value, expected in _misshapen(body):
        words = f"expected {expected}, but got {type(value).__name__} instead"
        raise ProviderRefusal("invalid_request", words, path=path, rule="member-type", value=value)
    return body


def without_model(body: dict[str, Any]) -> ProviderRefusal | None:
    """Return the error of a request that should name a model and does not, None for another one."""
    model = body.get("model")
    if isinstance(model, str):
        return None
    return ProviderRefusal("invalid_request", "Field required", path="model", rule="model-present", value=model)


def request_body(data: bytes) -> dict[str, Any]:
    """Return the object in the body of a request. Raises ProviderRefusal."""
    try:
        body = json_codec.decode(data)
    except ValueError:
        raise ProviderRefusal(
            "invalid_request", "We could not parse the JSON body of your request.", rule="json"
        ) from None
    if not isinstance(body, dict):
        raise ProviderRefusal("invalid_request", "The JSON body of your request is not an object.", rule="json")
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


def _no_plain_answer(played: Play) -> None:
    """Raise ProviderRefusal if the script fails in the middle of the answer: a plain body becomes an error response."""
    fault = played.fault
    if fault is not None and fault.kind not in ("cut", "reset"):
        raise ProviderRefusal(fault.kind, f"the script {played.script.id} fails here", retry_after=fault.retry_after)


def _refusal(surface: Surface, refused: ProviderRefusal) -> Response:
    status, headers, body = surface.emulation.error(refused)
    return Response(encoded(surface, body), status, headers, "application/json")


def _half(data: bytes) -> Iterator[bytes]:
    yield data[: len(data) // 2]
    raise ConnectionReset


class _MarksEmulation:
    """Middleware that adds the emulation header to every response, also to error responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def mark(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[emulation_marker.HEADER] = emulation_marker.EMULATED
            await send(message)

        await self._app(scope, receive, mark)


class _Pieces(Response):
    """A response body in chunks. On ConnectionReset the last chunk is missing, so the server closes the connection."""

    def __init__(self, pieces: Iterator[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(None, headers=headers)
        self._pieces = pieces
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for piece in _one_by_one(self._pieces):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except ConnectionReset:
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _one_by_one(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield each chunk, and let the event loop run before the next one, so that each is sent separately."""
    import asyncio

    for piece in pieces:
        yield piece
        await asyncio.sleep(0)
