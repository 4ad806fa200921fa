"""Decision of what a cassette does with a call (play, record, ignore or refuse), and the calls being recorded."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from typing import Any

from . import interaction
from .errors import LeftEarly
from .interaction import OutgoingCall, RecordedAnswer, RequestOrder
from .messages import MessageType
from .metadata import Pairs, pairs_of
from .mismatch import miss

#: Beginnings of the details of grpc's core if no server was reached. Then no response exists to record, as in vcrpy for
#: HTTP.
_NO_SERVER = ("failed to connect to all addresses", "DNS resolution failed", "empty address list")
_UNAVAILABLE = 14
#: Details of a call whose channel was closed: the client's doing, not a server's status.
_CHANNEL_GONE = ("Channel closed!", "Channel deallocated!")
_CANCELLED = 1
#: In the details of a call that its client dropped, as opposed to one that it cancelled.
_DROPPED = "garbage collection"

#: vcrpy's look-ups and play counts are not thread-safe, so finding a response and marking it played happen under a
#: lock.
lock = threading.RLock()


class CallRecording:
    """One call that is being recorded.

    It receives what the core call returns (`initial`, `read`, `ended`) and what the client does (`reading`, `left`, and
    with a stream of requests `sent`, `closed`), before grpc's own code does. So when the client sees the end of a call,
    the cassette already contains it. It is written once: when the status is known and no message is awaited, or when
    the client leaves. Thread-safe.
    """

    def __init__(self, state: GrpcCassette, call: OutgoingCall) -> None:
        self._state = state
        self._outgoing = call
        self._order = RequestOrder() if isinstance(call.serialized, tuple) else None
        self._initial: Pairs = ()
        self._messages: list[bytes] = []
        self._status: tuple[int, str, Pairs] | None = None
        self._awaited = 0 if call.stream else 1  # a unary call awaits its message from the start
        self._written = False

    def initial(self, metadata: Iterable[Any] | None) -> None:
        """Record the initial metadata."""
        self._initial = pairs_of(metadata)

    def sent(self, message: bytes, type_: MessageType | None) -> None:
        """Record a message of the client's stream."""
        with lock:
            assert self._order is not None
            serialized = (*self._outgoing.serialized, message)
            self._outgoing = dataclasses.replace(self._outgoing, serialized=serialized, request_type=type_)
            self._order = dataclasses.replace(self._order, after=(*self._order.after, len(self._messages)))

    def closed(self) -> None:
        """Record that the client closed its stream."""
        with lock:
            assert self._order is not None
            self._order = dataclasses.replace(self._order, closed_after=len(self._messages))

    def reading(self) -> None:
        """Note that the client awaits a message; `read` or `unread` must follow."""
        with lock:
            self._awaited += 1

    def unread(self) -> None:
        """Note that the awaited message will not arrive."""
        self.read(None)

    def read(self, message: bytes | None) -> None:
        """Record a message; None means that there are no more."""
        with lock:
            self._awaited -= 1
            if message is not None:
                self._messages.append(message)
            self._write_if_over()

    def ended(self, code: int, details: str | None, trailing: Iterable[Any] | None) -> None:
        """Record the status."""
        with lock:
            if code == _CANCELLED and details in _CHANNEL_GONE:
                self.left()
            elif self._status is None:
                self._status = (code, details or "", pairs_of(trailing))
                self._write_if_over()

    def cancelled(self, details: str | None) -> None:
        """Record that the client cancelled the call: what it had read until then, which may be nothing."""
        with lock:
            self.left(cancelled=_DROPPED not in (details or ""))

    def left(self, *, cancelled: bool = False) -> None:
        """Record that the client dropped the call, or closed the cassette while it ran.

        A stream is kept as far as it was read. A unary call that the client did not wait for is not recorded, unless it
        was cancelled.
        """
        with lock:
            if self._status is None and (self._outgoing.stream or cancelled):
                self._write(RecordedAnswer(self._initial, tuple(self._messages), (), None, "", left=True))
            elif self._status is None:
                self._forget()
            else:
                self._write_status(self._status)

    def refused(self, error: BaseException) -> None:
        """Keep a hook's exception that no caller could catch. It is raised after the cassette closes."""
        with lock:
            self._state.refusals.append(error)

    def failed(self) -> None:
        """Discard the recording: the call could not be started."""
        with lock:
            self._forget()

    def _write_if_over(self) -> None:
        if self._status is not None and not self._awaited:
            self._write_status(self._status)

    def _write_status(self, status: tuple[int, str, Pairs]) -> None:
        code, details, trailing = status
        if code == _UNAVAILABLE and details.startswith(_NO_SERVER):
            self._forget()
            return
        self._write(RecordedAnswer(self._initial, tuple(self._messages), trailing, code, details))

    def _write(self, answer: RecordedAnswer) -> None:
        if not self._written:
            self._forget()
            answer = dataclasses.replace(answer, requests=self._order)
            self._state.cassette.append(self._outgoing.request(), interaction.response(answer, self._outgoing))

    def _forget(self) -> None:
        self._written = True
        self._state.running.pop(self, None)


class GrpcCassette:
    """The gRPC state of one cassette."""

    def __init__(self, cassette: Any) -> None:
        self.cassette = cassette
        self.running: dict[CallRecording, None] = {}
        self.refusals: list[BaseException] = []
        self.closed = False

    @classmethod
    def of(cls, cassette: Any) -> GrpcCassette:
        """Return the only gRPC state of this cassette, or of the one that a proxy represents (``__wrapped__``)."""
        cassette = getattr(cassette, "__wrapped__", cassette)
        with lock:
            state = cassette.__dict__.get("_vcr_grpc")
            if state is None:
                state = cassette.__dict__["_vcr_grpc"] = cls(cassette)
            assert isinstance(state, cls)
            return state

    def decide(self, call: OutgoingCall) -> RecordedAnswer | CallRecording | None:
        """Return a response to play, a recording to fill, or None for a call that the cassette ignores.

        The order of the checks is that of vcrpy's own stubs. Raises CallNotRecorded, UnreadableInteraction.
        """
        request = call.request()
        with lock:
            if self.cassette.can_play_response_for(request):
                return self.played(request, call)
            if not self.cassette.filter_request(request):
                return None
            if self.cassette.write_protected:
                raise miss(self.cassette, request)
            return self.recorded(call)

    def recorded(self, call: OutgoingCall) -> CallRecording:
        """Return a new recording of a call."""
        with lock:
            recording = CallRecording(self, call)
            self.running[recording] = None
            return recording

    def close(self) -> None:
        """Write the running calls as far as they were read, because the cassette is about to be saved."""
        with lock:
            self.closed = True
            for recording in list(self.running):
                try:
                    recording.left()
                except Exception as error:
                    recording.refused(error)

    def complain(self) -> None:
        """Raise the first pending hook exception, once the cassette is saved and its patches are gone."""
        with lock:
            if not self.closed or not self.refusals:
                return
            refusals, self.refusals = self.refusals, []
        raise refusals[0]

    def played(self, request: Any, call: OutgoingCall) -> RecordedAnswer:
        """Return the recorded answer to a request, and count it as played."""
        response = self.cassette.play_response(request)
        number, stored = next((n, stored) for n, (stored, kept) in enumerate(self.cassette.data, 1) if kept is response)
        where = f"{self.cassette._path}, interaction {number} ({stored.uri})"
        answer = interaction.answer(response, call, where)
        interaction.check_request(stored.body, call.request_type, f"{where}, request")
        return answer


def left_early(answer: RecordedAnswer, call: OutgoingCall) -> LeftEarly:
    """Return the error for a read beyond the end of a recorded stream that its client had left."""
    count = len(answer.messages)
    return LeftEarly(f"the client left this stream after {count} messages when it was recorded", where=call.uri)
