"""The application at the second address: a page with the conversations as they happen, and metrics.

GET /           the page; it loads nothing from other servers
GET /events     judgements as server-sent events, resumed after Last-Event-ID
GET /metrics    Prometheus metrics
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from . import metrics
from .feed import Feed
from .guard import Guarded

_ASSETS = resources.files(__package__) / "assets"
#: The colours, fonts and basic elements of all pages of this project.
_BASE_STYLE = resources.files("toolparity.reports") / "html" / "assets" / "base.css"
_FILES = {
    "/": (_ASSETS / "index.html", "text/html"),
    "/base.css": (_BASE_STYLE, "text/css"),
    "/proxy.css": (_ASSETS / "proxy.css", "text/css"),
    "/proxy.js": (_ASSETS / "proxy.js", "text/javascript"),
}
_HOSTS = frozenset(("127.0.0.1", "localhost", "[::1]"))


def application(feed: Feed, counted: metrics.Metrics) -> Starlette:
    """Return the ASGI application."""

    async def events(request: Request) -> Response:
        return StreamingResponse(
            feed.events(request.headers.get("last-event-id")),
            headers={"content-type": "text/event-stream", "cache-control": "no-store"},
        )

    async def get_metrics(request: Request) -> Response:
        return Response(counted.text(), headers={"content-type": metrics.CONTENT_TYPE})

    routes = [Route(path, _file(file.read_bytes(), kind)) for path, (file, kind) in _FILES.items()]
    routes += [Route("/events", events), Route("/metrics", get_metrics)]
    return Starlette(routes=routes, middleware=[Middleware(Guarded, hosts=_HOSTS)])


def _file(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def get(request: Request) -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8")

    return get
