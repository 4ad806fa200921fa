"""The web application of the demo: one page and its API. The page loads nothing from other servers.

GET  /                      the page
GET  /states.svg            the state diagram of a turn
GET  /choices               the acts, the surfaces, the policies, the messages of the chat, the id of this process
POST /turns                 {message, act, surface, policy, …} -> {turn}
GET  /turns                 turns that a crash interrupted, or that wait
GET  /turns/ID              {status, running, held}
GET  /turns/ID/events       server-sent events, resumed after Last-Event-ID; 204 if no more events follow
GET  /turns/ID/trace        the requests and response pieces on the wire, the canonical form, the times of the events
POST /turns/ID/cancel, /turns/ID/resume, /turns/ID/decide {call_id, approved, reason}
POST /kill                  kills the process of the server, if another one takes its place
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.policies import POLICIES
from toolparity.normalizer.turns import sse
from toolparity.normalizer.turns.errors import TurnHeld, TurnMisused, UnknownTurn
from toolparity.normalizer.turns.log import Log

from .acts import Act
from .clients import connected
from .factory import TurnFactory, TurnRequest
from .guard import Guarded
from .narrator import ScriptLibrary
from .sessions import Sessions
from .state_picture import state_picture
from .tools import Throttle

_PAGE = resources.files(__package__) / "page"
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
#: The colours, fonts and basic elements of all pages of this project.
_BASE_STYLE = resources.files("toolparity.reports") / "html" / "assets" / "base.css"
#: The maximum size of a request body, in bytes.
_LARGEST = 100_000

_Handler = Callable[[Request, Sessions], Awaitable[Response]]


class _Decision(Struct, frozen=True, forbid_unknown_fields=True):
    call_id: str
    approved: bool
    reason: str | None = None


def application(
    servers: Servers,
    surfaces: list[Surface],
    log: Log,
    library: ScriptLibrary,
    throttle: Throttle | None = None,
    *,
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]"),
    kill: Callable[[], None] | None = None,
) -> Starlette:
    """Return the ASGI application.

    ``surfaces``: those whose SDK is installed. ``library``: the scripts that ``servers`` play. ``hosts``: the allowed
    host names. ``kill``: ends this process at once; None if no other process would take its place.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        async with connected(servers, surfaces) as clients:
            factory = TurnFactory(clients, library, throttle if throttle is not None else Throttle())
            sessions = Sessions(log, factory)
            try:
                yield {"sessions": sessions, "kill": kill}
            finally:
                await sessions.aclose()

    routes = [Route(path, _file(file, kind)) for path, file, kind in _files()]
    routes += [
        Route("/states.svg", _states),
        Route("/choices", _handled(_choices)),
        Route("/turns", _handled(_open), methods=["GET"]),
        Route("/turns", _handled(_start), methods=["POST"]),
        Route("/turns/{id}", _handled(_status)),
        Route("/turns/{id}/events", _handled(_events)),
        Route("/turns/{id}/trace", _handled(_trace)),
        Route("/turns/{id}/cancel", _handled(_cancel), methods=["POST"]),
        Route("/turns/{id}/resume", _handled(_resume), methods=["POST"]),
        Route("/turns/{id}/decide", _handled(_decide), methods=["POST"]),
        Route("/kill", _handled(_kill), methods=["POST"]),
    ]
    guard = Middleware(Guarded, hosts=frozenset(hosts))
    return Starlette(routes=routes, lifespan=lifespan, middleware=[guard])


async def _choices(request: Request, sessions: Sessions) -> Response:
    """Return everything that the page offers."""
    surfaces = [SURFACES[name] for name in sessions.surfaces]
    asks = [
        {"ask": script.ask, "title": script.title, "surfaces": [s.name for s in surfaces if s.plays(script)]}
        for script in scripts().values()
    ]
    listed = [_described(act, surfaces) for act in sessions.acts.values() if act.action != "kill" or request.state.kill]
    return _json(
        {
            "surfaces": sessions.surfaces,
            "streamed_only": [surface.name for surface in surfaces if surface.by_messages],
            "policies": list(POLICIES),
            "asks": asks,
            "acts": listed,
            "process": os.getpid(),
        }
    )


def _described(act: Act, surfaces: list[Surface]) -> dict[str, Any]:
    return {
        "id": act.id,
        "title": act.title,
        "headline": act.headline,
        "lead": act.lead,
        "ask": act.script.ask,
        "lanes": act.lanes,
        "action": act.action,
        "surfaces": [surface.name for surface in act.surfaces if surface in surfaces],
    }


async def _states(request: Request) -> Response:
    return Response(state_picture(), media_type="image/svg+xml")


async def _start(request: Request, sessions: Sessions) -> Response:
    turn_request = await _body(request, TurnRequest)
    if not (turn_request.act or turn_request.message.strip()):
        raise msgspec.ValidationError("a turn needs a message, or the id of an act")
    return _json({"turn": await sessions.start(turn_request)}, 201)


async def _open(request: Request, sessions: Sessions) -> Response:
    return _json({"left": await sessions.log.left(), "waiting": await sessions.log.turns("waiting")})


async def _events(request: Request, sessions: Sessions) -> Response:
    id, seen = request.path_params["id"], request.headers.get("last-event-id")
    if await sse.over(sessions.log, id, seen):
        return Response(status_code=204)  # only a 204 stops a browser from reconnecting
    return StreamingResponse(sse.events(sessions.log, id, seen), headers=sse.HEADERS)


async def _status(request: Request, sessions: Sessions) -> Response:
    return _json(await sessions.status(request.path_params["id"]))


async def _trace(request: Request, sessions: Sessions) -> Response:
    trace = sessions.trace(request.path_params["id"])
    if trace is None:
        raise UnknownTurn("the trace of this turn has been removed")
    return _json(trace)


async def _cancel(request: Request, sessions: Sessions) -> Response:
    return _json({"cancelled": await sessions.cancel(request.path_params["id"])})


async def _resume(request: Request, sessions: Sessions) -> Response:
    await sessions.resume(request.path_params["id"])
    return _json({}, 202)


async def _decide(request: Request, sessions: Sessions) -> Response:
    decision = await _body(request, _Decision)
    await sessions.decide(request.path_params["id"], decision.call_id, decision.approved, decision.reason)
    return _json({}, 202)


async def _kill(request: Request, sessions: Sessions) -> Response:
    await _body(request, dict)  # refuses what another site can send
    if request.state.kill is None:
        raise TurnMisused("no other process would take the place of this one", hint="start it with `toolparity demo`")
    request.state.kill()
    return _json({}, 202)


def _files() -> Iterator[tuple[str, Traversable, str]]:
    """Yield path, file and content type of each file of the page."""
    yield "/base.css", _BASE_STYLE, _KINDS[".css"]
    for file in _PAGE.iterdir():
        path = "/" if file.name == "index.html" else f"/{file.name}"
        yield path, file, _KINDS[file.name[file.name.rindex(".") :]]


def _file(file: Traversable, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return Response(file.read_bytes(), media_type=f"{kind}; charset=utf-8")

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
