"""The responses of a session, which are decoded as they arrive, and their form as exchanges of the base wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from .. import json_codec
from ..decoder import StreamDecoder
from ..events import BlockStart, Event, StreamError
from ..findings import Finding, finding
from ..model import Response, ToolCall, Wire
from ..policies import select
from ..wires.error_response import error_of
from .events import AudioOutput, CallsCancelled, InputTranscript, SessionEvent


class Asked(Struct):
    """A request on the base wire: ``body``, and in its member ``member`` the first ``count`` items of ``history``.

    Requests share these items, which do not change.
    """

    body: dict[str, Any] = {}
    member: str = ""
    history: list[Any] = []
    count: int = 0

    @property
    def request(self) -> dict[str, Any]:
        """The whole body."""
        return {**self.body, self.member: self.history[: self.count]} if self.member else self.body


class SessionExchange(Struct):
    """A response of a session in the form of its base wire.

    ``asked``: what it answers. ``events``: the data of each event. ``findings``: what concerns the session and this
    response.
    """

    asked: Asked
    events: list[bytes]
    response: Response
    findings: list[Finding]

    @property
    def request(self) -> dict[str, Any]:
        """The body that would get this response over HTTP, with the history so far."""
        return self.asked.request

    @property
    def body(self) -> bytes:
        """The events as a stream of server-sent events."""
        return b"".join(b"data: " + event.replace(b"\n", b"\ndata: ") + b"\n\n" for event in self.events)


class _Running(Struct):
    decoder: StreamDecoder
    asked: Asked
    events: list[bytes] = []
    findings: list[Finding] = []


class Responses:
    """The responses of a session, of which several can run at a time, by key.

    ``kept``: whether `exchanges` are made. ``events``: what `Session.received` returns next. ``open_calls``: the calls
    of finished responses without a result, by id. ``answered``: the ids of results, which can precede the end.
    """

    def __init__(self, wire: Wire, provider: str | None, kept: bool) -> None:
        self.wire = wire
        self.kept = kept
        self.respelled = False  # whether the current message was encoded here
        self.events: list[SessionEvent] = []
        self.finished: list[Response] = []
        self.findings: list[Finding] = []
        self.exchanges: list[SessionExchange] = []
        self.open_calls: dict[str, ToolCall] = {}
        self.cancelled: set[str] = set()
        self.answered: set[Any] = set()
        self.running: dict[str, _Running] = {}
        self._provider = provider
        self.ended: set[str] = set()
        self._given: dict[str, SessionExchange] = {}  # the last response that had a call, by its id

    def emit(self, key: str | None, event: Event | Response | CallsCancelled | InputTranscript | AudioOutput) -> None:
        """Add an event of a response, or of the session."""
        self.events.append(SessionEvent(key, event))

    def find(self, code: str, message: str, key: str | None = None) -> None:
        """Add a finding about the session, and about the response ``key`` if it runs."""
        found = finding(code, message)
        self.findings.append(found)
        if key is not None and key in self.running:
            self.running[key].findings.append(found)

    def begin(self, key: str, asked: Asked) -> None:
        """Begin a response, unless it runs already. ``asked``: what it answers."""
        if key in self.running:
            return
        declared = asked.request if asked.body.get("tools") else None
        decoder = StreamDecoder(self.wire, provider=self._provider, request=declared)
        self.running[key] = _Running(decoder, asked)
        self.ended.discard(key)

    def only(self) -> str | None:
        """Return the key of the response that runs, None if several run or none."""
        return next(iter(self.running)) if len(self.running) == 1 else None

    def feed(self, key: Any, event: dict[str, Any] | bytes, asked: Callable[[], Asked], what: str) -> None:
        """Decode an event of a response, which begins it if it is missing. ``what``: the event, for a finding.

        An event without a key belongs to the only response that runs. ``asked``: see `begin`.
        """
        key = key if isinstance(key, str) else self.only()
        if key is None or key in self.ended:
            state = "none" if key is None else f"{key}, which has ended"
            self.find("event-unmatched", f"{what} belongs to {state}")
            return
        if key not in self.running:
            self.begin(key, asked())
        running = self.running[key]
        data = event if isinstance(event, bytes) else json_codec.bytes_of(event)
        if self.kept:
            running.events.append(data)
        for each in running.decoder.event(data, respelled=self.respelled):
            self.events.append(SessionEvent(key, each))
            if isinstance(each, BlockStart) and each.id in self._given:  # a new call with an id that was used
                self.answered.discard(each.id)
                self.cancelled.discard(each.id)

    def end(self, key: str) -> SessionExchange | None:
        """Finish a response, whether or not its last event came. Return None if it does not run."""
        running = self.running.pop(key, None)
        if running is None:
            return None
        self.ended.add(key)
        response = running.decoder.finish()
        self.finished.append(response)
        self.open_calls |= {call.id: call for call in select(response).calls if call.id not in self.answered}
        self.emit(key, response)
        exchange = SessionExchange(running.asked, running.events, response, running.findings)
        self._given |= {call.id: exchange for call in response.calls}
        if self.kept:
            self.exchanges.append(exchange)
        return exchange

    def cancel(self, ids: list[str]) -> None:
        """Report calls of finished responses as cancelled."""
        self.emit(None, CallsCancelled(ids))
        for id in ids:
            call = self.open_calls.pop(id, None)
            self.cancelled.add(id)
            self.find("call-cancelled", f"{call.name if call else 'a call that is not open'} ({id}) was cancelled")
            if id in self._given:
                self._given[id].findings.append(self.findings[-1])

    def fail(self, raw: Any, what: str) -> None:
        """Report an error that belongs to no response."""
        error = error_of(raw)
        self.find("session-error", f"{what}{error.type}: {error.message}"[:500])
        self.emit(None, StreamError(error))
