"""JSON bodies of requests and responses, and the status of each error."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError

from ..errors import LogFailed, TurnHeld, TurnMisused, UnknownTurn

_log = logging.getLogger("toolparity")
#: The maximum size of a request body, in bytes.
LARGEST = 100_000

_T = TypeVar("_T")
#: The status of each error about the request. The text of another one may contain addresses, and stays in the program.
_STATUS: tuple[tuple[type[ToolparityError], int], ...] = (
    (UnknownTurn, 404),
    (TurnHeld, 409),
    (TurnMisused, 409),
)
_NO_DATABASE = "the database of the turns does not answer: try again later"
_FAILED = "the request failed in the server"
#: The escape of NUL in JSON, which an even number of backslashes precedes. PostgreSQL stores no text with NUL.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def handled(handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler with its errors as responses: ``{"error": …}``."""

    async def respond(request: Request) -> Response:
        try:
            _check_address(request)
            return await handle(request)
        except HTTPException as error:
            return refused(request, error)
        except ToolparityError as error:
            return _failure(request, error)

    return respond


def refused(request: Request, error: Exception) -> Response:
    """Return the response to an HTTPException, also one of the router: an unknown path, or another method."""
    assert isinstance(error, HTTPException)
    return json_response({"error": error.detail}, error.status_code, error.headers)


def failed(request: Request, error: Exception) -> Response:
    """Return the response to any other exception, which Starlette raises again for the log of the server."""
    return json_response({"error": _FAILED}, 500)


def _check_address(request: Request) -> None:
    """Raises HTTPException for NUL, which no id contains: 404 in the path, 400 in the query."""
    if any("\0" in str(value) for value in request.path_params.values()):
        raise HTTPException(404, "an id contains no NUL")
    if any("\0" in name or "\0" in value for name, value in request.query_params.multi_items()):
        raise HTTPException(400, "invalid query: it contains NUL")


def _failure(request: Request, error: ToolparityError) -> Response:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), None)
    if status is not None:
        return json_response({"error": str(error)}, status)
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    if isinstance(error, LogFailed):
        return json_response({"error": _NO_DATABASE}, 503)
    return json_response({"error": _FAILED}, 500)


async def body(request: Request, kind: type[_T]) -> _T:
    """Return the decoded JSON body. Raises HTTPException: 413 if it is too large, 400 if it is not of this type.

    Other content types are refused, because an HTML form of another site can send them.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(400, "the content type must be application/json")
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > LARGEST:
            raise HTTPException(413, f"the body is larger than {LARGEST} bytes")
    if _NUL.search(data):
        raise HTTPException(400, "invalid body: it contains NUL")
    try:
        return json_codec.decoder(kind)(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(400, f"invalid body: {_reason(error, bytes(data))}") from None


def _reason(error: Exception, data: bytes) -> str:
    """Return why a body is invalid. For msgspec, a string that ends with half of a surrogate pair is truncated."""
    if "truncated" in str(error):
        with suppress(ValueError, RecursionError):
            json_codec.decode(data)
            return "it contains half of a surrogate pair"
    return str(error)


def json_response(value: Any, status: int = 200, headers: Any = None) -> Response:
    """Return a response with a JSON body, which no cache stores."""
    fields = {"cache-control": "no-store", **(headers or {})}
    return Response(json_codec.encode(value), status, fields, "application/json")
