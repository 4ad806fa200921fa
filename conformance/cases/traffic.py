"""The traffic of a scenario on a surface, from its cassette or from the bodies in its file."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from toolparity.cassettes.chunking import CHUNKINGS, events
from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.surfaces import SURFACES

from ..oracle.prompts import request_body
from .scenarios import Scenario, scenarios


class TrafficResponse(Struct, frozen=True):
    """One response on a wire.

    ``pieces``: as in `conformance.subjects.Ask`. ``request``: None if it is not known. ``provider``: the provider that
    sent the response, if it is not the surface's own.
    """

    surface: str
    stream: bool
    pieces: list[bytes]
    request: Any
    status: int
    source: str
    provider: str | None = None


@cache
def responses(scenario: str, surface: str, mode: str) -> list[TrafficResponse]:
    """Return the responses in order, one per round. Raises UnreadableSource if there is no valid cassette."""
    found = scenarios()[scenario]
    if found.script is None:
        return [_written(found, surface, mode == "stream")]
    return list(_recorded(scenario, surface, mode == "stream"))


def _recorded(scenario: str, surface: str, stream: bool) -> Iterator[TrafficResponse]:
    path = path_for(surface, scenario, stream=stream)
    if not path.exists():
        hint = f"toolparity record {scenario} --surface {surface}"
        raise UnreadableSource("this scenario was not recorded here", where=str(path), hint=hint)
    for exchange in load(path).exchanges:
        pieces = exchange.frames if exchange.frames is not None else [exchange.body or b""]
        if exchange.frames is not None and exchange.body is not None:
            pieces = [*exchange.frames, exchange.body]  # the status of a call that ended with an error
        if exchange.stream and exchange.frames is None:
            pieces = events(pieces[0])
        yield TrafficResponse(
            surface, bool(exchange.stream), pieces, exchange.request, exchange.status or 200, str(path)
        )


def _written(scenario: Scenario, surface: str, stream: bool) -> TrafficResponse:
    body = next(b for b in scenario.file.bodies if (b.surface, b.stream) == (surface, stream))
    data = body.data
    if SURFACES[surface].wire == "xai.grpc":
        pieces = [_message(line, stream) for line in data.split(b"\n") if line.strip()]
    else:
        pieces = events(data) if stream else [data]
    request = body.request
    if request is None and scenario.file.ask:
        request = request_body(scenario.file, SURFACES[surface], stream=stream)
    source = f"scenarios/{body.file or scenario.id}"
    return TrafficResponse(surface, stream, pieces, request, body.status, source, body.provider)


def _message(line: bytes, stream: bool) -> bytes:
    """Return a message of `xai.grpc`, serialized, from its JSON or base64 form."""
    if line.lstrip()[:1] != b"{":
        return base64.b64decode(line)
    from google.protobuf.json_format import Parse
    from xai_sdk.proto import chat_pb2

    made = chat_pb2.GetChatCompletionChunk() if stream else chat_pb2.GetChatCompletionResponse()
    return bytes(Parse(line, made).SerializeToString(deterministic=True))


def cut(pieces: list[bytes], how: str) -> list[bytes]:
    """Return the same bytes in other pieces. ``how``: a name of `toolparity.cassettes.chunking.CHUNKINGS`."""
    return CHUNKINGS[how](b"".join(pieces))
