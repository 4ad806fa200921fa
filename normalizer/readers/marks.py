"""Marks: values in place of an event name that a sender cannot produce."""

from __future__ import annotations

from enum import Enum


class Mark(Enum):
    """``RAW``: text that is not part of any event."""

    RAW = "text between events"


RAW = Mark.RAW
#: The name of an event (None if the framing has no names) or a mark, and the data of the event.
Item = tuple[str | Mark | None, bytes]
