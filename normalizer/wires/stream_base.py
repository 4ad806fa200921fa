"""Base class of the stream decoders of all wires."""

from __future__ import annotations

from typing import Any

from .. import json_codec
from ..errors import MalformedBody, SeveralBodies
from ..events import BlockDelta, Event, StreamError
from ..model import Choice, Error, Response, Usage
from ..readers.base import RAW, Mark, StreamEvent
from .decode_context import Context
from .delta_template import ATTEMPTS, DeltaTemplate, learned
from .error_response import error_of
from .limits import SILENT, Boundary, Limits, is_error
from .registry import spec
from .schema import Note
from .shapes import event_wire, whole_wire
from .stop_reason import stopped_by_error


def merged_delta(choice: int, key: int, parts: list[str], start: int) -> BlockDelta:
    """Return one delta for the fragments of a block from index ``start`` on."""
    return BlockDelta(choice, key, parts[start] if len(parts) == start + 1 else "".join(parts[start:]))


class StreamBase:
    """Base of all streams: it feeds items to the wire's ``event`` and turns malformed ones into stream errors.

    A wire's Stream implements ``event(name, data, out)`` and ``finish() -> Response``. It may override ``run`` with a
    fast path for the most frequent events, and must pass all others to ``take``. ``emits``: whether the caller uses the
    events; if not, ``run`` may leave out the deltas. ``documents``: the events are JSON documents without framing.
    ``attempts``: how many more templates are learned until one fits.
    """

    emits = True
    documents = False
    failed = False  # whether an error came that ends a response
    attempts = ATTEMPTS

    def __init__(self, context: Context) -> None:
        self._context = context
        self._notes: list[Note] = []
        self._error: Error | None = None

    def feed(self, items: list[StreamEvent], out: list[Event]) -> None:
        """Process the items that a reader produced from the next bytes, and append the resulting events to ``out``."""
        usual: list[bytes] = []
        for name, data in items:
            if (name is None or (name is not RAW and name != "error")) and data[:1] == b"{":
                usual.append(data)
                continue
            if usual:
                self.run(usual, out)
                usual = []
            self.take(name, data, out)
        if usual:
            self.run(usual, out)

    def run(self, payloads: list[bytes], out: list[Event]) -> DeltaTemplate | None:
        """Process the payloads of consecutive events whose SSE names carry no extra information.

        Return the form of the last event if it only continued a block, and if the form was learned.
        """
        for data in payloads:
            self.take(None, data, out)
        return None

    def learn(self, payload: bytes, text: str, *block: Any) -> DeltaTemplate | None:
        """Return the form of an event that only continued a block. The arguments are those of `learned`."""
        template = learned(payload, text, *block) if self.attempts else None
        self.attempts -= template is not None
        return template

    def take(self, name: str | Mark | None, data: bytes, out: list[Event]) -> None:
        """Process one item. Text outside of events, and data that is not a JSON object, become stream errors."""
        if isinstance(name, Mark):
            # Text between events is an error page, or an error object without framing (SSE-11).
            value = json_codec.decode_or_text(data)
            if isinstance(value, dict):
                self.fail(value, out)
            else:
                self.fail_unless_over(value, out)
            return
        try:
            self.event(name, data, out)
        except SeveralBodies:
            raise
        except MalformedBody:
            self.fail_undecodable(data, out)

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        raise NotImplementedError

    def fail_undecodable(self, data: bytes, out: list[Event]) -> None:
        """Record the stream error of an event that is, or contains, something else than a JSON object."""
        text = data.decode("utf-8", "replace")[:500]
        self._context.find("undecodable-event", f"not a JSON object: {text}")
        self.fail_unless_over({"type": "undecodable_event", "message": text}, out)

    def fail_unless_over(self, raw: Any, out: list[Event]) -> None:
        """Record the stream error of data that belongs to no event. After the last event it changes nothing."""
        if not self.is_over:
            self.fail(raw, out)

    def report_repeated(self, event: str, has_call: bool) -> None:
        """Report a start or end event that repeats another one.

        ``has_call``: whether it starts or ends a client call, or ends a response with one. A client that acts on such
        events executes the call twice (BerriAI/litellm 37273).
        """
        self._context.find_once("event-repeated", f"a second {event}", None if has_call else "warning")

    def limits(self) -> Limits:
        """Return the limits of the response so far. By default, nothing shows that another response begins."""
        return Limits()

    def check_same(self, event: bytes | Boundary) -> None:
        """Raise SeveralBodies if an event, or its boundary, belongs to another response than this stream."""
        if not isinstance(event, Boundary):
            body = json_codec.decode_or_text(event)
            event = spec(self._context.wire).boundary(body) if isinstance(body, dict) else Boundary()
        if self.limits().excludes(event, documents=self.documents):
            raise SeveralBodies("a second response after the first one")

    def check_known(self, event: Any) -> None:
        """Raise SeveralBodies if an event that this wire does not know belongs to another response.

        It is an event of another wire, or a whole response among JSON documents.
        """
        if isinstance(event, dict) and not is_error(event):
            other = event_wire(event, self._context.wire)
            foreign = other not in (None, self._context.wire) and spec(str(other)).boundary(event) != SILENT
            if foreign or (self.documents and whole_wire(event) is not None):
                raise SeveralBodies(f"an event of another response, on the wire {other}", body=event)

    @property
    def is_whole(self) -> bool:
        """Whether the response is complete by the events so far. More can follow, such as its usage."""
        return False

    @property
    def is_over(self) -> bool:
        """Whether the response is complete and its last event came."""
        return self.is_whole

    @property
    def failure(self) -> Error | None:
        """The last error of the stream, or None."""
        return self._error

    def _report_incomplete(self, complete: bool) -> None:
        """Report a stream without its terminal event, unless an error ended it (TERM-01)."""
        if not complete and self._error is None:
            self._context.find("stream-incomplete")

    def _response(
        self,
        id: str | None,
        model: str | None,
        choices: list[Choice],
        usage: Usage | None,
        complete: bool,
        extra: dict[str, Any],
    ) -> Response:
        if self._error is not None:
            choices = stopped_by_error(choices)
        return self._context.response(id, model, choices, usage, self._error, complete, extra)

    def fail(self, raw: Any, out: list[Event]) -> None:
        """Record a stream error. ``raw``: the error as the provider or the framing reports it.

        Raises SeveralBodies if it is an event of another wire.
        """
        self.check_known(raw)
        self._error = error_of(raw, self._context.status)
        self.failed = self.failed or (isinstance(raw, dict) and (is_error(raw) or raw.get("type") == "error"))
        self._context.find("stream-error", f"{self._error.type}: {self._error.message}"[:500])
        if isinstance(raw, dict) and isinstance(raw.get("error"), dict) and "failed_generation" in raw["error"]:
            self._context.find("provider-rejected-call", "failed_generation contains the model's text")
        out.append(StreamError(self._error))
