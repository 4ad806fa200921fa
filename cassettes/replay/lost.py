"""Answers to requests for unknown paths and methods: the error of the provider that owns the path, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..surfaces import Surface
from . import instructions
from .journal import entry_of
from .provider_format import unoffered, with_fault

_LISTED = 3


def unknown_address(
    surfaces: Sequence[Surface], paths: Sequence[str]
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return the handler of Starlette's 404 and 405. ``paths``: the known ones.

    Paths under no provider get the error of the first surface.
    """
    over_http = [surface for surface in surfaces if not surface.by_messages]

    async def respond(request: Request, error: Exception) -> Response:
        path = request.url.path
        surface = next((surface for surface in over_http if surface.provider == path.split("/")[1]), over_http[0])
        assert isinstance(error, HTTPException)
        allowed = (error.headers or {}).get("Allow")
        words = f"Invalid URL ({request.method} {path.removeprefix(f'/{surface.provider}')}). "
        if error.status_code == 405:
            words += f"This address takes {allowed}"
        else:
            words += f"The nearest addresses are {', '.join(_nearest(path, paths))}; GET / lists all"
        entry_of(request.scope).why = words
        response = unoffered(surface, words, error.status_code)
        if allowed:
            response.headers["allow"] = allowed
        return with_fault(instructions.of(request.scope).fault, surface, response)

    return respond


def _nearest(path: str, paths: Sequence[str]) -> list[str]:
    """Return the known paths that are most similar, without the form of their placeholders."""
    shown = dict.fromkeys(
        known.replace(":path}", "}") for known in paths if known != "/" and "{model:path}" not in known[-14:]
    )
    return difflib.get_close_matches(path, shown, _LISTED, cutoff=0.0)
