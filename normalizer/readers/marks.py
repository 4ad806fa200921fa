"""What a reader says of an item where the wire says nothing: no name that a sender could write."""

from __future__ import annotations

from enum import Enum


class Mark(Enum):
    """``RAW``: text that belongs to no event."""

    RAW = "text between events"


RAW = Mark.RAW
#: An event's name (null where the framing has none), or a mark; and its data.
Item = tuple[str | Mark | None, bytes]
