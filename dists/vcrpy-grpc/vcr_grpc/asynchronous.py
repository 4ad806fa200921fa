"""asyncio calls: grpc.aio's own call objects on top of a core call that records or plays.

The patches replace the constructors of ``UnaryUnaryCall`` and ``UnaryStreamCall``. A multi-callable without
interceptors calls these directly, and so does the innermost step of a chain of interceptors, with the metadata they
added.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from . import interaction
from .core import EOF, PATIENCE, PLAYED, AioStatus, StatusCode, UsageError, metadatums
from .interaction import OutgoingCall, RecordedAnswer
from .metadata import pairs_of
from .recording import CallRecording, GrpcCassette, left_early

_CANCELLED = StatusCode.CANCELLED.value[0]


class Prepared(NamedTuple):
    """What a replaced constructor passes on instead of its arguments. ``decided``: None if the call passes."""

    request: Any
    core: Any
    serializer: Any
    decided: Any


def constructor(
    original: Callable[..., None], stream: bool, prepare: Callable[[OutgoingCall, Any, Any, Any], Prepared]
) -> Callable[..., None]:
    """Return the replacement for the constructor of a call.

    ``prepare``: takes the call, still without its request, and the request or its iterator, the channel and the
    serializer.
    """

    def replacement(
        self: Any,
        request: Any,
        deadline: float | None,
        metadata: Any,
        credentials: Any,
        wait_for_ready: bool | None,
        channel: Any,
        method: Any,
        request_serializer: Any,
        response_deserializer: Any,
        *rest: Any,
    ) -> None:
        outgoing = OutgoingCall(
            target=text_of(channel.target),
            method=text_of(method),
            metadata=pairs_of(metadata),
            serialized=(),
            request_type=None,
            deserializer=response_deserializer,
            stream=stream,
        )
        request, core, serializer, decided = prepare(outgoing, request, channel, request_serializer)
        head = (request, deadline, metadata, credentials, wait_for_ready)
        try:
            original(self, *head, core, method, serializer, response_deserializer, *rest)
        except BaseException:
            if isinstance(decided, CallRecording):
                decided.failed()
            raise

    return replacement


def call(original: Callable[..., None], cassette: Any, stream: bool) -> Callable[..., None]:
    """Return the replacement for the constructor of a call with a single request."""

    def prepare(outgoing: OutgoingCall, request: Any, channel: Any, serializer: Any) -> Prepared:
        data, request_type = interaction.serialized(request, serializer, outgoing.method)
        outgoing = replace(outgoing, serialized=data, request_type=request_type)
        decided = GrpcCassette.of(cassette).decide(outgoing)
        if decided is None:
            return Prepared(request, channel, serializer, None)
        if isinstance(decided, CallRecording):
            return Prepared(data, RecordingChannel(channel, decided), None, decided)
        return Prepared(data, PlayingChannel(channel, decided, outgoing), None, decided)

    return constructor(original, stream, prepare)


def text_of(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


# Recording


class RecordingChannel:
    def __init__(self, channel: Any, recording: CallRecording) -> None:
        self._channel = channel
        self._recording = recording

    def call(self, *args: Any) -> RecordingCall:
        return RecordingCall(self._channel.call(*args), self._recording)


class RecordingCall:
    """Wraps grpc's core call and records what it returns. Members not defined here are the core call's own."""

    def __init__(self, call: Any, recording: CallRecording) -> None:
        self._call = call
        self._recording = recording
        self._refusal: BaseException | None = None
        call.add_done_callback(self._done)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    async def unary_unary(self, *args: Any) -> Any:
        message = None
        try:
            message = await self._call.unary_unary(*args)
        finally:
            # Only a successful call has an answer; the value of a failed one is not a message.
            self._recording.read(message if self._call.done() and self._call.is_ok() else None)
        return message

    async def receive_serialized_message(self) -> Any:
        if self._refusal is not None:
            raise self._refusal
        self._recording.reading()
        message = None
        try:
            message = await self._call.receive_serialized_message()
        finally:
            self._recording.initial(self._call._initial_metadata)
            self._recording.read(message if isinstance(message, bytes) else None)
        return message

    async def status(self) -> Any:
        status = await self._call.status()
        if self._refusal is not None:
            raise self._refusal
        return status

    def cancel(self, details: str) -> None:
        try:
            self._recording.cancelled(details)
        finally:
            self._call.cancel(details)

    def __repr__(self) -> str:
        return repr(self._call)

    def _done(self) -> None:
        status = self._call._status
        self._recording.initial(self._call._initial_metadata)
        try:
            self._recording.ended(status.code(), status.details(), status.trailing_metadata())
        except BaseException as error:  # an exception from a hook: grpc's core is running, so raise it later
            self._refusal = error


# Playing


class PlayingChannel:
    def __init__(self, channel: Any, answer: RecordedAnswer, outgoing: OutgoingCall) -> None:
        self._channel = channel
        self._answer = answer
        self._outgoing = outgoing

    def call(self, method: Any, deadline: float | None, *_: Any) -> PlayedCall:
        if self._channel.closed():
            raise UsageError("Channel is closed.")
        return PlayedCall(self._answer, self._outgoing, deadline)


class PlayedCall:
    """Replays a recorded response with the interface of grpc's core call."""

    def __init__(self, answer: RecordedAnswer, outgoing: OutgoingCall, deadline: float | None) -> None:
        self._answer = answer
        self._outgoing = outgoing
        self._deadline = deadline
        self._messages = deque(answer.messages)
        self._initial_metadata: tuple[Any, ...] | None = None
        self._status: Any = None
        self._locally_cancelled = False
        self._callbacks: list[Callable[[], None]] = []
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()

    async def unary_unary(self, *_: Any) -> bytes | None:
        self._begin()
        if self._answer.left:
            await self._await_cancellation()
        self._end_with_answer()
        return self._messages.popleft() if self._messages else None

    async def initiate_unary_stream(self, *_: Any) -> None:
        self._begin()
        self._end_if_read()

    async def receive_serialized_message(self) -> Any:
        if self._messages:
            message = self._messages.popleft()
            self._end_if_read()
            return message
        if not self.done():
            raise left_early(self._answer, self._outgoing)
        return EOF

    async def initial_metadata(self) -> tuple[Any, ...]:
        await self._begun.wait()
        return self._initial_metadata or ()

    async def status(self) -> Any:
        await self._ended.wait()
        return self._status

    def cancel(self, details: str) -> None:
        self._locally_cancelled = True
        self._messages.clear()
        self._begun.set()
        self._end(AioStatus(_CANCELLED, details, (), PLAYED))

    def done(self) -> bool:
        return self._status is not None

    def cancelled(self) -> bool:
        return self.done() and self._status.code() == _CANCELLED

    def is_locally_cancelled(self) -> bool:
        return self._locally_cancelled

    def is_ok(self) -> bool:
        return self.done() and self._status.code() == 0

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        if self.done():
            callback()
        else:
            self._callbacks.append(callback)

    def time_remaining(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.time())

    def set_internal_error(self, details: str) -> None:
        self._end(AioStatus(StatusCode.INTERNAL.value[0], details, (), PLAYED))

    def __repr__(self) -> str:
        return f"<{PLAYED}: {self._outgoing.uri}>"

    def _begin(self) -> None:
        self._initial_metadata = metadatums(self._answer.initial)
        self._begun.set()

    async def _await_cancellation(self) -> None:
        """Wait for the client to cancel the call, as it did when it was recorded; but not forever."""
        try:
            await asyncio.wait_for(self._ended.wait(), PATIENCE)
        except TimeoutError:
            raise left_early(self._answer, self._outgoing) from None

    def _end_if_read(self) -> None:
        # grpc's core reports the status once the last message was taken, neither earlier nor only on another read.
        if not self._messages and not self._answer.left:
            self._end_with_answer()

    def _end_with_answer(self) -> None:
        answer = self._answer
        debug = f"{PLAYED}: {answer.details}"
        self._end(AioStatus(answer.code, answer.details, metadatums(answer.trailing), debug))

    def _end(self, status: Any) -> None:
        if self.done():
            return
        self._status = status
        self._ended.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
