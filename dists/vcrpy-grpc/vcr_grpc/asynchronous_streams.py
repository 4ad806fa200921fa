"""asyncio calls with a stream of requests: client streaming and bidirectional streaming."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from . import interaction, request_streams
from .asynchronous import PlayedCall, Prepared, RecordingCall, constructor
from .core import EOF, AioStatus, StatusCode, UsageError, metadatums
from .core import PLAYED as DEBUG
from .interaction import OutgoingCall, RecordedAnswer
from .messages import MessageType
from .recording import CallRecording, GrpcCassette, left_early
from .request_streams import PlayedRequests

_INTERNAL = StatusCode.INTERNAL.value[0]


def call(original: Callable[..., None], cassette: Any, stream: bool) -> Callable[..., None]:
    """Return the replacement for the constructor of a call with a stream of requests."""

    def prepare(outgoing: OutgoingCall, requests: Any, channel: Any, serializer: Any) -> Prepared:
        decided = request_streams.decide(GrpcCassette.of(cassette), outgoing)
        if decided is None:
            return Prepared(requests, channel, serializer, None)
        keeping = _Serializer(serializer, outgoing.method)
        return Prepared(requests, _Core(channel, decided, keeping), keeping, decided)

    return constructor(original, stream, prepare)


class _Serializer:
    """The stub's serializer, which also keeps the type of the messages."""

    def __init__(self, serializer: Any, method: str) -> None:
        self._serializer = serializer
        self._method = method
        self.type: MessageType | None = None

    def __call__(self, request: Any) -> bytes:
        data, self.type = interaction.serialized(request, self._serializer, self._method)
        return data


class _Core:
    """Represents grpc's core channel."""

    def __init__(self, channel: Any, decided: CallRecording | PlayedRequests, serializer: _Serializer) -> None:
        self._channel = channel
        self._decided = decided
        self._serializer = serializer

    def call(self, method: Any, deadline: float | None, *rest: Any) -> _SendingCall | _PlayedCall:
        if isinstance(self._decided, CallRecording):
            core = self._channel.call(method, deadline, *rest)
            return _SendingCall(core, self._decided, self._serializer)
        if self._channel.closed():
            raise UsageError("Channel is closed.")
        return _PlayedCall(self._decided, self._serializer, deadline)


class _SendingCall(RecordingCall):
    """Wraps grpc's core call and records what it sends, too."""

    def __init__(self, call: Any, recording: CallRecording, serializer: _Serializer) -> None:
        super().__init__(call, recording)
        self._serializer = serializer

    async def stream_unary(self, *args: Any) -> Any:
        message = None
        try:
            message = await self._call.stream_unary(*args)
        finally:
            self._recording.read(message if self._call.done() and self._call.is_ok() else None)
        return message

    async def send_serialized_message(self, message: bytes) -> None:
        self._recording.sent(message, self._serializer.type)
        await self._call.send_serialized_message(message)

    async def send_receive_close(self) -> None:
        self._recording.closed()
        await self._call.send_receive_close()


class _PlayedCall(PlayedCall):
    """Replays a call, each message once the client sent what preceded it in the recording."""

    def __init__(self, requests: PlayedRequests, serializer: _Serializer, deadline: float | None) -> None:
        super().__init__(RecordedAnswer((), (), (), None, ""), requests.call, deadline)
        self._requests = requests
        self._serializer = serializer
        self._delivered = 0
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None

    async def stream_unary(self, _metadata: Any, on_metadata_sent: Callable[[], None], *_: Any) -> bytes | None:
        on_metadata_sent()
        answer = await self._due()
        if answer is not None and answer.left:
            await self._await_cancellation()
        self._finish(answer)
        return answer.messages[0] if answer is not None and answer.messages else None

    async def initiate_stream_stream(self, _metadata: Any, on_metadata_sent: Callable[[], None], *_: Any) -> None:
        on_metadata_sent()
        self._start(self._requests.initial)

    async def send_serialized_message(self, message: bytes) -> None:
        await self._take(lambda: self._requests.send(message, self._serializer.type))

    async def send_receive_close(self) -> None:
        await self._take(self._requests.close)

    async def receive_serialized_message(self) -> Any:
        if self.done() and self._failure is None:
            return EOF
        answer = await self._due()
        if answer is None:
            return EOF
        if self._delivered == len(answer.messages):
            if answer.left:
                raise left_early(answer, self._requests.call)
            self._finish(answer)
            return EOF
        self._delivered += 1
        following = self._requests.answer_if_ready(self._delivered)
        if following is not None and self._delivered == len(answer.messages) and not answer.left:
            self._finish(answer)  # grpc's core reports the status once the last message was taken
        return answer.messages[self._delivered - 1]

    def cancel(self, details: str) -> None:
        if self._failure is None:
            super().cancel(details)
            self._wake()

    async def _take(self, change: Callable[[], None]) -> None:
        """Apply what the client does. A request that no recorded call contains ends the call."""
        try:
            change()
        except Exception as error:
            self._failure = error
            self._start(())
            self._end(AioStatus(_INTERNAL, str(error), (), DEBUG))
            raise
        finally:
            self._wake()
        self._start(self._requests.initial)

    async def _due(self) -> RecordedAnswer | None:
        """Wait until the next message, or the end, is due; None if the client cancelled the call."""
        while True:
            if self._failure is not None:
                raise self._failure
            if self.done():
                return None
            answer = self._requests.answer_if_ready(self._delivered)
            if answer is not None:
                self._start(answer.initial)
                return answer
            await self._changed.wait()

    def _wake(self) -> None:
        """Let all waiting reads look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _start(self, initial: Any) -> None:
        if initial is not None and not self._begun.is_set():
            self._initial_metadata = metadatums(initial)
            self._begun.set()

    def _finish(self, answer: RecordedAnswer | None) -> None:
        if answer is not None:
            self._answer = answer
            self._end_with_answer()
