"""Synchronous calls: grpc's own multi-callables on top of a core channel that records or plays.

In both cases the client gets grpc's own objects (``_InactiveRpcError``, ``_MultiThreadedRendezvous``, …).
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import interaction
from .core import PLAYED, Operation, ReceiveMessage, StatusCode, metadatums
from .errors import UnsupportedCall
from .interaction import OutgoingCall, RecordedAnswer
from .metadata import pairs_of
from .recording import CallRecording, GrpcCassette, left_early

_Handler = Callable[[Any], bool]
_INTERNAL = StatusCode.INTERNAL.value[0]


def call(original: Callable[..., Any], cassette: Any, stream: bool) -> Callable[..., Any]:
    """Return the replacement for a multi-callable's method with a single request."""

    def replacement(
        multi: Any, request: Any, timeout: Any = None, metadata: Any = None, *rest: Any, **more: Any
    ) -> Any:
        method = multi._method.decode()
        data, request_type = interaction.serialized(request, multi._request_serializer, method)
        outgoing = OutgoingCall(
            target=multi._target.decode(),
            method=method,
            metadata=pairs_of(metadata),
            serialized=data,
            request_type=request_type,
            deserializer=multi._response_deserializer,
            stream=stream,
        )
        decided = GrpcCassette.of(cassette).decide(outgoing)
        if decided is None:
            return original(multi, request, timeout, metadata, *rest, **more)
        stand_in = copy.copy(multi)
        stand_in._request_serializer = None  # the request is already serialized
        if isinstance(decided, CallRecording):
            stand_in._channel = _RecordingChannel(multi._channel, decided)
            # The single-threaded multi-callable has no `_managed_call`, but setting one does no harm.
            stand_in._managed_call = _recording_managed_call(getattr(multi, "_managed_call", None), decided)
        else:
            stand_in._channel = _PlayingChannel(decided, outgoing)
            stand_in._managed_call = _playing_managed_call(decided, outgoing)
        try:
            return original(stand_in, data, timeout, metadata, *rest, **more)
        except BaseException:
            if isinstance(decided, CallRecording):
                decided.failed()  # no effect if the exception is the answer
            raise

    return replacement


def refuse(original: Callable[..., Any], cassette: Any) -> Callable[..., Any]:
    """Return the replacement for a multi-callable's method with a request stream.

    It raises UnsupportedCall, unless the cassette ignores the call.
    """

    def replacement(
        multi: Any, request_iterator: Any, timeout: Any = None, metadata: Any = None, *rest: Any, **more: Any
    ) -> Any:
        method = multi._method.decode()
        outgoing = OutgoingCall(multi._target.decode(), method, pairs_of(metadata), b"", None, None, stream=True)
        if GrpcCassette.of(cassette).ignores(outgoing):
            return original(multi, request_iterator, timeout, metadata, *rest, **more)
        raise UnsupportedCall("calls with a stream of requests can neither be recorded nor played", where=outgoing.uri)

    return replacement


# Recording: wraps core calls and sees their events before grpc does.


def _recording_managed_call(managed_call: Any, recording: CallRecording) -> Callable[..., Any]:
    # grpc: create(flags, method, host, deadline, metadata, credentials, operations, event_handler, …)
    def create(*args: Any) -> Any:
        args = (*args[:7], _seen(args[7], recording), *args[8:])
        return _RecordingCall(managed_call(*args), recording)

    return create


class _RecordingChannel:
    def __init__(self, channel: Any, recording: CallRecording) -> None:
        self._channel = channel
        self._recording = recording

    def segregated_call(self, *args: Any) -> Any:
        return _RecordingCall(self._channel.segregated_call(*args), self._recording)


class _RecordingCall:
    def __init__(self, call: Any, recording: CallRecording) -> None:
        self._call = call
        self._recording = recording

    def operate(self, operations: Iterable[Any], handler: _Handler | None) -> Any:
        reads = any(isinstance(operation, ReceiveMessage) for operation in operations)
        if reads:
            self._recording.reading()
        operating = self._call.operate(operations, handler and _seen(handler, self._recording))
        if reads and not operating:
            self._recording.unread()
        return operating

    def next_event(self) -> Any:
        event = self._call.next_event()
        _see(event, self._recording)
        return event

    def cancel(self, *args: Any) -> Any:
        try:
            self._recording.left()
        finally:
            self._call.cancel(*args)


def _seen(handler: _Handler, recording: CallRecording) -> _Handler:
    """Wrap a handler that runs on grpc's own thread.

    An exception from a hook must not end that thread, so the client gets it as a status.
    """

    def handle(event: Any) -> bool:
        try:
            _see(event, recording)
        except Exception as error:
            event = _refused(event, error, recording)
        return handler(event)

    return handle


def _see(event: Any, recording: CallRecording) -> None:
    for operation in event.batch_operations or ():
        match operation.type():
            case Operation.receive_initial_metadata:
                recording.initial(operation.initial_metadata())
            case Operation.receive_message:
                recording.read(operation.message())
            case Operation.receive_status_on_client:
                recording.ended(operation.code(), _text(operation.details()), operation.trailing_metadata())


def _refused(event: Any, error: Exception, recording: CallRecording) -> _Event:
    """Return the event with its status replaced by one that says why the call was not recorded.

    If the event holds no status, it was already delivered; then the exception is raised when the cassette closes. The
    status can arrive before the last message, and then that message's event triggers the write.
    """
    failure = RecordedAnswer((), (), (), _INTERNAL, f"the cassette did not take this call: {error}")
    status = _Operation(Operation.receive_status_on_client, failure)
    if all(operation.type() != status.kind for operation in event.batch_operations):
        recording.refused(error)
    return _Event(tuple(status if o.type() == status.kind else o for o in event.batch_operations))


def _text(details: Any) -> str:
    return details.decode("utf-8", "replace") if isinstance(details, bytes) else details or ""


# Playing: core calls that return recorded data.


class _Operation(NamedTuple):
    """One finished operation, with the accessors of grpc's core."""

    kind: Any
    value: Any = None

    def type(self) -> Any:
        return self.kind

    def initial_metadata(self) -> Any:
        return self.value

    def message(self) -> Any:
        return self.value

    def trailing_metadata(self) -> Any:
        return metadatums(self.value.trailing)

    def code(self) -> int:
        code: int = self.value.code
        return code

    def details(self) -> str:
        details: str = self.value.details
        return details

    def error_string(self) -> str:
        return f"{PLAYED}: {self.value.details}"


class _Event(NamedTuple):
    batch_operations: tuple[_Operation, ...]


class _PlayedCall:
    """Replays a recorded response as events: immediately to a handler, otherwise through `next_event`."""

    def __init__(self, answer: RecordedAnswer, outgoing: OutgoingCall, handler: _Handler | None) -> None:
        self._answer = answer
        self._outgoing = outgoing
        self._handler = handler
        self._messages = deque(answer.messages)
        self._events: deque[_Event] = deque()
        self._over = False
        begun = (
            _Operation(Operation.send_initial_metadata),
            _Operation(Operation.send_message),
            _Operation(Operation.send_close_from_client),
            _Operation(Operation.receive_initial_metadata, metadatums(answer.initial)),
        )
        if outgoing.stream:
            self._give(handler, *begun)
            self._end_if_read()
        else:
            message = answer.messages[0] if answer.messages else None
            self._over = True
            self._give(handler, *begun, _Operation(Operation.receive_message, message), self._status())

    def operate(self, operations: Iterable[Any], handler: _Handler | None) -> bool:
        """Deliver the next message. For a call with one request, grpc uses this method only to read."""
        if self._messages:
            self._give(handler, _Operation(Operation.receive_message, self._messages.popleft()))
            self._end_if_read()
        elif self._over:
            self._give(handler, _Operation(Operation.receive_message))
        else:
            raise left_early(self._answer, self._outgoing)
        return True

    def next_event(self) -> _Event:
        return self._events.popleft()

    def cancel(self, code: int, details: str) -> None:
        if not self._over:
            self._over = True
            cancelled = RecordedAnswer((), (), (), int(code), details)
            self._give(self._handler, _Operation(Operation.receive_status_on_client, cancelled))

    def _status(self) -> _Operation:
        return _Operation(Operation.receive_status_on_client, self._answer)

    def _end_if_read(self) -> None:
        # grpc's core reports the status once the last message was taken, neither earlier nor only on another read.
        if not self._messages and not self._answer.left:
            self._over = True
            self._give(self._handler, self._status())

    def _give(self, handler: _Handler | None, *operations: _Operation) -> None:
        if handler is None:
            self._events.append(_Event(operations))
        else:
            handler(_Event(operations))


class _PlayingChannel:
    def __init__(self, answer: RecordedAnswer, outgoing: OutgoingCall) -> None:
        self._answer = answer
        self._outgoing = outgoing

    def segregated_call(self, *_: Any) -> _PlayedCall:
        return _PlayedCall(self._answer, self._outgoing, None)


def _playing_managed_call(answer: RecordedAnswer, outgoing: OutgoingCall) -> Callable[..., _PlayedCall]:
    def create(*args: Any) -> _PlayedCall:
        return _PlayedCall(answer, outgoing, args[7])

    return create
