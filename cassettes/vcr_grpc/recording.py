"""What a cassette does with a call: play it, record it, let it through, or refuse it; and the calls being recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from . import interaction
from .errors import LeftEarly
from .interaction import Answer, Asked
from .metadata import Pairs, pairs_of
from .mismatch import miss

#: How grpc's core begins the details where no server was reached: there is no answer to record then, as vcrpy
#: records nothing for an HTTP request that found no server.
_NO_SERVER = ("failed to connect to all addresses", "DNS resolution failed", "empty address list")
_UNAVAILABLE = 14
#: What a call is told when its channel is closed under it: the caller's doing, not a server's status.
_CHANNEL_GONE = ("Channel closed!", "Channel deallocated!")
_CANCELLED = 1

#: vcrpy's look-ups and play counts are not made for threads: finding an answer and marking it played is one step here.
_lock = threading.RLock()


class Recording:
    """One call on its way into a cassette.

    Told what the core call gives (`initial`, `read`, `ended`) and what the caller does (`reading`, `left`), before
    grpc's own code is told: whoever sees the end of a call finds it in the cassette. Written once, when the status is
    known and no message is awaited any more, or when the caller leaves. Thread-safe.
    """

    def __init__(self, tape: Tape, asked: Asked, request: Any) -> None:
        self._tape = tape
        self._asked = asked
        self._request = request
        self._initial: Pairs = ()
        self._messages: list[bytes] = []
        self._status: tuple[int, str, Pairs] | None = None
        self._awaited = 0 if asked.stream else 1  # a single answer is asked for with the call itself
        self._written = False

    def initial(self, metadata: Iterable[Any] | None) -> None:
        """The initial metadata arrived."""
        self._initial = pairs_of(metadata)

    def reading(self) -> None:
        """A message is asked for; `read` or `unread` follows."""
        with _lock:
            self._awaited += 1

    def unread(self) -> None:
        """The message asked for will not come."""
        self.read(None)

    def read(self, message: bytes | None) -> None:
        """A message arrived; None: no more of them."""
        with _lock:
            self._awaited -= 1
            if message is not None:
                self._messages.append(message)
            self._write_if_over()

    def ended(self, code: int, details: str | None, trailing: Iterable[Any] | None) -> None:
        """The status arrived."""
        with _lock:
            if code == _CANCELLED and details in _CHANNEL_GONE:
                self.left()
            elif self._status is None:
                self._status = (code, details or "", pairs_of(trailing))
                self._write_if_over()

    def left(self) -> None:
        """The caller cancelled the call, dropped it, or left the cassette while it ran.

        A stream is kept as far as it was read. A single answer that nobody waited for is not recorded.
        """
        with _lock:
            if self._status is None and self._asked.stream:
                self._write(Answer(self._initial, tuple(self._messages), (), None, "", left=True))
            elif self._status is None:
                self._forget()
            else:
                self._write_status(self._status)

    def refused(self, error: Exception) -> None:
        """A hook raised where nobody could catch it: it is raised again when the cassette was closed."""
        with _lock:
            self._tape.refusals.append(error)

    def failed(self) -> None:
        """The call did not come to be."""
        with _lock:
            self._forget()

    def _write_if_over(self) -> None:
        if self._status is not None and not self._awaited:
            self._write_status(self._status)

    def _write_status(self, status: tuple[int, str, Pairs]) -> None:
        code, details, trailing = status
        if code == _UNAVAILABLE and details.startswith(_NO_SERVER):
            self._forget()
            return
        self._write(Answer(self._initial, tuple(self._messages), trailing, code, details))

    def _write(self, answer: Answer) -> None:
        if not self._written:
            self._forget()
            self._tape.cassette.append(self._request, interaction.response(answer, self._asked))

    def _forget(self) -> None:
        self._written = True
        self._tape.running.pop(self, None)


class Tape:
    """The gRPC side of one cassette."""

    def __init__(self, cassette: Any) -> None:
        self.cassette = cassette
        self.running: dict[Recording, None] = {}
        self.refusals: list[Exception] = []
        self.closed = False

    @classmethod
    def of(cls, cassette: Any) -> Tape:
        """The one tape of this cassette."""
        with _lock:
            tape = cassette.__dict__.get("_vcr_grpc_tape")
            if tape is None:
                tape = cassette.__dict__["_vcr_grpc_tape"] = cls(cassette)
            assert isinstance(tape, cls)
            return tape

    def decide(self, asked: Asked) -> Answer | Recording | None:
        """An answer to play, a recording to make, or None for a call that the cassette is told to ignore.

        The order of the questions is that of vcrpy's own stubs. Raises CallNotRecorded; UnreadableInteraction.
        """
        request = asked.request()
        with _lock:
            if self.cassette.can_play_response_for(request):
                return self._played(request, asked)
            if not self.cassette.filter_request(request):
                return None
            if self.cassette.write_protected:
                raise miss(self.cassette, request)
            recording = Recording(self, asked, request)
            self.running[recording] = None
            return recording

    def ignores(self, asked: Asked) -> bool:
        """Whether a call is none of the cassette's business."""
        return not self.cassette.filter_request(asked.request())

    def close(self) -> None:
        """Write what is still running as far as it came: the cassette is about to be saved."""
        with _lock:
            self.closed = True
            for recording in list(self.running):
                try:
                    recording.left()
                except Exception as error:
                    recording.refused(error)

    def complain(self) -> None:
        """Once the cassette is saved and its patches are gone, raise what a hook raised where nobody could catch it."""
        with _lock:
            if not self.closed or not self.refusals:
                return
            refusals, self.refusals = self.refusals, []
        raise refusals[0]

    def _played(self, request: Any, asked: Asked) -> Answer:
        response = self.cassette.play_response(request)
        number, stored = next((n, stored) for n, (stored, kept) in enumerate(self.cassette.data, 1) if kept is response)
        where = f"{self.cassette._path}, interaction {number} ({stored.uri})"
        answer = interaction.answer(response, asked, where)
        interaction.check_request(stored.body, asked.request_type, f"{where}, request")
        return answer


def left_early(answer: Answer, asked: Asked) -> LeftEarly:
    """The error for a read beyond the end of a recording that its caller had left."""
    count = len(answer.messages)
    return LeftEarly(f"the caller left this stream after {count} messages when it was recorded", where=asked.uri)
