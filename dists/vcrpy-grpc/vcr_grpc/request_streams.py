"""Decision for a call with a stream of requests, and the search for its recorded answer while the client sends.

A unary request is known before the call. A stream of requests is not: the client may send its next message only after
it received one. So each message that the client sends narrows the recorded calls down to those that begin alike, and a
response is delivered once everything was sent that preceded it in the recording. Matching is vcrpy's: the matchers
compare the messages sent so far with as many recorded ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vcr.matchers import requests_match
from vcr.record_mode import RecordMode
from vcr.request import Request

from . import interaction
from .interaction import SCHEME, OutgoingCall, RecordedAnswer, RequestOrder
from .metadata import Pairs
from .mismatch import miss
from .recording import CallRecording, GrpcCassette, lock


@dataclass(frozen=True)
class Candidate:
    """A recorded call that may be the one that the client makes."""

    request: Any
    messages: tuple[bytes, ...]
    order: RequestOrder
    initial: Pairs


class PlayedRequests:
    """The client's side of a played call: what it sent so far, and the recorded calls that begin alike."""

    def __init__(self, state: GrpcCassette, call: OutgoingCall, candidates: list[Candidate]) -> None:
        self._state = state
        self.call = call
        self._candidates = candidates
        self._closed = False
        self._chosen: tuple[Candidate, RecordedAnswer] | None = None

    def send(self, message: bytes, type_: Any) -> None:
        """Take a message of the client. Raises CallNotRecorded if no recorded call continues like this."""
        with lock:
            serialized = (*self.call.serialized, message)
            self.call = dataclasses.replace(self.call, serialized=serialized, request_type=type_)
            self._narrow()

    def close(self) -> None:
        """Take the end of the client's stream. Raises CallNotRecorded."""
        with lock:
            self._closed = True
            self._narrow()

    @property
    def initial(self) -> Pairs | None:
        """The initial metadata, once a single recorded call is left; until then None."""
        with lock:
            return self._candidates[0].initial if len(self._candidates) == 1 else None

    def answer_if_ready(self, delivered: int) -> RecordedAnswer | None:
        """Return the answer if its message number ``delivered``, or its end, follows what the client did so far."""
        with lock:
            if self._chosen is None:
                ready = [candidate for candidate in self._candidates if self._is_ready(candidate, delivered)]
                if not ready:
                    return None
                self._chosen = ready[0], self._play(ready[0])
                self._candidates = ready[:1]
            candidate, answer = self._chosen
            return answer if self._is_ready(candidate, delivered) else None

    def _play(self, candidate: Candidate) -> RecordedAnswer:
        recorded = candidate.request
        return self._state.played(Request("POST", recorded.uri, recorded.body, dict(recorded.headers)), self.call)

    def _is_ready(self, candidate: Candidate, delivered: int) -> bool:
        due = sum(after <= delivered for after in candidate.order.after)
        closed_after = candidate.order.closed_after
        closing = closed_after is not None and closed_after <= delivered
        return len(self.call.serialized) >= due and (self._closed or not closing)

    def _narrow(self) -> None:
        left = [candidate for candidate in self._candidates if self._continues(candidate)]
        if not left:
            raise miss(self._state.cassette, self.call.request())
        self._candidates = left

    def _continues(self, candidate: Candidate) -> bool:
        """Return whether the messages so far are the first ones of a recorded call, or all of them if it is closed.

        Matchers that ignore bodies accept any messages, but not another number of them before the end.
        """
        count, recorded = len(self.call.serialized), len(candidate.messages)
        if candidate.order.closed_after is None:
            count = min(count, recorded)  # the call ended while the client was still sending
        if count > recorded or (self._closed and count < recorded):
            return False
        sent = dataclasses.replace(self.call, serialized=self.call.serialized[:count])
        alike = dataclasses.replace(self.call, serialized=candidate.messages[:count])
        return _match(self._state.cassette, sent.request(), alike.request(), candidate.request)


def decide(state: GrpcCassette, call: OutgoingCall) -> PlayedRequests | CallRecording | None:
    """Return a call to play, a recording to fill, or None for a call that the cassette ignores.

    A call is played if a recorded one of the same method and metadata is left. If it then sends something else, it
    raises, also with the record mode "new_episodes": the messages sent so far have not reached the server. Raises
    CallNotRecorded.
    """
    request = call.request()
    cassette = state.cassette
    with lock:
        if not cassette.filter_request(request):
            return None
        plays = cassette.record_mode != RecordMode.ALL and (cassette.rewound or cassette.allow_playback_repeats)
        candidates = list(_candidates(state, call)) if plays else []
        if candidates:
            return PlayedRequests(state, call, candidates)
        if cassette.write_protected:
            raise miss(cassette, request)
        return state.recorded(call)


def _candidates(state: GrpcCassette, call: OutgoingCall) -> Iterator[Candidate]:
    cassette = state.cassette
    for index, (recorded, response) in enumerate(cassette.data):
        if cassette.play_counts[index] and not cassette.allow_playback_repeats:
            continue
        if recorded.scheme != SCHEME or recorded.path != call.method:
            continue
        where = f"{cassette._path}, interaction {index + 1} ({recorded.uri})"
        answer = interaction.answer(response, call, where)
        if answer.requests is not None and _match(cassette, call.request(), call.request(), recorded):
            messages = interaction.sent_messages(recorded.body, f"{where}, request")
            yield Candidate(recorded, messages, answer.requests, answer.initial)


def _match(cassette: Any, sent: Any, alike: Any, recorded: Any) -> bool:
    """Compare a request with a recorded one whose body is that of ``alike``."""
    shortened = Request(recorded.method, recorded.uri, alike.body, dict(recorded.headers))
    filtered, compared = cassette.filter_request(sent), cassette.filter_request(shortened)
    return bool(filtered and compared and requests_match(filtered, compared, cassette._match_on))
