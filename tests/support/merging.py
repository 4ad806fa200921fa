"""The events of a stream, whatever the size of its chunks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.events import BlockDelta, Event


def merged(events: Iterable[Event]) -> list[Event]:
    """The events with consecutive deltas of one block merged, because a decoder merges those of one chunk."""
    out: list[Any] = []
    for event in events:
        last = out[-1] if out else None
        of_deltas = isinstance(event, BlockDelta) and isinstance(last, BlockDelta)
        if of_deltas and (event.choice, event.key) == (last.choice, last.key):
            out[-1] = replace(last, text=last.text + event.text)
        else:
            out.append(event)
    return out
