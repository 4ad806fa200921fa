"""The web application of a manager, for any ASGI server or framework. Bodies and responses are JSON.

POST /turns             {message, conversation?} -> 201 {turn, conversation}
GET  /turns             ?status= &conversation= &before= &limit= -> {turns}, newest first
GET  /turns/ID          the status: what the log has of the turn, its answer, and the calls that wait
GET  /turns/ID/events   server-sent events, resumed after Last-Event-ID; 204 if no more events follow
POST /turns/ID/cancel   {reason?} -> {cancelled}
POST /turns/ID/resume   {} -> 202
POST /turns/ID/decide   {call_id, approved, reason?} -> 202
POST /turns/ID/answer   {call_id, value} or {call_id, error} -> 202

An error is ``{error}``: 400 for an invalid request, 404 for an unknown turn, 409 for an operation that is invalid now
or that another process has to do, 413 for a body that is too large, 500 for an error of the program, 503 if the
database does not answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from .. import sse
from ..errors import UnknownTurn
from ..execution.tool_results import ToolFailed
from ..log import TurnRow
from .hosts import LOOPBACK, KnownHosts
from .http import body, failed, handled, json_response, refused
from .manager import TurnManager

#: What a request wants: the last argument but one of ``authorize``.
Action = Literal["start", "list", "status", "events", "cancel", "resume", "decide", "answer"]


class AllUsers(Enum):
    """The type of `ALL_USERS`."""

    ALL_USERS = "all users"


#: Returned by ``authorize`` for a user who may reach the turns of all users.
ALL_USERS = AllUsers.ALL_USERS
#: Returns the user of a request. None, or an empty name, is refused with 401. Raises HTTPException (401, 403).
Authorize = Callable[[Request, Action, TurnRow | None], Awaitable[str | AllUsers | None]]

#: The most turns in one page of the list.
_MOST = 1_000
#: The values of `TurnRow.status`.
_STATUSES = ("open", "waiting", "over")


class _Start(Struct, frozen=True, forbid_unknown_fields=True):
    message: str
    conversation: str | None = None


class _Cancel(Struct, frozen=True, forbid_unknown_fields=True):
    reason: str | None = None


class _Resume(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class _Decide(Struct, frozen=True, forbid_unknown_fields=True):
    call_id: str
    approved: bool
    reason: str | None = None


class _Answer(Struct, frozen=True, forbid_unknown_fields=True):
    call_id: str
    value: Any = UNSET
    error: str | UnsetType = UNSET


def turns_app(
    manager: TurnManager, *, authorize: Authorize | None = None, hosts: Collection[str] | None = LOOPBACK
) -> Starlette:
    """Return the application, which enters the manager while it is served.

    A framework that mounts the application does not run its lifespan: then enter the manager in that of the framework.

    ``authorize`` is awaited for each request with the action and the turn that it concerns (None if there is none). It
    returns the user: turns that the request starts belong to this user, and all others are unknown to it, unless it
    returns `ALL_USERS`. Without ``authorize``, every client may reach every turn.

    ``hosts``: one name or several in the header Host that the application answers to, in any case, with or without a
    port; None for any name.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with manager:
            yield

    routes = turn_routes(manager, authorize=authorize)
    middleware = [Middleware(KnownHosts, hosts=hosts)] if hosts is not None else []
    handlers: dict[Any, Any] = {HTTPException: refused, Exception: failed}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers, middleware=middleware)


def turn_routes(manager: TurnManager, *, authorize: Authorize | None = None) -> list[Route]:
    """Return the routes of the application, for another one of Starlette. See `turns_app`."""
    return _Endpoints(manager, authorize).routes()


class _Endpoints:
    def __init__(self, manager: TurnManager, authorize: Authorize | None) -> None:
        self._manager = manager
        self._authorize = authorize

    def routes(self) -> list[Route]:
        def one(path: str, handle: Callable[[Request], Awaitable[Response]], method: str = "POST") -> Route:
            return Route(path, handled(handle), methods=[method])

        return [
            one("/turns", self._start),
            one("/turns", self._list, "GET"),
            one("/turns/{id}", self._status, "GET"),
            one("/turns/{id}/events", self._events, "GET"),
            one("/turns/{id}/cancel", self._cancel),
            one("/turns/{id}/resume", self._resume),
            one("/turns/{id}/decide", self._decide),
            one("/turns/{id}/answer", self._answer),
        ]

    async def _start(self, request: Request) -> Response:
        user = await self._user(request, "start", None)
        wanted = await body(request, _Start)
        if not wanted.message.strip():
            raise HTTPException(400, "invalid body: the message is empty")
        id = await self._manager.start(wanted.message, conversation=wanted.conversation, user=user)
        return json_response({"turn": id, "conversation": wanted.conversation or id}, 201)

    async def _list(self, request: Request) -> Response:
        user = await self._user(request, "list", None)
        query = request.query_params
        limit = query.get("limit", "100")
        if not (limit.isascii() and limit.isdigit() and len(limit) < 5 and 1 <= int(limit) <= _MOST):
            raise HTTPException(400, f"limit must be a number from 1 to {_MOST}, got {limit!r:.40}")
        status = query.get("status")
        if status not in (None, *_STATUSES):
            raise HTTPException(400, f"status must be {', '.join(_STATUSES)}, got {status!r:.40}")
        before = query.get("before")
        if before is not None and user is not None and (await self._manager.log.row(before)).user != user:
            raise UnknownTurn(f"the log has no turn {before!r}")  # as for an id that the log does not have
        turns = await self._manager.turns(
            status=status, conversation=query.get("conversation"), user=user, before=before, limit=int(limit)
        )
        return json_response({"turns": turns})

    async def _status(self, request: Request) -> Response:
        return json_response(await self._manager.status(await self._turn(request, "status")))

    async def _events(self, request: Request) -> Response:
        id, seen = await self._turn(request, "events"), request.headers.get("last-event-id")
        if await self._manager.has_ended(id, seen):
            return Response(status_code=204)  # only a 204 stops a browser from reconnecting
        return StreamingResponse(self._manager.subscribe(id, seen), headers=sse.HEADERS)

    async def _cancel(self, request: Request) -> Response:
        id, wanted = await self._turn(request, "cancel"), await body(request, _Cancel)
        return json_response({"cancelled": await self._manager.cancel(id, wanted.reason)})

    async def _resume(self, request: Request) -> Response:
        id, _ = await self._turn(request, "resume"), await body(request, _Resume)
        await self._manager.resume(id)
        return json_response({}, 202)

    async def _decide(self, request: Request) -> Response:
        id, wanted = await self._turn(request, "decide"), await body(request, _Decide)
        await self._manager.decide(id, wanted.call_id, wanted.approved, wanted.reason)
        return json_response({}, 202)

    async def _answer(self, request: Request) -> Response:
        id, wanted = await self._turn(request, "answer"), await body(request, _Answer)
        if (wanted.value is UNSET) == (wanted.error is UNSET):
            raise HTTPException(400, "invalid body: an answer has either a value or an error")
        value = ToolFailed(wanted.error) if isinstance(wanted.error, str) else wanted.value
        await self._manager.answer(id, wanted.call_id, value)
        return json_response({}, 202)

    async def _turn(self, request: Request, action: Action) -> str:
        """Return the id of the turn that the request concerns, if its user may do this."""
        id: str = request.path_params["id"]
        if self._authorize is None:
            return id
        try:
            row = await self._manager.log.row(id)
        except UnknownTurn:
            row = None
        user = await self._user(request, action, row)
        if row is None or (user is not None and row.user != user):
            raise UnknownTurn(f"the log has no turn {id!r}")
        return id

    async def _user(self, request: Request, action: Action, turn: TurnRow | None) -> str | None:
        """Return the user of a request, None for all users. Raises HTTPException."""
        if self._authorize is None:
            return None
        user = await self._authorize(request, action, turn)
        if not user:
            raise HTTPException(401, "unknown user")
        return None if user is ALL_USERS else user
