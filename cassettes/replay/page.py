"""The page of the replay server: what it can answer, and what was asked.

GET /    HTML for browsers, else JSON. It loads nothing from other servers.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from toolparity.normalizer import json_codec

from ..secrets import Scrubber
from . import instructions
from .addresses import addresses
from .faults import FAULTS
from .journal import Journal
from .provider_format import with_fault
from .response_index import ResponseIndex

#: The names by which clients on this machine address it.
LOCAL_NAMES = frozenset(("127.0.0.1", "localhost", "[::1]"))
#: The colours, fonts and basic elements of all pages of this project.
_BASE_STYLE = resources.files("toolparity.reports") / "html" / "assets" / "base.css"
_STYLE = resources.files(__package__) / "assets" / "page.css"


def endpoint(index: ResponseIndex, journal: Journal, hosts: frozenset[str]) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint. ``hosts``: host names by which it may be addressed, besides those of this machine."""
    allowed = LOCAL_NAMES | hosts

    async def respond(request: Request) -> Response:
        # A web page can have its host name resolve to this machine (DNS rebinding).
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() not in allowed:
            return Response("unknown host", 421)
        fault = instructions.of(request.scope).fault
        content = Scrubber(environ={}).cassette({"page": contents(index, journal)})["page"]
        if "text/html" not in request.headers.get("accept", ""):
            plain = Response(json_codec.encode(content), media_type="application/json")
            return with_fault(fault, index.surfaces[0], plain)
        html, policy = _html(content)
        headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
        }
        page = Response(html, headers=headers, media_type="text/html; charset=utf-8")
        return with_fault(fault, index.surfaces[0], page)

    return respond


def contents(index: ResponseIndex, journal: Journal) -> dict[str, Any]:
    """Return the contents as plain data."""
    by_surface: dict[str, list[str]] = {}
    for address in addresses(index.surfaces):
        for surface in address.surfaces:
            by_surface.setdefault(surface.name, []).append(address.path.replace(":path}", "}"))
    return {
        "surfaces": [
            {
                "name": surface.name,
                "base": "gRPC" if surface.by_messages else surface.base_path,
                "addresses": by_surface.get(surface.name, []),
                "models": index.models(surface.provider),
                "responses": index.count(surface),
            }
            for surface in index.surfaces
        ],
        "scenarios": index.scenarios,
        "faults": {name: option.effect for name, option in FAULTS.items()},
        "requests": msgspec.to_builtins(journal.entries),
    }


def _html(content: dict[str, Any]) -> tuple[str, str]:
    """Return the page and its content security policy, which allows its style only."""
    style = f"{_BASE_STYLE.read_text('utf-8')}\n{_STYLE.read_text('utf-8')}"
    environment = Environment(
        loader=PackageLoader(__package__, "assets"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    html = environment.get_template("page.html").render(content, style=Markup(style))  # the style is ours
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        html,
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
