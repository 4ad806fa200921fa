"""The endpoint of an address: finds the recorded response to a request and serves it, with the faults it orders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError

from ..chunking import CHUNKINGS
from ..emulated.http import request_body, without_model
from ..emulated.script_player import ProviderRefusal, refusal
from ..errors import RequestNotRecorded
from ..surfaces import SURFACES, Surface
from . import faults, instructions
from .addresses import Address
from .faults import Fault
from .hosted import BEDROCK
from .journal import JournalEntry, entry_of
from .provider_format import failure, not_recorded, refused
from .response_index import RecordedResponse, ResponseIndex
from .upstream import RecordThrough, Sent, scrubbed_body

#: Recorded headers that describe the original transport.
_TRAVEL = frozenset(("transfer-encoding", "content-length", "content-encoding", "connection", "date", "server"))
#: The content type of JSON lines.
_LINES = "application/x-ndjson"


class Responder:
    """Makes the endpoints. See `http.application`."""

    def __init__(self, index: ResponseIndex, chunking: str, delay: float, upstream: RecordThrough | None) -> None:
        self._index = index
        self._chunking = chunking
        self._delay = delay
        self._upstream = upstream

    def endpoint(self, address: Address) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of an address."""

        async def respond(request: Request) -> Response:
            body = await request.body()
            surface = self._surface(address, body)
            entry, ordered = entry_of(request.scope), instructions.of(request.scope)
            entry.surface = surface.name
            if (failed := failure(ordered.fault, _of_errors(address, surface))) is not None:
                return failed
            sent = Sent(request, address, surface, body, _streams(address, surface, body))
            try:
                return await self._respond(sent, ordered, entry)
            except RequestNotRecorded as error:
                entry.why = str(error)
                return not_recorded(surface, error)

        return respond

    async def _respond(self, sent: Sent, ordered: instructions.Instructions, entry: JournalEntry) -> Response:
        """Answer from a recorded request with the same meaning, else from the upstream, else as the provider would.

        Without an upstream, a request that breaks a rule of the provider is refused, and a scenario answers by its
        round. Raises RequestNotRecorded.
        """
        found = self._match(sent, ordered.scenario)
        if found is None and ordered.scenario is None and self._upstream is not None and self._upstream.has(sent):
            response = await self._upstream.answer(sent, entry)
            if response is not None:
                return response
            found = self._match(sent, None)
        if found is None:
            if (broken := _broken_rule(sent, named=ordered.scenario is not None)) is not None:
                entry.why = f"the request breaks the rule {broken.rule}: {broken.message}"
                return refused(_of_errors(sent.address, sent.surface), broken)
            ignored = sent.address.hosting.ignored
            found = self._index.find(
                sent.surface, sent.body, stream=sent.stream, scenario=ordered.scenario, ignored=ignored
            )
        entry.cassette = found.location
        return self._answer(found, sent.address, ordered.fault)

    def _surface(self, address: Address, body: bytes) -> Surface:
        """Return the surface of an address. Of several, that of a provider with recorded requests for the model."""
        if len(address.surfaces) > 1:
            model = _object(body).get("model")
            for surface in address.surfaces:
                if model in self._index.models(surface.provider):
                    return surface
        return address.surfaces[0]

    def _match(self, sent: Sent, scenario: str | None) -> RecordedResponse | None:
        """Return the response to a recorded request with the same meaning, also if its secrets were replaced."""
        for body in (sent.body, scrubbed_body(sent)):
            found = self._index.match(
                sent.surface, body, stream=sent.stream, scenario=scenario, ignored=sent.address.hosting.ignored
            )
            if found is not None:
                return found
        return None

    def _answer(self, recorded: RecordedResponse, address: Address, fault: Fault | None) -> Response:
        headers = {**_headers(recorded.response.get("headers") or {}), **recorded.source_headers}
        status = recorded.response["status"]["code"]
        body, kind = recorded.answer, headers.get("content-type", "")
        streamed = "event-stream" in kind or "eventstream" in kind or kind.startswith(_LINES)
        if streamed and address.hosting.stream_type is not None:
            body, headers["content-type"] = address.hosting.stream(body), address.hosting.stream_type
        if fault is not None:
            body = faults.spoiled(body, fault, streamed=streamed)
        if not streamed and not self._delay:
            return Response(body, status, headers)
        pieces = _pieces(body, self._chunking, kind) if streamed else [body]
        return StreamingResponse(_paced(pieces, self._delay), status, headers)


def _of_errors(address: Address, surface: Surface) -> Surface:
    """Return the surface whose format the errors of an address have."""
    return SURFACES["bedrock.converse"] if address.hosting is BEDROCK else surface


def _broken_rule(sent: Sent, *, named: bool) -> ProviderRefusal | None:
    """Return the error of the provider. ``named``: the request names a scenario, which an empty object suffices for."""
    try:
        body = request_body(sent.body)
    except ProviderRefusal as refused:
        return refused
    if not body and named:
        return None
    model = sent.request.path_params.get("model")
    if model is not None:
        body = {sent.surface.spec.model_member: model, **body}
    elif "agent" not in body and (unnamed := without_model(body)) is not None:
        return unnamed
    try:
        return refusal(sent.surface, body)
    except ToolparityError:
        return None


def _streams(address: Address, surface: Surface, body: bytes) -> bool:
    if address.stream is not None:
        return address.stream
    return _object(body).get("stream", surface.spec.streams_by_default) is True


def _object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body, an empty one if there is none."""
    try:
        value: Any = json_codec.decode(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _headers(recorded: dict[str, Any]) -> dict[str, str]:
    headers = {}
    for name, values in recorded.items():
        if name.lower() not in _TRAVEL:
            headers[name.lower()] = ", ".join(map(str, values)) if isinstance(values, list) else str(values)
    return headers


def _pieces(body: bytes, chunking: str, kind: str) -> list[bytes]:
    if chunking == "events" and kind.startswith(_LINES):
        return body.splitlines(keepends=True)
    return CHUNKINGS[chunking](body)


async def _paced(pieces: Iterable[bytes], delay: float) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(delay)  # even a delay of 0 makes the loop send each chunk separately
        yield piece
