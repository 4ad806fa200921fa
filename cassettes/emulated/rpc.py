"""Emulated `EmulatedChat` service of xAI over gRPC: complete, streamed, deferred and stored answers from scripts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, NoReturn

import grpc
from grpc import aio
from xai_sdk.proto import chat_pb2, chat_pb2_grpc, deferred_pb2

from .. import emulation_marker
from ..scripts import Script
from ..surfaces import SURFACES
from . import xai_grpc
from .http import BAD_KEY
from .script_player import ConnectionReset, Play, ProviderRefusal, StoredAnswers, play

_Context = aio.ServicerContext[Any, Any]

#: How many polls of a deferred answer return PENDING.
_PENDING = 1
#: Metadata of every response: initial metadata of an answer, trailing metadata of an error.
_EMULATED = ((emulation_marker.HEADER, emulation_marker.EMULATED),)


class EmulatedChat(chat_pb2_grpc.ChatServicer):  # type: ignore[misc] # the SDK's stubs are untyped
    """The servicer. ``library``: scripts by id, by default those of this package."""

    def __init__(self, library: Mapping[str, Script] | None = None) -> None:
        self._library = library
        self._held = StoredAnswers()
        self._deferred: dict[str, tuple[Play, int]] = {}

    async def GetCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802
        """Return a complete answer."""
        played = await self._play(request, context)
        await _whole(played, context)
        await context.send_initial_metadata((*xai_grpc.headers(played).items(), *_EMULATED))
        return xai_grpc.answer(played)

    async def GetCompletionChunk(self, request: Any, context: _Context) -> AsyncIterator[Any]:  # noqa: N802
        """Yield the chunks of an answer."""
        played = await self._play(request, context)
        await context.send_initial_metadata((*xai_grpc.headers(played).items(), *_EMULATED))
        try:
            for chunk in xai_grpc.events(played):
                yield chunk
                await asyncio.sleep(0)
        except ProviderRefusal as refused:
            await _refuse(refused, context)
        except ConnectionReset:
            await _break(context)

    async def StartDeferredCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802
        """Accept a request, and return the id to poll for its answer."""
        played = await self._play(request, context)
        await context.send_initial_metadata(_EMULATED)
        id = played.uuid("deferred")
        self._deferred[id] = (played, _PENDING)
        return deferred_pb2.StartDeferredResponse(request_id=id)

    async def GetDeferredCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802
        """Return the answer to a deferred request, or PENDING for the first polls."""
        played, pending = self._deferred.get(request.request_id, (None, 0))
        if played is None:
            await _refuse(ProviderRefusal("not_found", f"Deferred request {request.request_id} not found."), context)
        if pending:
            await context.send_initial_metadata(_EMULATED)
            self._deferred[request.request_id] = (played, pending - 1)
            return chat_pb2.GetDeferredCompletionResponse(status=deferred_pb2.PENDING)
        await _whole(played, context)
        await context.send_initial_metadata(_EMULATED)
        return chat_pb2.GetDeferredCompletionResponse(status=deferred_pb2.DONE, response=xai_grpc.answer(played))

    async def GetStoredCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802
        """Return a stored answer."""
        played = await self._stored(request.response_id, context)
        await context.send_initial_metadata(_EMULATED)
        return xai_grpc.answer(played)

    async def DeleteStoredCompletion(self, request: Any, context: _Context) -> Any:  # noqa: N802
        """Delete a stored answer."""
        await self._stored(request.response_id, context)
        await context.send_initial_metadata(_EMULATED)
        self._held.forget(request.response_id)
        return chat_pb2.DeleteStoredCompletionResponse(response_id=request.response_id)

    async def CompactContext(self, request: Any, context: _Context) -> Any:  # noqa: N802
        """Abort with UNIMPLEMENTED: scripts cannot describe a compaction."""
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "the emulated provider compacts no context", _EMULATED)

    async def _play(self, request: Any, context: _Context) -> Play:
        """Return the answer to a request, and store it if the request sets ``store_messages``."""
        try:
            _check_key(context)
            if request.n > 1:
                raise ProviderRefusal("invalid_request", "the emulated model gives one answer", path="n")
            played = play(SURFACES["xai.grpc"], request, self._held, self._library)
        except ProviderRefusal as refused:
            await _refuse(refused, context)
        if request.store_messages:
            self._held.keep(xai_grpc.answer(played).id, played)
        return played

    async def _stored(self, id: str, context: _Context) -> Play:
        try:
            _check_key(context)
            played = self._held.answer(id)
            if played is None:
                raise ProviderRefusal("not_found", f"Response with id={id} not found.")
        except ProviderRefusal as refused:
            await _refuse(refused, context)
        return played


def _check_key(context: _Context) -> None:
    sent = dict(context.invocation_metadata() or ())
    key = str(sent.get("authorization", "")).removeprefix("Bearer ").strip()
    if not key or key.startswith(BAD_KEY):
        raise ProviderRefusal("authentication", "the API key is missing or unknown", value=key or None)


async def _whole(played: Play, context: _Context) -> None:
    """Abort the call if the script fails in the middle of the answer."""
    if played.fault is not None and played.fault.kind in ("cut", "reset"):
        await _break(context)
    if (refused := played.failure()) is not None:
        await _refuse(refused, context)


async def _refuse(refused: ProviderRefusal, context: _Context) -> NoReturn:
    code, details, metadata = xai_grpc.error(refused)
    await context.abort(code, details, (*metadata, *_EMULATED))
    raise AssertionError("abort raises")


async def _break(context: _Context) -> NoReturn:
    """Abort with the status that a gRPC client reports for a broken connection.

    A server cannot break the connection of a single call.
    """
    await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed", _EMULATED)
    raise AssertionError("abort raises")
