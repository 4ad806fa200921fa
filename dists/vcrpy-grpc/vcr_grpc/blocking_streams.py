"""Synchronous calls with a stream of requests: client streaming and bidirectional streaming.

grpc serializes and sends the requests on a thread of the call. The serializer sees each message, and the core call sees
when it is sent.
"""

from __future__ import annotations

import copy
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from . import interaction, request_streams
from .blocking import CoreEvent, CoreOperation, Handler, RecordingCall, observed
from .core import PATIENCE, Operation, ReceiveMessage, SendClose, SendMessage, StatusCode, metadatums
from .interaction import OutgoingCall, RecordedAnswer
from .messages import MessageType
from .metadata import pairs_of
from .recording import CallRecording, GrpcCassette, left_early
from .request_streams import PlayedRequests

_INTERNAL = StatusCode.INTERNAL.value[0]


def call(original: Callable[..., Any], cassette: Any, stream: bool) -> Callable[..., Any]:
    """Return the replacement for a multi-callable's method with a stream of requests."""

    def replacement(
        multi: Any, request_iterator: Any, timeout: Any = None, metadata: Any = None, *rest: Any, **more: Any
    ) -> Any:
        outgoing = OutgoingCall(
            target=multi._target.decode(),
            method=multi._method.decode(),
            metadata=pairs_of(metadata),
            serialized=(),
            request_type=None,
            deserializer=multi._response_deserializer,
            stream=stream,
        )
        decided = request_streams.decide(GrpcCassette.of(cassette), outgoing)
        if decided is None:
            return original(multi, request_iterator, timeout, metadata, *rest, **more)
        substitute = copy.copy(multi)
        substitute._request_serializer = serializer = Serializer(multi._request_serializer, outgoing.method)
        if isinstance(decided, CallRecording):
            substitute._channel = substitute._managed_call = _RecordingCallFactory(multi, decided, serializer)
        else:
            substitute._channel = substitute._managed_call = _PlayedCallFactory(decided, serializer)
        try:
            return original(substitute, request_iterator, timeout, metadata, *rest, **more)
        except BaseException:
            if isinstance(decided, CallRecording):
                decided.failed()
            raise

    return replacement


class Serializer:
    """The stub's serializer, which also keeps the last message until it is sent."""

    def __init__(self, serializer: Any, method: str) -> None:
        self._serializer = serializer
        self._method = method
        self.last: tuple[bytes, MessageType | None] = (b"", None)

    def __call__(self, request: Any) -> bytes:
        self.last = interaction.serialized(request, self._serializer, self._method)
        return self.last[0]


def _operation_types(operations: Iterable[Any]) -> set[Any]:
    return {type(operation) for operation in operations}


# Recording


class _RecordingCallFactory:
    """Makes the calls of a multi-callable, like its core channel and like its function for managed calls."""

    def __init__(self, multi: Any, recording: CallRecording, serializer: Serializer) -> None:
        self._multi = multi
        self._recording = recording
        self._serializer = serializer

    def segregated_call(self, *args: Any) -> Any:
        return _SendingCall(self._multi._channel.segregated_call(*args), self._recording, self._serializer)

    def __call__(self, *args: Any) -> Any:
        args = (*args[:7], observed(args[7], self._recording), *args[8:])
        return _SendingCall(self._multi._managed_call(*args), self._recording, self._serializer)


class _SendingCall(RecordingCall):
    def __init__(self, call: Any, recording: CallRecording, serializer: Serializer) -> None:
        super().__init__(call, recording)
        self._serializer = serializer

    def operate(self, operations: Iterable[Any], handler: Handler | None) -> Any:
        operations = tuple(operations)
        types = _operation_types(operations)
        # Noted first: the answer may arrive before `operate` returns.
        if SendMessage in types:
            self._recording.sent(*self._serializer.last)
        if SendClose in types:
            self._recording.closed()
        return super().operate(operations, handler)


# Playing


class _PlayedCallFactory:
    """Makes the calls of a multi-callable, like its core channel and like its function for managed calls."""

    def __init__(self, requests: PlayedRequests, serializer: Serializer) -> None:
        self._requests = requests
        self._serializer = serializer

    def segregated_call(self, *_: Any) -> _PlayedCall:
        return _PlayedCall(self._requests, self._serializer, None)

    def __call__(self, *args: Any) -> _PlayedCall:
        return _PlayedCall(self._requests, self._serializer, args[7])


class _PlayedCall:
    """Replays a call as events, each once the client sent what preceded it in the recording.

    Events go to a handler, or through `next_event`. A request that no recorded call contains raises where the client
    waits next: from `next_event`, from the next read, or as status INTERNAL if a read is waiting already.
    """

    def __init__(self, requests: PlayedRequests, serializer: Serializer, handler: Handler | None) -> None:
        self._requests = requests
        self._serializer = serializer
        self._handler = handler
        self._lock = threading.RLock()
        self._events: queue.SimpleQueue[CoreEvent | BaseException] = queue.SimpleQueue()
        self._started = False
        self._delivered = 0
        self._pending_reads: deque[None] = deque()
        self._ended = False
        self._failure: BaseException | None = None
        self._timer: threading.Timer | None = None
        self._undelivered: deque[CoreEvent] = deque()
        with self._lock:
            if not requests.call.stream:
                self._pending_reads.append(None)  # a unary response is awaited from the start
            self._emit(CoreOperation(Operation.send_initial_metadata))
            self._advance()
        self._flush()

    def operate(self, operations: Iterable[Any], handler: Handler | None) -> bool:
        types = _operation_types(operations)
        try:
            with self._lock:
                self._operate(types)
        finally:
            self._flush()
        return True

    def next_event(self) -> CoreEvent:
        event = self._events.get()
        if isinstance(event, BaseException):
            raise event
        return event

    def cancel(self, code: int, details: str) -> None:
        with self._lock:
            if not self._ended:
                self._end(RecordedAnswer((), (), (), int(code), details))
        self._flush()

    def _operate(self, types: set[Any]) -> None:
        if self._failure is not None and ReceiveMessage in types:
            raise self._failure
        try:
            if SendMessage in types:
                self._requests.send(*self._serializer.last)
                self._emit(CoreOperation(Operation.send_message))
            if SendClose in types:
                self._requests.close()
                self._emit(CoreOperation(Operation.send_close_from_client))
            if ReceiveMessage in types:
                self._pending_reads.append(None)
            self._advance()
        except Exception as error:
            if ReceiveMessage in types:
                self._pending_reads.pop()
                raise
            self._fail(error)

    def _advance(self) -> None:
        """Deliver what is due."""
        if not self._started and self._requests.initial is not None:
            self._start(self._requests.initial)
        while not self._ended:
            answer = self._requests.answer_if_ready(self._delivered)
            if answer is None:
                return
            if not self._started:
                self._start(answer.initial)
            if self._delivered < len(answer.messages):
                if not self._pending_reads:
                    return
                self._pending_reads.popleft()
                self._delivered += 1
                message = answer.messages[self._delivered - 1]
                self._emit(CoreOperation(Operation.receive_message, message))
            elif not answer.left:
                self._end(answer)
            elif self._pending_reads and (self._requests.call.stream or self._handler is None):
                raise left_early(answer, self._requests.call)
            else:
                self._await_cancellation(answer)
                return
        while self._pending_reads:
            self._pending_reads.popleft()
            self._emit(CoreOperation(Operation.receive_message))

    def _start(self, initial: Any) -> None:
        self._started = True
        self._emit(CoreOperation(Operation.receive_initial_metadata, metadatums(initial)))

    def _end(self, answer: RecordedAnswer) -> None:
        self._ended = True
        if not self._started:
            self._start(())
        while self._pending_reads:
            self._pending_reads.popleft()
            self._emit(CoreOperation(Operation.receive_message))
        self._emit(CoreOperation(Operation.receive_status_on_client, answer))

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        if self._handler is None:
            self._events.put(error)
        elif not self._ended:
            self._end(RecordedAnswer((), (), (), _INTERNAL, str(error)))

    def _await_cancellation(self, answer: RecordedAnswer) -> None:
        """Leave the call open, because the client cancelled it when it was recorded; but not forever."""
        if self._pending_reads and self._timer is None:
            details = str(left_early(answer, self._requests.call))
            self._timer = threading.Timer(PATIENCE, self.cancel, (_INTERNAL, details))
            self._timer.daemon = True
            self._timer.start()

    def _emit(self, operation: CoreOperation) -> None:
        self._undelivered.append(CoreEvent((operation,)))

    def _flush(self) -> None:
        """Pass the events on, without the lock: the handler takes grpc's own lock, which a caller may hold already."""
        while True:
            with self._lock:
                if not self._undelivered:
                    return
                event = self._undelivered.popleft()
            if self._handler is None:
                self._events.put(event)
            else:
                self._handler(event)
