"""A session: the messages of both directions, decoded to events and responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from .. import json_codec
from ..answers import answer
from ..conversation import ToolResult, ToolResults
from ..findings import Finding
from ..model import Response, ToolCall
from ..payloads import payload_of
from ..policies import Selection, cannot_run, select
from ..readers import DEFAULT_MAX_EVENT_BYTES, RAW, JsonLinesReader
from .events import SessionEvent
from .exchanges import Responses, SessionExchange
from .table import session_format


class Session:
    """Decoder of one session, whose messages may arrive in fragments, or several at once.

    ``name``: a key of `SESSIONS`. ``provider``: as for `normalize`. ``kept``: keep the history, for `request` and
    `exchanges`. Messages are bytes, text, parsed JSON or objects of the provider's SDK. ``responses``: the finished
    ones, in the order in which they ended, with the name of the base wire. ``findings``: those about the session; a
    response has its own. ``exchanges``: the responses as exchanges of the base wire. Raises UnknownWire, and what
    `StreamDecoder.feed` raises.
    """

    def __init__(self, name: str, *, provider: str | None = None, kept: bool = False) -> None:
        row = session_format(name)
        self.name = row.name
        self._running = Responses(row.wire, provider, kept)
        self.responses: list[Response] = self._running.finished
        self.findings: list[Finding] = self._running.findings
        self.exchanges: list[SessionExchange] = self._running.exchanges
        self._format: Any = row.format(self._running)
        self._readers = {side: JsonLinesReader(DEFAULT_MAX_EVENT_BYTES) for side in ("received", "sent")}

    @property
    def open_calls(self) -> list[ToolCall]:
        """The calls of finished responses that can run, were not cancelled, and have no result yet."""
        return [*self._running.open_calls.values()]

    @property
    def request(self) -> dict[str, Any]:
        """What the client has asked so far, as a request on the base wire."""
        request: dict[str, Any] = self._format.asked()
        return request

    def received(self, message: Any) -> list[SessionEvent]:
        """Take a message of the server, or a part of one, and return the events that it completes."""
        self._take("received", message)
        return self._events()

    def sent(self, message: Any) -> list[SessionEvent]:
        """Take a message of the client, or a part of one: its tools, settings, history, results and cancellations."""
        self._take("sent", message)
        return self._events()

    def finish(self) -> list[SessionEvent]:
        """End the session, and return its last events. Responses that still run are incomplete."""
        for side in self._readers:
            self._close(side)
        self._format.finish()
        return self._events()

    def results(
        self,
        response: Response,
        outcomes: Mapping[str, Any] | Iterable[ToolResult],
        selection: Selection | None = None,
    ) -> list[dict[str, Any]]:
        """Return the messages with the results of a response, to be sent. See `answer`.

        ``selection``: by default, all calls that can run. Cancelled calls get no result. A response that failed, was
        interrupted or is incomplete gets no message. Raises what `answer` raises.
        """
        cancelled = self._running.cancelled
        if all(cannot_run(response, choice) for choice in response.choices):
            return []
        messages = answer(response, selection or select(response), outcomes)
        listed = [each for message in messages if isinstance(message, ToolResults) for each in message.results]
        results = [each for each in listed if each.call_id not in cancelled]
        if not results:
            return []
        choices = [
            replace(choice, blocks=[b for b in choice.blocks if not (isinstance(b, ToolCall) and b.id in cancelled)])
            for choice in response.choices
        ]
        sent: list[dict[str, Any]] = self._format.results(replace(response, choices=choices), results)
        return sent

    def say(self, text: str) -> list[dict[str, Any]]:
        """Return the messages that send a text of the user and ask for a response."""
        sent: list[dict[str, Any]] = self._format.say(text)
        return sent

    def frames(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the messages in which a server of this format sends an event of the base wire."""
        made: list[dict[str, Any]] = self._format.frames(dict(event))
        return made

    def _events(self) -> list[SessionEvent]:
        events, self._running.events = self._running.events, []
        return events

    def _take(self, side: str, message: Any) -> None:
        data = payload_of(message, event=True).data
        if not isinstance(message, (bytes, bytearray, memoryview, str)):
            self._message(side, data, respelled=True)
            return
        if self._readers[side].pending and data[:1] == b"{":
            value = json_codec.decode_or_text(data)
            if isinstance(value, dict) and ("." in str(value.get("type")) or self._format.claims(value)):
                self._close(side)  # what was before was cut, and does not continue here
        reader = self._readers[side]
        for name, whole in reader.feed(data):
            if name is not RAW:
                self._message(side, whole)
        self._report(reader)

    def _close(self, side: str) -> None:
        """End what has begun on a side, which is not a message."""
        reader, self._readers[side] = self._readers[side], JsonLinesReader(DEFAULT_MAX_EVENT_BYTES)
        for name, data in reader.close():
            if name is not RAW:
                self._message(side, data)
        self._report(reader)

    def _report(self, reader: JsonLinesReader) -> None:
        for problem in reader.problems:
            if problem[0] != "unterminated-event":  # about server-sent events
                self._running.find(*problem)
        reader.problems.clear()

    def _message(self, side: str, data: bytes, *, respelled: bool = False) -> None:
        message = json_codec.decode_or_text(data)
        if not isinstance(message, dict):
            self._running.find("undecodable-event", f"not a JSON object: {data[:500].decode('utf-8', 'replace')}")
        elif side == "received":
            self._running.respelled = respelled
            self._format.received(message, data)
        else:
            self._format.sent(message)
