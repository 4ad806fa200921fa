"""The interface of the readers, and the stream events that they return."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

#: Bytes to look for: CPython tries the left operand of `b"\n" in chunk` as a number first, which takes longer.
LF, CR, OPENING, CLOSING = b"\n\r{}"


class Mark(Enum):
    """A value in place of an event name, which no sender can produce. ``RAW``: text that is not part of any event."""

    RAW = "text between events"


RAW = Mark.RAW
#: The name of an event (None if the framing has no names) or a mark, and the data of the event.
StreamEvent = tuple[str | Mark | None, bytes]


class EventReader(Protocol):
    """A reader of one framing. ``problems``: finding codes with their messages, which the decoder reports."""

    problems: list[tuple[str, str]]

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Process the next chunk of the body and return the completed events. Raises EventTooLarge."""
        ...

    def run(self, chunk: bytes) -> list[bytes] | None:
        """Fast path for a chunk of events that are JSON objects, of usual shape: return their data.

        Return None for any other chunk; then no byte was consumed and the caller has to pass the chunk to ``feed``.
        """
        ...

    def close(self) -> list[StreamEvent]:
        """Return the remaining events at the end of the body."""
        ...
