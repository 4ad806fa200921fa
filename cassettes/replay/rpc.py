"""gRPC replay of xAI's `ReplayedChat` service, byte for byte.

The metadata ``x-toolparity-scenario`` and ``x-toolparity-fault`` do the same as the headers of HTTP. The initial
metadata of a response states its origin and cassette. A request with fields that the SDK does not define is compared by
its bytes. A fault counts the bytes of the messages, and takes effect before the message that exceeds them.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc
from grpc import aio
from xai_sdk.proto import chat_pb2

from toolparity.normalizer import json_codec

from .. import emulation_marker
from ..emulated import xai_grpc
from ..emulated.grpc_relay import Connections
from ..emulated.script_player import ProviderRefusal, refusal
from ..errors import RequestNotRecorded
from ..surfaces import SURFACES
from ..vcr_grpc import messages
from . import faults
from .faults import Fault, FaultCounter
from .instructions import SCENARIO_HEADER, instructions
from .journal import Journal, JournalEntry
from .response_index import RecordedResponse, ResponseIndex

_Context = aio.ServicerContext[Any, Any]

_SERVICE = "xai_api.Chat"
_METHODS = {False: f"/{_SERVICE}/GetCompletion", True: f"/{_SERVICE}/GetCompletionChunk"}
_SURFACE = "xai.grpc"
_NONE = Fault("")
#: Metadata of an error that no provider sent.
_EMULATED = (emulation_marker.HEADER, emulation_marker.EMULATED)
#: A message that no parser of protobuf accepts: the tag of a field with the wire type 7, which does not exist.
_DAMAGED = b"\x0f"


class ReplayedChat:
    """The service. ``delay``: seconds before each message. ``fault``: of calls that order none."""

    def __init__(
        self, index: ResponseIndex, *, delay: float = 0.0, fault: Fault | None = None, journal: Journal | None = None
    ) -> None:
        self._index = index
        self._delay = delay
        self._fault = fault
        self._journal = Journal() if journal is None else journal
        self._counter = FaultCounter()
        self._connections: Connections | None = None

    def register(self, server: Any, connections: Connections) -> None:
        """Add the service to a server. Messages are sent as bytes, so that a damaged one can be sent."""
        self._connections = connections
        parse = chat_pb2.GetCompletionsRequest.FromString
        methods: dict[str, Any] = {
            "GetCompletion": grpc.unary_unary_rpc_method_handler(self._complete, parse),
            "GetCompletionChunk": grpc.unary_stream_rpc_method_handler(self._stream, parse),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, methods),))

    async def _complete(self, request: Any, context: _Context) -> bytes:
        """Return one plain response."""
        recorded, fault = await self._begin(request, context, stream=False)
        async for message in self._messages(recorded, fault, context):
            return message
        return b"" if fault.is_("empty", "end") else await _end(recorded, context)

    async def _stream(self, request: Any, context: _Context) -> AsyncIterator[bytes]:
        """Yield the chunks of one response."""
        recorded, fault = await self._begin(request, context, stream=True)
        async for message in self._messages(recorded, fault, context):
            yield message
        if (recorded.response.get("grpc") or {}).get("code") != "OK":
            await _end(recorded, context)

    async def _begin(self, request: Any, context: _Context, *, stream: bool) -> tuple[RecordedResponse, Fault]:
        """Return the response to a call and its fault, or abort the call."""
        metadata = {name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)}
        ordered = instructions(metadata.get(SCENARIO_HEADER), metadata.get(faults.HEADER), self._fault)
        sent = request.SerializeToString(deterministic=True)
        fault = _NONE if ordered.fault is None else ordered.fault
        entry = self._journal.begin("gRPC", _METHODS[stream], ordered.scenario, fault.text)
        entry.surface = _SURFACE
        if ordered.error is not None:
            entry.status, entry.why = "INVALID_ARGUMENT", str(ordered.error)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(ordered.error))
        if not self._counter.applies(fault, (_METHODS[stream].encode(), sent)):
            fault = _NONE
        await self._fail_before(fault, context, entry)
        try:
            recorded = self._found(request, sent, stream, ordered.scenario)
        except RequestNotRecorded as error:
            entry.status, entry.why = "NOT_FOUND", str(error)
            await context.abort(grpc.StatusCode.NOT_FOUND, str(error))
        except ProviderRefusal as refused:
            entry.why = f"the request breaks the rule {refused.rule}: {refused.message}"
            await _refuse(refused, context, entry)
        entry.cassette = recorded.location
        entry.status = str((recorded.response.get("grpc") or {}).get("code"))
        await context.send_initial_metadata(tuple(recorded.source_headers.items()))
        return recorded, fault

    def _found(self, request: Any, sent: bytes, stream: bool, scenario: str | None) -> RecordedResponse:
        """Return the response to a request. Raises RequestNotRecorded, and ProviderRefusal if a rule is broken."""
        surface = SURFACES[_SURFACE]
        body = json_codec.encode({**messages.written(sent, type(request)), "type": messages.name_of(type(request))})
        found = self._index.match(surface, body, stream=stream, scenario=scenario)
        if found is not None:
            return found
        if (broken := refusal(surface, request)) is not None:
            raise broken
        return self._index.find(surface, body, stream=stream, scenario=scenario)

    async def _fail_before(self, fault: Fault, context: _Context, entry: JournalEntry) -> None:
        """Wait, and fail if the fault orders a failure before the response."""
        await asyncio.sleep(fault.delay)
        if fault.is_("status"):
            kind = faults.kind_of(fault.value)
            words = f"the call orders this error ({faults.HEADER}: {fault.text})"
            await _refuse(ProviderRefusal(kind, words, retry_after=fault.retry_after), context, entry)
        if fault.is_("html"):
            entry.status = "UNAVAILABLE"
            await context.abort(grpc.StatusCode.UNAVAILABLE, f"Received http2 header with status: {fault.value}")
        if fault.is_("hang", "reset") and fault.value == 0:
            await self._break(fault, context)

    async def _messages(self, recorded: RecordedResponse, fault: Fault, context: _Context) -> AsyncIterator[bytes]:
        """Yield the messages of a response, with the failure of its fault."""
        if fault.is_("empty"):
            return
        left = fault.value if fault.is_(*faults.TRANSPORT) else None
        for number, message in enumerate(_recorded_messages(recorded), 1):
            await asyncio.sleep(self._delay + fault.slow)
            if left is not None and len(message) > left:
                if not fault.is_("end"):
                    await self._break(fault, context)
                return
            if left is not None:
                left -= len(message)
            yield _DAMAGED if fault.is_("malformed") and number == fault.value else message

    async def _break(self, fault: Fault, context: _Context) -> NoReturn:
        """Break the connection of a call, or let it hang."""
        if not fault.is_("hang") and self._connections is not None:
            await self._connections.end(context.peer(), reset=fault.is_("reset"))
        await asyncio.Event().wait()  # until the client leaves, which cancels the call
        raise AssertionError("the call is cancelled")


def _recorded_messages(recorded: RecordedResponse) -> list[bytes]:
    body = json_codec.decode(recorded.answer)
    return [base64.b64decode(message["serialized"]) for message in body["messages"]]


async def _refuse(refused: ProviderRefusal, context: _Context, entry: JournalEntry) -> NoReturn:
    code, details, metadata = xai_grpc.error(refused)
    entry.status = code.name
    await context.abort(code, details, (*metadata, _EMULATED))
    raise AssertionError("abort raises")


async def _end(recorded: RecordedResponse, context: _Context) -> NoReturn:
    """Abort with the recorded call's status."""
    status = recorded.response.get("grpc") or {}
    code = getattr(grpc.StatusCode, str(status.get("code")), grpc.StatusCode.UNKNOWN)
    trailers = [(name, value) for name, values in (recorded.response.get("trailers") or {}).items() for value in values]
    await context.abort(code, str(status.get("details") or ""), tuple(trailers))
    raise AssertionError("abort raises")
