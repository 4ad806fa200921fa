"""HTTP replay of recorded responses, under the paths that the official SDKs expect.

    base_url http://127.0.0.1:PORT/openai/v1          matched by content
    base_url http://127.0.0.1:PORT/scenario/parallel-three/openai/v1      the responses of one scenario

The header ``x-toolparity-scenario`` also selects a scenario. Every response has ``x-toolparity-origin`` (live,
emulated, imported) and ``x-toolparity-cassette`` (its cassette). ``GET …/models`` lists the models of the recorded
requests; no provider sent that list, so its origin is emulated. Pages served by this machine may read the responses
(CORS), and so may those of the origins that the caller allows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from toolparity.normalizer import json_codec

from .. import emulation_marker
from ..chunking import CHUNKINGS
from ..emulated.http import nowhere
from ..errors import RequestNotRecorded
from ..surfaces import Surface
from .response_index import PLACE_HEADER, RecordedResponse, ResponseIndex

SCENARIO_HEADER = "x-toolparity-scenario"

#: Origins of pages that this machine serves.
_LOCAL_PAGE = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"
#: Recorded headers that describe the original transport.
_TRAVEL = frozenset(("transfer-encoding", "content-length", "content-encoding", "connection", "date", "server"))


def application(
    index: ResponseIndex, *, chunking: str = "events", delay: float = 0.0, origins: Sequence[str] = ()
) -> Starlette:
    """Return the ASGI application.

    ``chunking``: a name from `toolparity.cassettes.chunking`. ``delay``: seconds before each chunk. ``origins``: web
    origins that may read the responses besides this machine's own; "*" allows all.
    """
    routes = []
    for surface in index.surfaces:
        if surface.by_messages:
            continue
        path, models = surface.base_path + surface.spec.path, surface.base_path + surface.spec.models_path
        for start in ("", "/scenario/{scenario}"):
            routes.append(Route(start + path, _respond(index, surface, chunking, delay), methods=["POST"]))
            if stream_path := surface.spec.stream_path:
                streamed = _respond(index, surface, chunking, delay, stream=True)
                routes.append(Route(start + surface.base_path + stream_path, streamed, methods=["POST"]))
            routes.append(Route(start + models, _list(index, surface), methods=["GET"]))
            routes.append(Route(start + models + "/{model:path}", _list(index, surface), methods=["GET"]))
    shared = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_origin_regex=_LOCAL_PAGE,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=[emulation_marker.HEADER, PLACE_HEADER],
    )
    return Starlette(routes=routes, exception_handlers={HTTPException: nowhere}, middleware=[shared])


def _list(index: ResponseIndex, surface: Surface) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that lists the recorded models, or the model in the path, in the provider's format."""

    async def respond(request: Request) -> Response:
        models, named = index.models(surface.provider), request.path_params.get("model")
        if named is not None and named not in models:
            what = f"unknown model: {named!r}; recorded requests use {', '.join(models)}"
            return _refusal(surface, RequestNotRecorded(what, where=surface.name))
        if named is not None:
            listed = _format(surface, "model_entry")(named, surface.provider)
        else:
            entries = [_format(surface, "model_entry")(model, surface.provider) for model in models]
            listed = _format(surface, "model_list")(entries)
        return JSONResponse(listed, headers={emulation_marker.HEADER: emulation_marker.EMULATED})

    return respond


class _OpenAI:
    """OpenAI's format of models and errors, for wires whose emulation does not state another one."""

    @staticmethod
    def wrap_error(error: dict[str, Any]) -> dict[str, Any]:
        return {"error": error}

    @staticmethod
    def model_entry(model: str, provider: str) -> dict[str, Any]:
        return {"id": model, "object": "model", "created": 0, "owned_by": provider}

    @staticmethod
    def model_list(entries: list[dict[str, Any]]) -> dict[str, Any]:
        return {"data": entries, "object": "list"}


def _format(surface: Surface, name: str) -> Callable[..., dict[str, Any]]:
    """Return a function of the emulation of the wire's owner (see `toolparity.cassettes.emulated`)."""
    emulation = surface.spec.part("emulation", home="toolparity.cassettes.emulated")
    function: Callable[..., dict[str, Any]] = getattr(emulation, name, None) or getattr(_OpenAI, name)
    return function


def _respond(
    index: ResponseIndex, surface: Surface, chunking: str, delay: float, *, stream: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """``stream``: the path requests a stream."""

    async def respond(request: Request) -> Response:
        body = await request.body()
        scenario = request.path_params.get("scenario") or request.headers.get(SCENARIO_HEADER)
        try:
            recorded = index.find(surface, body, stream=stream or _streams(body), scenario=scenario)
        except RequestNotRecorded as error:
            return _refusal(surface, error)
        return _answer(recorded, chunking, delay)

    return respond


def _streams(body: bytes) -> bool:
    try:
        value: Any = json_codec.decode(body)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("stream") is True


def _answer(recorded: RecordedResponse, chunking: str, delay: float) -> Response:
    headers = {**_headers(recorded.response.get("headers") or {}), **recorded.source_headers}
    status = recorded.response["status"]["code"]
    streamed = "event-stream" in headers.get("content-type", "")
    pieces = CHUNKINGS[chunking](recorded.answer) if streamed else [recorded.answer]
    if not streamed and not delay:
        return Response(recorded.answer, status, headers)
    return StreamingResponse(_paced(pieces, delay), status, headers)


def _headers(recorded: dict[str, Any]) -> dict[str, str]:
    headers = {}
    for name, values in recorded.items():
        if name.lower() not in _TRAVEL:
            headers[name.lower()] = ", ".join(map(str, values)) if isinstance(values, list) else str(values)
    return headers


async def _paced(pieces: Iterable[bytes], delay: float) -> Any:
    for piece in pieces:
        await asyncio.sleep(delay)  # even a delay of 0 makes the loop send each chunk separately
        yield piece


def _refusal(surface: Surface, error: RequestNotRecorded) -> JSONResponse:
    """Return 404 in a format that the SDKs show as a message."""
    return JSONResponse(_format(surface, "wrap_error")({"type": "not_recorded", "message": str(error)}), 404)
