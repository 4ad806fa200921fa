"""HTTP replay of recorded responses, under the paths that the official SDKs expect.

    base_url http://127.0.0.1:PORT/openai/v1          matched by content
    base_url http://127.0.0.1:PORT/v1                 the same: most addresses are at the root, too
    base_url http://127.0.0.1:PORT/scenario/parallel-three/openai/v1      the responses of one scenario
    base_url http://127.0.0.1:PORT/fault/status=429;times=1/openai/v1     with a fault

The headers ``x-toolparity-scenario`` and ``x-toolparity-fault`` do the same (`instructions`). Every response has
``x-toolparity-origin`` (live, emulated, imported) and ``x-toolparity-cassette`` (its cassette). ``GET …/models`` lists
the models of the recorded requests; no provider sent that list, so its origin is emulated. ``GET /`` is a page. Pages
served by this machine may read the responses (CORS), and so may those of the origins that the caller allows. `sessions`
adds the addresses of WebSockets.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from .. import emulation_marker
from . import auxiliary, instructions, models, page, sessions
from .addresses import addresses
from .breaking import BreaksTransfers
from .exchange import Responder
from .faults import Fault
from .journal import Journal, KeepsJournal
from .lost import unknown_address
from .response_index import PLACE_HEADER, ResponseIndex
from .upstream import RecordThrough

#: Origins of pages that this machine serves.
_LOCAL_PAGE = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"


def application(
    index: ResponseIndex,
    *,
    chunking: str = "events",
    delay: float = 0.0,
    origins: Sequence[str] = (),
    fault: Fault | None = None,
    journal: Journal | None = None,
    upstream: RecordThrough | None = None,
    hosts: frozenset[str] = frozenset(),
) -> Starlette:
    """Return the ASGI application.

    ``chunking``: a name from `toolparity.cassettes.chunking`. ``delay``: seconds before each chunk. ``origins``: web
    origins that may read the responses besides this machine's own; "*" allows all. ``fault``: of requests that order
    none. ``upstream``: answers and records the requests without a recorded answer. ``hosts``: host names by which the
    page may be addressed, besides those of this machine.
    """
    journal = Journal() if journal is None else journal
    responder = Responder(index, chunking, delay, upstream)
    listed = addresses(index.surfaces)
    lists = models.model_lists(index.surfaces)
    routes = [Route("/", page.endpoint(index, journal, hosts), methods=["GET"])]
    routes += [Route(address.path, responder.endpoint(address), methods=["POST"]) for address in listed]
    routes += auxiliary.routes(index, index.surfaces)
    for at in lists:
        routes.append(Route(at.path, models.endpoint(index, at), methods=["GET"]))
        routes.append(Route(at.path + "/{model:path}", models.endpoint(index, at), methods=["GET"]))
    over_http = [route.path for route in routes]
    shared = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_origin_regex=_LOCAL_PAGE,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=[emulation_marker.HEADER, PLACE_HEADER],
    )
    return Starlette(
        routes=[*routes, *sessions.routes(index, journal, delay)],
        exception_handlers={HTTPException: unknown_address(index.surfaces, over_http)},
        middleware=[
            shared,
            Middleware(instructions.ReadsInstructions, fault=fault),
            Middleware(KeepsJournal, journal=journal),
            Middleware(BreaksTransfers),
        ],
    )
