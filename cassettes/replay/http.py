"""Recorded answers over HTTP, under the paths at which the official SDKs expect them.

    base_url http://127.0.0.1:PORT/openai/v1          matched by what the request says
    base_url http://127.0.0.1:PORT/scenario/parallel-three/openai/v1      the answers of one scenario

A header ``x-toolparity-scenario`` names a scenario, too. Every answer has ``x-toolparity-origin`` (live, emulated,
imported) and ``x-toolparity-cassette`` (which one it is from).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from normalizer import jsontext
from normalizer.errors import RequestNotRecorded

from ..chunking import CHUNKINGS
from ..emulated.http import nowhere
from ..surfaces import SURFACES, Surface
from .deck import Deck, Track

SCENARIO_HEADER = "x-toolparity-scenario"

#: Path -> surface: what the SDKs append to a base of ours.
PATHS = {
    "/openai/v1/chat/completions": "openai.chat",
    "/openai/v1/responses": "openai.responses",
    "/xai/v1/chat/completions": "xai.chat",
    "/xai/v1/responses": "xai.responses",
    "/anthropic/v1/messages": "anthropic.messages",
}
#: Headers of a recording that are about how the bytes travelled then.
_TRAVEL = frozenset(("transfer-encoding", "content-length", "content-encoding", "connection", "date", "server"))


def application(deck: Deck, *, chunking: str = "events", delay: float = 0.0) -> Starlette:
    """The ASGI application. ``chunking``: of `cassettes.chunking`; ``delay``: seconds before each piece."""
    routes = []
    for path, name in PATHS.items():
        respond = _respond(deck, SURFACES[name], chunking, delay)
        routes.append(Route(path, respond, methods=["POST"]))
        routes.append(Route("/scenario/{scenario}" + path, respond, methods=["POST"]))
    return Starlette(routes=routes, exception_handlers={HTTPException: nowhere})


def _respond(deck: Deck, surface: Surface, chunking: str, delay: float) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        body = await request.body()
        scenario = request.path_params.get("scenario") or request.headers.get(SCENARIO_HEADER)
        try:
            track = deck.find(surface, body, stream=_streams(body), scenario=scenario)
        except RequestNotRecorded as error:
            return _refusal(surface, error)
        return _answer(track, chunking, delay)

    return respond


def _streams(body: bytes) -> bool:
    try:
        value: Any = jsontext.decode(body)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("stream") is True


def _answer(track: Track, chunking: str, delay: float) -> Response:
    headers = {**_headers(track.response.get("headers") or {}), **track.told}
    status = track.response["status"]["code"]
    streamed = "event-stream" in headers.get("content-type", "")
    pieces = CHUNKINGS[chunking](track.answer) if streamed else [track.answer]
    if not streamed and not delay:
        return Response(track.answer, status, headers)
    return StreamingResponse(_paced(pieces, delay), status, headers)


def _headers(recorded: dict[str, Any]) -> dict[str, str]:
    told = {}
    for name, values in recorded.items():
        if name.lower() not in _TRAVEL:
            told[name.lower()] = ", ".join(map(str, values)) if isinstance(values, list) else str(values)
    return told


async def _paced(pieces: Iterable[bytes], delay: float) -> Any:
    for piece in pieces:
        await asyncio.sleep(delay)  # at 0 the loop still sends each piece by itself
        yield piece


def _refusal(surface: Surface, error: RequestNotRecorded) -> JSONResponse:
    """404 in a shape that the SDKs show as a message."""
    inner: dict[str, Any] = {"type": "not_recorded", "message": str(error)}
    if surface.wire == "anthropic.messages":
        return JSONResponse({"type": "error", "error": inner}, 404)
    return JSONResponse({"error": inner}, 404)
