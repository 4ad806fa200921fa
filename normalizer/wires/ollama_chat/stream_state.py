"""State of the message while its stream arrives."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...errors import TooManyCalls
from ..call_builder import MAX_CALLS
from .schema import Call


class MessageState(Struct, eq=False):
    """The content of the message from its events so far.

    ``calls``: each one arrives whole, in one event. ``keys``: type of block -> its key in the event stream.
    ``block_count``: the number of blocks so far. ``extra``: members of the message that have no canonical field.
    """

    thinking: list[str] = []
    content: list[str] = []
    calls: list[Call] = []
    keys: dict[str, int] = {}
    block_count: int = 0
    extra: dict[str, Any] = {}

    def parts(self, kind: str) -> list[str]:
        """Return the fragments of a block. ``kind``: "text" or "reasoning"."""
        return self.content if kind == "text" else self.thinking

    def begin(self, kind: str) -> int:
        """Return the key of a new block. Text and reasoning have one block each, however often they alternate."""
        key = self.block_count
        self.block_count += 1
        if kind != "tool_call":
            self.keys[kind] = key
        return key

    def add_call(self, call: Call) -> int:
        """Add a call and return its key. Raises TooManyCalls for more calls than any response has."""
        if len(self.calls) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} calls", hint="the stream is not a valid response")
        self.calls.append(call)
        return self.begin("tool_call")
