"""Conversion of an imported exchange into an interaction of a cassette.

Method, address, body bytes and status are those of the source. Request headers are kept only for the scrubber, which
learns credentials from them; `trimmed` removes them afterwards.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response
from toolparity.normalizer.wires.error_response import NO_ANSWER
from toolparity.normalizer.wires.registry import spec, wire_name

from ..errors import UnreadableSource
from ..sources import Exchange
from ..sources.decoding import response_of

#: xAI's chat service. If the source has no address, the method follows from the mode (plain or streamed).
_SERVICE = "grpc://api.x.ai/xai_api.Chat/"
_METHODS = {False: "GetCompletion", True: "GetCompletionChunk"}
#: Headers that are needed to read the body.
_KEPT = frozenset(("content-type", "content-encoding"))


def interaction(exchange: Exchange) -> dict[str, Any]:
    """Return the exchange in vcrpy's form.

    Raises UnreadableSource if it cannot be replayed or its response is empty, MalformedBody if the body does not fit
    its wire, MissingExtra if reading it needs an extra that is not installed.
    """
    wire = wire_name(exchange.wire or "")
    call = spec(wire).framing == "messages"
    if not call and not exchange.address:
        raise UnreadableSource("no address: the exchange cannot be replayed", where=exchange.location)
    if _is_empty(exchange, response_of(exchange, wire)):
        raise UnreadableSource(f"the response body is not a response of {exchange.wire}", where=exchange.location)
    return _call(exchange) if call else _http(exchange)


def _is_empty(exchange: Exchange, response: Response) -> bool:
    """Return whether decoding gave nothing. A body with an error status may be empty: the status is the answer."""
    refused = exchange.status is not None and exchange.status >= 400
    error = response.error is not None and response.error.type != NO_ANSWER
    return response.id is None and not response.choices and not refused and not error


def trimmed(interaction: dict[str, Any]) -> dict[str, Any]:
    """Return the interaction without the request headers that only the scrubber needs."""
    request = interaction["request"]
    headers = {name: value for name, value in request["headers"].items() if name in _KEPT}
    return {**interaction, "request": {**request, "headers": headers}}


def _http(exchange: Exchange) -> dict[str, Any]:
    if exchange.status is None or not 100 <= exchange.status <= 999:
        raise UnreadableSource(f"no response was received: the status is {exchange.status}", where=exchange.location)
    headers = dict(exchange.request_headers or {})
    if exchange.request is not None:
        headers.setdefault("content-type", "application/json")
    return {
        "request": {
            "method": exchange.method or ("GET" if exchange.sent is None else "POST"),
            "uri": _address(exchange.address or "", exchange.location),
            "headers": {name: [value] for name, value in headers.items()},
            "body": exchange.sent,
        },
        "response": {
            "status": {"code": exchange.status, "message": _phrase(exchange.status)},
            "headers": {"content-type": [exchange.content_type]} if exchange.content_type else {},
            "body": {"string": exchange.body or b""},
        },
    }


def _address(address: str, location: str) -> str:
    """Return the address without credentials and fragment, which a client does not send in the request line."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError as error:
        raise UnreadableSource(f"no address: {error}", where=location) from None
    if not parts.scheme or not host:
        raise UnreadableSource(
            f"the address {address!r} has no scheme or host: the exchange cannot be replayed", where=location
        )
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def _call(exchange: Exchange) -> dict[str, Any]:
    from google.protobuf.message import Message
    from xai_sdk.proto import chat_pb2

    from toolparity.normalizer.wires.xai_grpc.schema import request_from

    from ..vcr_grpc import messages

    stream = bool(exchange.stream)
    uri = exchange.address or _SERVICE + _METHODS[stream]
    if uri.rpartition("/")[2] != _METHODS[stream]:
        raise UnreadableSource("the call's method is not one of a chat", where=exchange.location)
    response_type: type[Message] = chat_pb2.GetChatCompletionChunk if stream else chat_pb2.GetChatCompletionResponse
    request_type: type[Message] = chat_pb2.GetCompletionsRequest
    sent = exchange.sent
    if sent is None:
        sent = request_from(exchange.request or {}).SerializeToString(deterministic=True)
    frames = exchange.frames or []
    request = {**messages.written(sent, request_type), "type": messages.name_of(request_type)}
    recorded = [messages.written(frame, response_type) for frame in frames]
    body = {"messages": recorded, "type": messages.name_of(response_type)}
    return {
        "request": {"method": "POST", "uri": uri, "headers": {}, "body": json_codec.text(request)},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "trailers": {},
            "grpc": {**_ended(exchange), "stream": stream},
            "body": {"string": json_codec.encode(body)},
        },
    }


def _ended(exchange: Exchange) -> dict[str, Any]:
    """Return the status of a gRPC call.

    If the source has an address but no status, the client cancelled the call. xAI cassettes without an address keep no
    status, so it is OK.
    """
    if exchange.body is not None:
        status = json_codec.decode(exchange.body)
        return {"code": status["code"], "details": status.get("details") or ""}
    cancelled = exchange.status is None and exchange.address is not None
    return {"code": None if cancelled else "OK", "details": ""}


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
