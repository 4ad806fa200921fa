"""What a request orders from the replay server: a scenario, a fault, or both.

Each is a header or a prefix of the path; prefixes may be in any order, and win over headers:

    POST /scenario/parallel-three/fault/status=429;times=1/openai/v1/chat/completions
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import InvalidFault
from . import faults
from .faults import Fault

SCENARIO_HEADER = "x-toolparity-scenario"
#: The path of the page.
PAGE = "/"
_STATE = "instructions"


class Instructions(NamedTuple):
    """The instructions of a request. ``error``: a fault that cannot be parsed."""

    scenario: str | None = None
    fault: Fault | None = None
    error: InvalidFault | None = None


def instructions(scenario: str | None, fault: str | None, default: Fault | None) -> Instructions:
    """Return the instructions from the texts of a request. ``default``: the fault of requests that order none."""
    try:
        return Instructions(scenario, default if fault is None else faults.parse(fault))
    except InvalidFault as error:
        return Instructions(scenario, None, error)


def of(scope: Scope) -> Instructions:
    """Return the instructions of a request that passed `ReadsInstructions`."""
    found: Instructions = scope["state"][_STATE]
    return found


def forget_fault(scope: Scope) -> None:
    """Remove the fault of a request that does not get it."""
    scope["state"][_STATE] = of(scope)._replace(fault=None)


class ReadsInstructions:
    """Middleware that takes the instructions from the path and the headers.

    ``fault``: that of requests that order none, except for the page, which must stay readable.
    """

    def __init__(self, app: ASGIApp, fault: Fault | None = None) -> None:
        self._app = app
        self._fault = fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            prefixes, path = _split(scope["raw_path"].decode("latin-1"))
            headers = Headers(scope=scope)
            found = instructions(
                prefixes.get("scenario", headers.get(SCENARIO_HEADER)),
                prefixes.get("fault", headers.get(faults.HEADER)),
                None if path == PAGE else self._fault,
            )
            state = {**scope.get("state", {}), _STATE: found}
            scope = {**scope, "state": state, "path": unquote(path), "raw_path": path.encode("latin-1")}
        await self._app(scope, receive, send)


def _split(path: str) -> tuple[dict[str, str], str]:
    """Return the prefixes of a path by their names, and the rest."""
    prefixes: dict[str, str] = {}
    while True:
        _, name, value, *rest = (*path.split("/", 3), "", "")[:4]
        if name not in ("scenario", "fault") or not value or name in prefixes:
            return prefixes, path
        prefixes[name] = unquote(value)
        path = "/" + rest[0]
