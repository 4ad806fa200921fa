"""Decoding of a cassette's interactions into canonical responses, directly from the recorded bytes.

The other way to these responses is through the SDK (`sdks`). Replay checks that both agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace
from vcr.request import Request

from toolparity.normalizer import json_codec
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response

from ..sources import Exchange
from ..sources import vcrpy as vcrpy_format
from ..surfaces import PATHS, SURFACES, Surface

_GRPC = "grpc://"


class Interaction(NamedTuple):
    """One recorded exchange: the request as JSON (None if it is not JSON), and the decoded response."""

    surface: Surface
    uri: str
    stream: bool
    status: int | None
    request: Any
    response: Response


def interactions(surface: Surface, data: list[tuple[Request, dict[str, Any]]]) -> Iterator[Interaction]:
    """Decode the interactions of a cassette of one surface. Raises UnreadableSource, MalformedBody."""
    for request, response in data:
        yield interaction(surface, request, response)


def surface_at(uri: str) -> Surface | None:
    """Return the surface that an address belongs to, or None."""
    if uri.startswith(_GRPC):
        return SURFACES["xai.grpc"] if "/xai_api.Chat/" in uri else None
    path = uri.partition("?")[0]
    return next((one for one in SURFACES.values() if path == one.base + PATHS.get(one.wire, "")), None)


def interaction(surface: Surface, request: Request, response: dict[str, Any]) -> Interaction:
    """Decode one exchange. Raises UnreadableSource if its shape is wrong, MalformedBody if its body does not decode."""
    asked = {"uri": request.uri, "body": request.body}
    found = vcrpy_format.exchange(request.uri, None, {"request": asked, "response": response})
    return Interaction(
        surface, request.uri, found.stream is True, found.status, found.request, _said(surface, found, response)
    )


def _said(surface: Surface, found: Exchange, response: dict[str, Any]) -> Response:
    refused = found.status is not None and found.status >= 400
    pieces = found.frames if found.frames is not None else [found.body or b""]
    if not found.stream or (refused and found.frames is None):
        return normalize(
            pieces[0] if pieces else b"",
            surface.wire,
            provider=surface.provider,
            request=_declaring(found),
            status=found.status,
        )
    decoder = StreamDecoder(surface.wire, provider=surface.provider, request=_declaring(found))
    for piece in pieces:
        decoder.feed(piece)
    said = decoder.finish()
    ended = response.get("grpc") or {}
    return broken_off(said, str(ended.get("code")), str(ended.get("details") or "")) if refused else said


def _declaring(found: Exchange) -> Any:
    """Return the request, which the decoder needs for its tool definitions."""
    if found.wire != "xai.grpc":
        return found.request
    from toolparity.normalizer.wires.xai_grpc.schema import request_from

    return request_from(found.request)


def rpc_refusal(code: str, details: str) -> Response:
    """Return a non-OK gRPC status as a response that contains only the error."""
    body = json_codec.encode({"code": code, "details": details})
    status = vcrpy_format.HTTP_STATUS.get(code, 500)
    return normalize(body, "xai.grpc", provider=SURFACES["xai.grpc"].provider, status=status)


def broken_off(said: Response, code: str, details: str) -> Response:
    """Return the result of a stream that such a status ended: its content so far, with the error."""
    return replace(said, error=rpc_refusal(code, details).error, complete=False)
