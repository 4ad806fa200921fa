"""JSON bodies of requests and responses, and the status of each error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ... import json_codec
from ...errors import ToolparityError
from ..errors import LogFailed, TurnHeld, TurnMisused, UnknownTurn

#: The maximum size of a request body, in bytes.
LARGEST = 100_000

_T = TypeVar("_T")
#: The status of each error. Every other error of this package is the client's, 400.
_STATUS: tuple[tuple[type[ToolparityError], int], ...] = (
    (UnknownTurn, 404),
    (TurnHeld, 409),
    (TurnMisused, 409),
    (LogFailed, 503),
)


def handled(handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler with its errors as responses: ``{"error": …}``."""

    async def respond(request: Request) -> Response:
        try:
            return await handle(request)
        except HTTPException as error:
            return json_response({"error": error.detail}, error.status_code, error.headers)
        except ToolparityError as error:
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
            return json_response({"error": str(error)}, status)

    return respond


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
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(400, f"invalid body: {error}") from None


def json_response(value: Any, status: int = 200, headers: Any = None) -> Response:
    """Return a response with a JSON body, which no cache stores."""
    fields = {"cache-control": "no-store", **(headers or {})}
    return Response(json_codec.encode(value), status, fields, "application/json")
