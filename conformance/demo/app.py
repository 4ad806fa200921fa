"""The web application of the demo: one page and its API. The page loads nothing from other servers.

GET  /                      the page
POST /turns                 {message, surface, policy, …} -> {turn}
GET  /turns/ID/events       server-sent events, resumed after Last-Event-ID; 204 if no more events follow
GET  /turns/ID/wire         the requests and response pieces on the wire
POST /turns/ID/cancel, /turns/ID/resume, /turns/ID/decide {call_id, approved, reason}
GET  /turns                 turns that a crash interrupted, or that wait
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.scripts import Script, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.policies import POLICIES
from toolparity.normalizer.turns import sse
from toolparity.normalizer.turns.errors import TurnHeld, TurnMisused, UnknownTurn
from toolparity.normalizer.turns.log import Log

from .narrator import ScriptLibrary
from .sessions import Sessions, TurnRequest
from .tools import Throttle

_FILES = {
    "/": ("index.html", "text/html"),
    "/app.js": ("app.js", "text/javascript"),
    "/style.css": ("style.css", "text/css"),
}
#: The page may fetch from this server only, and no other page may frame it.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: The maximum size of a request body, in bytes.
_LARGEST = 100_000

_Handler = Callable[[Request, Sessions], Awaitable[Response]]


class _Decision(Struct, frozen=True, forbid_unknown_fields=True):
    call_id: str
    approved: bool
    reason: str | None = None


def application(
    servers: Servers,
    log: Log,
    library: ScriptLibrary,
    throttle: Throttle | None = None,
    *,
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]"),
) -> Starlette:
    """Return the ASGI application.

    ``library``: the scripts that ``servers`` play. ``hosts``: the allowed host names.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        sessions = Sessions(servers, log, library, throttle if throttle is not None else Throttle())
        try:
            yield {"sessions": sessions}
        finally:
            await sessions.aclose()

    routes = [Route(path, _file(name, kind)) for path, (name, kind) in _FILES.items()]
    routes += [
        Route("/choices", _handled(_choices)),
        Route("/turns", _handled(_open), methods=["GET"]),
        Route("/turns", _handled(_start), methods=["POST"]),
        Route("/turns/{id}/events", _handled(_events)),
        Route("/turns/{id}/wire", _handled(_wire)),
        Route("/turns/{id}/cancel", _handled(_cancel), methods=["POST"]),
        Route("/turns/{id}/resume", _handled(_resume), methods=["POST"]),
        Route("/turns/{id}/decide", _handled(_decide), methods=["POST"]),
    ]
    guard = Middleware(_Guarded, hosts=frozenset(hosts))
    return Starlette(routes=routes, lifespan=lifespan, middleware=[guard])


async def _choices(request: Request, sessions: Sessions) -> Response:
    """Return the surfaces, the policies, and the suggested messages."""
    asks = [
        {"ask": script.ask, "title": script.title, "surfaces": [s.name for s in SURFACES.values() if s.plays(script)]}
        for script in _suggested()
    ]
    return _json({"surfaces": list(SURFACES), "policies": list(POLICIES), "asks": asks})


async def _start(request: Request, sessions: Sessions) -> Response:
    return _json({"turn": await sessions.start(await _body(request, TurnRequest))}, 201)


async def _open(request: Request, sessions: Sessions) -> Response:
    return _json({"left": await sessions.log.left(), "waiting": await sessions.log.turns("waiting")})


async def _events(request: Request, sessions: Sessions) -> Response:
    id, seen = request.path_params["id"], request.headers.get("last-event-id")
    if await sse.over(sessions.log, id, seen):
        return Response(status_code=204)  # only a 204 stops a browser from reconnecting
    return StreamingResponse(sse.events(sessions.log, id, seen), headers=sse.HEADERS)


async def _wire(request: Request, sessions: Sessions) -> Response:
    exchanges = sessions.wire(request.path_params["id"])
    if exchanges is None:
        raise UnknownTurn("the wire log of this turn is no longer stored")
    return _json({"exchanges": exchanges})


async def _cancel(request: Request, sessions: Sessions) -> Response:
    return _json({"cancelled": await sessions.cancel(request.path_params["id"])})


async def _resume(request: Request, sessions: Sessions) -> Response:
    await sessions.resume(request.path_params["id"])
    return _json({}, 202)


async def _decide(request: Request, sessions: Sessions) -> Response:
    decision = await _body(request, _Decision)
    await sessions.decide(request.path_params["id"], decision.call_id, decision.approved, decision.reason)
    return _json({}, 202)


def _suggested() -> list[Script]:
    return list(scripts().values())


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        data = (resources.files(__package__) / "page" / name).read_bytes()
        return Response(data, media_type=f"{kind}; charset=utf-8")

    return serve


def _handled(handle: _Handler) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        try:
            return await handle(request, request.state.sessions)
        except UnknownTurn as error:
            return _json({"error": str(error)}, 404)
        except (TurnHeld, TurnMisused) as error:
            return _json({"error": str(error)}, 409)
        except (ToolparityError, msgspec.ValidationError, msgspec.DecodeError) as error:
            return _json({"error": str(error)}, 400)

    return respond


async def _body(request: Request, kind: type[Any]) -> Any:
    """Return the decoded JSON body.

    Other content types are refused, because an HTML form of another site can send them.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise msgspec.ValidationError("the content type must be application/json")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > _LARGEST:
            raise msgspec.ValidationError("the body is too large")
    return msgspec.json.decode(data, type=kind)


def _json(value: Any, status: int = 200) -> Response:
    return Response(json_codec.encode(value), status, {"cache-control": "no-store"}, "application/json")


class _Guarded:
    """Middleware that refuses unknown host names and adds security headers to every response."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = _POLICY
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
            await send(message)

        # Refuse a foreign host name that resolves to this machine (DNS rebinding).
        host = Headers(scope=scope).get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        app = self._app if name in self._hosts else Response("unknown host", 421)
        await app(scope, receive, guarded)
