"""Synchronous calls: grpc's own multi-callables on top of a core channel that records or plays.

In both cases the client gets grpc's own objects (``_InactiveRpcError``, ``_MultiThreadedRendezvous``, …).
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import interaction
from .core import PATIENCE, PLAYED, Operation, ReceiveMessage, StatusCode, metadatums
from .interaction import OutgoingCall, RecordedAnswer
from .metadata import pairs_of
from .recording import CallRecording, GrpcCassette, left_early

Handler = Callable[[Any], bool]
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
        substitute = copy.copy(multi)
        substitute._request_serializer = None  # the request is already serialized
        if isinstance(decided, CallRecording):
            substitute._channel = RecordingChannel(multi._channel, decided)
            # The single-threaded multi-callable has no `_managed_call`, but setting one does no harm.
            substitute._managed_call = recording_managed_call(getattr(multi, "_managed_call", None), decided)
        else:
            substitute._channel = PlayingChannel(decided, outgoing)
            substitute._managed_call = playing_managed_call(decided, outgoing)
        try:
            return original(substitute, data, timeout, metadata, *rest, **more)
        except BaseException:
            if isinstance(decided, CallRecording):
                decided.failed()  # no effect if the exception is the answer
            raise

    return replacement


# Recording: wraps core calls and sees their events before grpc does.


def recording_managed_call(managed_call: Any, recording: CallRecording) -> Callable[..., Any]:
    # grpc: create(flags, method, host, deadline, metadata, credentials, operations, event_handler, …)
    def create(*args: Any) -> Any:
        args = (*args[:7], observed(args[7], recording), *args[8:])
        return RecordingCall(managed_call(*args), recording)

    return create


class RecordingChannel:
    def __init__(self, channel: Any, recording: CallRecording) -> None:
        self._channel = channel
        self._recording = recording

    def segregated_call(self, *args: Any) -> Any:
        return RecordingCall(self._channel.segregated_call(*args), self._recording)


class RecordingCall:
    def __init__(self, call: Any, recording: CallRecording) -> None:
        self._call = call
        self._recording = recording

    def operate(self, operations: Iterable[Any], handler: Handler | None) -> Any:
        reads = any(isinstance(operation, ReceiveMessage) for operation in operations)
        if reads:
            self._recording.reading()
        operating = self._call.operate(operations, handler and observed(handler, self._recording))
        if reads and not operating:
            self._note(self._recording.unread)
        return operating

    def next_event(self) -> Any:
        event = self._call.next_event()
        _observe(event, self._recording)
        return event

    def cancel(self, *args: Any) -> Any:
        self._note(lambda: self._recording.cancelled(args[1] if len(args) > 1 else None))
        self._call.cancel(*args)

    def _note(self, note: Callable[[], None]) -> None:
        """Run a method of the recording that may write it, and so run a hook.

        grpc changes the state of its call after `operate` and `cancel` return. An exception would leave it waiting for
        a message for ever, and closing the channel would end the channel's thread with a TypeError. Also, `cancel` is
        called by the thread that sends requests, and by the garbage collector.
        """
        try:
            note()
        except BaseException as error:
            self._recording.refused(error)


def observed(handler: Handler, recording: CallRecording) -> Handler:
    """Wrap a handler that runs on grpc's own thread.

    An exception from a hook must not end that thread, so the client gets it as a status.
    """

    def handle(event: Any) -> bool:
        try:
            _observe(event, recording)
        except BaseException as error:
            event = _refused(event, error, recording)
        return handler(event)

    return handle


def _observe(event: Any, recording: CallRecording) -> None:
    for operation in event.batch_operations or ():
        match operation.type():
            case Operation.receive_initial_metadata:
                recording.initial(operation.initial_metadata())
            case Operation.receive_message:
                recording.read(operation.message())
            case Operation.receive_status_on_client:
                recording.ended(operation.code(), _text(operation.details()), operation.trailing_metadata())


def _refused(event: Any, error: BaseException, recording: CallRecording) -> CoreEvent:
    """Return the event with its status replaced by one that says why the call was not recorded.

    If the event holds no status, it was already delivered; then the exception is raised when the cassette closes. The
    status can arrive before the last message, and then that message's event triggers the write.
    """
    failure = RecordedAnswer((), (), (), _INTERNAL, f"the cassette did not take this call: {error}")
    status = CoreOperation(Operation.receive_status_on_client, failure)
    if all(operation.type() != status.kind for operation in event.batch_operations):
        recording.refused(error)
    return CoreEvent(tuple(status if o.type() == status.kind else o for o in event.batch_operations))


def _text(details: Any) -> str:
    return details.decode("utf-8", "replace") if isinstance(details, bytes) else details or ""


# Playing: core calls that return recorded data.


class CoreOperation(NamedTuple):
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


class CoreEvent(NamedTuple):
    batch_operations: tuple[CoreOperation, ...]


class PlayedCall:
    """Replays a recorded response as events: immediately to a handler, otherwise through `next_event`."""

    def __init__(self, answer: RecordedAnswer, outgoing: OutgoingCall, handler: Handler | None) -> None:
        self._answer = answer
        self._outgoing = outgoing
        self._handler = handler
        self._messages = deque(answer.messages)
        self._events: deque[CoreEvent] = deque()
        self._ended = False
        begun = (
            CoreOperation(Operation.send_initial_metadata),
            CoreOperation(Operation.send_message),
            CoreOperation(Operation.send_close_from_client),
            CoreOperation(Operation.receive_initial_metadata, metadatums(answer.initial)),
        )
        if outgoing.stream:
            self._emit(handler, *begun)
            self._end_if_read()
        elif answer.left:
            self._await_cancellation()
        else:
            message = answer.messages[0] if answer.messages else None
            self._ended = True
            self._emit(handler, *begun, CoreOperation(Operation.receive_message, message), self._status())

    def operate(self, operations: Iterable[Any], handler: Handler | None) -> bool:
        """Deliver the next message. For a call with one request, grpc uses this method only to read."""
        if self._messages:
            self._emit(handler, CoreOperation(Operation.receive_message, self._messages.popleft()))
            self._end_if_read()
        elif self._ended:
            self._emit(handler, CoreOperation(Operation.receive_message))
        else:
            raise left_early(self._answer, self._outgoing)
        return True

    def next_event(self) -> CoreEvent:
        if not self._events:
            raise left_early(self._answer, self._outgoing)
        return self._events.popleft()

    def cancel(self, code: int, details: str) -> None:
        if not self._ended:
            self._ended = True
            cancelled = RecordedAnswer((), (), (), int(code), details)
            self._emit(self._handler, CoreOperation(Operation.receive_status_on_client, cancelled))

    def _await_cancellation(self) -> None:
        """Leave the call open, because the client cancelled it when it was recorded; but not forever."""
        if self._handler is not None:
            error = left_early(self._answer, self._outgoing)
            timer = threading.Timer(PATIENCE, self.cancel, (_INTERNAL, str(error)))
            timer.daemon = True
            timer.start()

    def _status(self) -> CoreOperation:
        return CoreOperation(Operation.receive_status_on_client, self._answer)

    def _end_if_read(self) -> None:
        # grpc's core reports the status once the last message was taken, neither earlier nor only on another read.
        if not self._messages and not self._answer.left:
            self._ended = True
            self._emit(self._handler, self._status())

    def _emit(self, handler: Handler | None, *operations: CoreOperation) -> None:
        if handler is None:
            self._events.append(CoreEvent(operations))
        else:
            handler(CoreEvent(operations))


class PlayingChannel:
    def __init__(self, answer: RecordedAnswer, outgoing: OutgoingCall) -> None:
        self._answer = answer
        self._outgoing = outgoing

    def segregated_call(self, *_: Any) -> PlayedCall:
        return PlayedCall(self._answer, self._outgoing, None)


def playing_managed_call(answer: RecordedAnswer, outgoing: OutgoingCall) -> Callable[..., PlayedCall]:
    def create(*args: Any) -> PlayedCall:
        return PlayedCall(answer, outgoing, args[7])

    return create
