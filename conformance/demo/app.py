"""The web application of the demo: one page and its API. The page loads nothing from other servers.

GET  /                      the page
GET  /states.svg            the state diagram of a turn
GET  /choices               the acts, the surfaces, the policies, the messages of the chat, the id of this process
POST /turns                 {message, act, surface, policy, …} -> {turn}
GET  /turns/ID/trace        the requests and response pieces on the wire, the canonical form, the times of the events
POST /kill                  {process}: kills this process of the server, if another one takes its place

The other routes below /turns are those of `toolparity.turns.manager.app`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolparity.audit.proxy.guard import Guarded
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.errors import UnknownSurface
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.errors import MissingExtra, PolicyError
from toolparity.normalizer.policies import POLICIES
from toolparity.turns.clients import SdkClient
from toolparity.turns.errors import TurnMisused, UnknownTurn
from toolparity.turns.log import Log
from toolparity.turns.manager.app import turn_routes
from toolparity.turns.manager.http import body, handled, json_response

from .acts import Act
from .clients import connected
from .factory import TurnFactory, TurnRequest
from .narrator import ScriptLibrary
from .sessions import Sessions
from .state_picture import state_picture
from .tools import Throttle

_PAGE = resources.files(__package__) / "page"
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
#: The colours, fonts and basic elements of all pages of this project.
_BASE_STYLE = resources.files("toolparity.reports") / "html" / "assets" / "base.css"


class _Kill(msgspec.Struct):
    """The body of the request to kill ``process``."""

    process: int


_Handler = Callable[[Request, Sessions], Awaitable[Response]]


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

    clients: dict[str, SdkClient] = {}
    sessions = Sessions(log, TurnFactory(clients, library, throttle if throttle is not None else Throttle()))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        async with connected(servers, surfaces) as connections, sessions.manager:
            clients.update(connections)
            yield {"sessions": sessions, "kill": kill}

    routes = [Route(path, _file(file, kind)) for path, file, kind in _files()]
    routes += [
        Route("/states.svg", _states),
        Route("/choices", _handled(_choices)),
        Route("/turns", _handled(_start), methods=["POST"]),  # in place of the manager's
        Route("/turns/{id}/trace", _handled(_trace)),
        Route("/kill", _handled(_kill), methods=["POST"]),
        *turn_routes(sessions.manager),
    ]
    guard = Middleware(Guarded, hosts=frozenset(hosts))
    return Starlette(routes=routes, lifespan=lifespan, middleware=[guard])


async def _choices(request: Request, sessions: Sessions) -> Response:
    """Return everything that the page offers."""
    surfaces = [SURFACES[name] for name in sessions.factory.clients]
    asks = [
        {"ask": script.ask, "title": script.title, "surfaces": [s.name for s in surfaces if s.plays(script)]}
        for script in scripts().values()
    ]
    listed = [
        _described(act, surfaces)
        for act in sessions.factory.acts.values()
        if act.action != "kill" or request.state.kill
    ]
    return json_response(
        {
            "surfaces": list(sessions.factory.clients),
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
    turn_request = await body(request, TurnRequest)
    if not (turn_request.act or turn_request.message.strip()):
        raise HTTPException(400, "a turn needs a message, or the id of an act")
    try:
        id = await sessions.start(turn_request)
    except (PolicyError, UnknownSurface, MissingExtra) as error:  # about the request, so its text is for the page
        raise HTTPException(400, str(error)) from None
    return json_response({"turn": id}, 201)


async def _trace(request: Request, sessions: Sessions) -> Response:
    trace = sessions.trace(request.path_params["id"])
    if trace is None:
        raise UnknownTurn("the trace of this turn has been removed")
    return json_response(trace)


async def _kill(request: Request, sessions: Sessions) -> Response:
    """Kill this process after its response. A browser may repeat the request: its process is not the successor."""
    process = (await body(request, _Kill)).process
    if request.state.kill is None:
        raise TurnMisused("no other process would take the place of this one", hint="start it with `toolparity demo`")
    if process != os.getpid():
        raise TurnMisused(f"process {process} does not serve", hint="/choices has the id of the one that does")
    response = json_response({}, 202)
    response.background = BackgroundTask(request.state.kill)
    return response


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
    return handled(lambda request: handle(request, request.state.sessions))
