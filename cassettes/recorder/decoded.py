"""Interactions of a cassette as canonical responses, straight from what was recorded, without an SDK.

The other way to the same responses is through the SDK (`players`): that both agree is what a replay checks.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, NamedTuple

from vcr.request import Request

from normalizer import StreamDecoder, jsontext, normalize
from normalizer.errors import UnreadableSource
from normalizer.model import Error, Response

from ..sources.bodies import unpacked
from ..sources.http import headers_of, is_stream
from ..surfaces import SURFACES, Surface

#: gRPC's words for what may be tried again, as the canonical form has it of HTTP's.
_RETRYABLE = frozenset(("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL", "UNKNOWN"))
_GRPC = "grpc://"
#: What the SDKs ask for below their base URL.
_PATHS = {
    "openai.chat": "/chat/completions",
    "openai.responses": "/responses",
    "anthropic.messages": "/v1/messages",
}


class Interaction(NamedTuple):
    """One recorded exchange: request body as JSON or bytes, the response as it was on the wire, and what it says."""

    surface: Surface
    uri: str
    stream: bool
    status: int | None
    request: Any
    response: Response


def interactions(surface: Surface, data: list[tuple[Request, dict[str, Any]]]) -> Iterator[Interaction]:
    """Those of a cassette that holds one surface's exchanges. Raises UnreadableSource."""
    for request, response in data:
        yield interaction(surface, request, response)


def surface_at(uri: str) -> Surface | None:
    """The surface that an address belongs to."""
    if uri.startswith(_GRPC):
        return SURFACES["xai.grpc"] if "/xai_api.Chat/" in uri else None
    path = uri.partition("?")[0]
    return next((one for one in SURFACES.values() if path == one.base + _PATHS.get(one.wire, "")), None)


def interaction(surface: Surface, request: Request, response: dict[str, Any]) -> Interaction:
    """One exchange of a surface. Raises UnreadableSource where it is none."""
    if request.uri.startswith(_GRPC):
        return _rpc(surface, request, response)
    sent = _json(request.body)
    status = int(response["status"]["code"])
    headers = headers_of(response.get("headers", {}).items())
    body = unpacked(_bytes(response["body"]["string"]), headers.get("content-encoding"))
    stream = is_stream(body, headers.get("content-type"))
    if stream and status < 400:
        decoder = StreamDecoder(surface.wire, provider=surface.provider, request=sent)
        decoder.feed(body)
        said = decoder.finish()
    else:
        said = normalize(body, surface.wire, provider=surface.provider, request=sent, status=status)
    return Interaction(surface, request.uri, stream, status, sent, said)


def rpc_refusal(code: str, details: str) -> Response:
    """What a gRPC status that is not OK says, as a response that is an error and nothing else."""
    return Response("xai.grpc", "xai", None, None, [], None, _rpc_error(code, details))


def _rpc_error(code: str, details: str) -> Error:
    return Error(code, details, None, code in _RETRYABLE, {"code": code, "details": details})


def _rpc(surface: Surface, request: Request, response: dict[str, Any]) -> Interaction:
    from normalizer.wires.xai_grpc.proto import request_from

    asked = _json(request.body)
    sent = request_from(base64.b64decode(asked["serialized"]))
    ended = response.get("grpc") or {}
    body = jsontext.decode(_bytes(response["body"]["string"]))
    frames = [base64.b64decode(entry["serialized"]) for entry in body["messages"]]
    stream = bool(ended.get("stream"))
    code = ended.get("code", "OK")
    if code != "OK":  # the SDK raises, whatever came before
        said = rpc_refusal(str(code), str(ended.get("details") or ""))
    elif stream:
        decoder = StreamDecoder(surface.wire, provider=surface.provider, request=sent)
        for frame in frames:
            decoder.feed(frame)
        said = decoder.finish()
    else:
        said = normalize(frames[0], surface.wire, provider=surface.provider, request=sent)
    return Interaction(surface, request.uri, stream, None, asked.get("message", asked), said)


def _json(body: Any) -> Any:
    data = _bytes(body)
    try:
        return jsontext.decode(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableSource(f"a recorded request is no JSON: {error}") from None


def _bytes(body: Any) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    return bytes(body or b"")
