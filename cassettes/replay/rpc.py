"""gRPC replay of xAI's `ReplayedChat` service, byte for byte.

The metadata ``x-toolparity-scenario`` selects a scenario. The initial metadata of a response states its origin and
cassette, like the headers of `http`. A request with fields that the SDK does not define is compared by its bytes.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc
from grpc import aio
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from toolparity.normalizer import json_codec

from ..errors import RequestNotRecorded
from ..surfaces import SURFACES
from ..vcr_grpc import messages
from .http import SCENARIO_HEADER
from .response_index import RecordedResponse, ResponseIndex

_Context = aio.ServicerContext[Any, Any]


class ReplayedChat(chat_pb2_grpc.ChatServicer):  # type: ignore[misc] # the SDK's stubs are untyped
    """The service. ``delay``: seconds before each message."""

    def __init__(self, index: ResponseIndex, *, delay: float = 0.0) -> None:
        self._deck = index
        self._delay = delay

    async def GetCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802 - the service's name
        """Return one plain response."""
        recorded = await self._track(request, context, stream=False)
        for message in _messages(recorded):
            await asyncio.sleep(self._delay)
            return chat_pb2.GetChatCompletionResponse.FromString(message)
        return await _end(recorded, context)

    async def GetCompletionChunk(self, request: Any, context: _Context) -> AsyncIterator[Any]:  # noqa: N802
        """Yield the chunks of one response."""
        recorded = await self._track(request, context, stream=True)
        for message in _messages(recorded):
            await asyncio.sleep(self._delay)
            yield chat_pb2.GetChatCompletionChunk.FromString(message)
        if (recorded.response.get("grpc") or {}).get("code") != "OK":
            await _end(recorded, context)

    async def _track(self, request: Any, context: _Context, *, stream: bool) -> RecordedResponse:
        sent = request.SerializeToString(deterministic=True)
        sent_message = {**messages.written(sent, type(request)), "type": messages.name_of(type(request))}
        metadata = dict(context.invocation_metadata() or ())
        scenario = metadata.get(SCENARIO_HEADER)
        name = scenario if isinstance(scenario, str) else None
        try:
            recorded = self._deck.find(
                SURFACES["xai.grpc"], json_codec.encode(sent_message), stream=stream, scenario=name
            )
        except RequestNotRecorded as error:
            await context.abort(grpc.StatusCode.NOT_FOUND, str(error))
        await context.send_initial_metadata(tuple(recorded.source_headers.items()))
        return recorded


def _messages(recorded: RecordedResponse) -> list[bytes]:
    sent_message = json_codec.decode(recorded.answer)
    return [base64.b64decode(message["serialized"]) for message in sent_message["messages"]]


async def _end(recorded: RecordedResponse, context: _Context) -> NoReturn:
    """Abort with the recorded call's status."""
    status = recorded.response.get("grpc") or {}
    code = getattr(grpc.StatusCode, str(status.get("code")), grpc.StatusCode.UNKNOWN)
    trailers = [(name, value) for name, values in (recorded.response.get("trailers") or {}).items() for value in values]
    await context.abort(code, str(status.get("details") or ""), tuple(trailers))
