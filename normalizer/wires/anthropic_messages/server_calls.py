"""Selection of the server calls that may be sent back: only this wire refuses one without its result."""

from __future__ import annotations

from ...conversation import Assistant, Message, ToolResults
from ...model import ServerToolCall, ServerToolResult, ToolCall
from ..write_context import shallow_copy


class ServerPairs:
    """Server calls of the current segment: assistant messages and tool results up to a client call or another message.

    ``returnable``: ids of the calls that may be sent back. ``pending``: ids of the calls so far whose results may come
    in a later message. ``end``: index of the first message after the segment.
    """

    def __init__(self) -> None:
        self.end = 0
        self.returnable: frozenset[str] = frozenset()
        self.pending: frozenset[str] = frozenset()
        self.written: set[str] = set()  # ids of the calls that were written

    def fork(self) -> ServerPairs:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other.written = self.written.copy()
        return other

    def survey(self, messages: list[Message], index: int, stop: int) -> None:
        """Collect the server calls of the segment that begins at message ``index``; ``stop``: end of the conversation.

        A server call may be sent back with its result in its segment, or if the result may still come (SRV-01,
        SRV-04): if the last message is paused, or if code of the provider waits for a client tool.
        """
        calls: set[str] = set()
        results: set[str] = set()
        waiting = False
        while index < stop and not waiting:
            message = messages[index]
            if type(message) is Assistant:
                for block in message.response.choices[0].blocks if message.response.choices else ():
                    if type(block) is ServerToolCall:
                        calls.add(block.id)
                    elif type(block) is ServerToolResult and block.raw is not None:
                        results.add(block.call_id)
                    elif type(block) is ToolCall:
                        waiting = True
            elif type(message) is not ToolResults:  # tool results without calls before them are left out
                break
            index += 1
        known = self.pending | calls
        self.returnable = known & results
        if waiting or index == stop:
            self.returnable |= calls
        self.pending = known - results if waiting else frozenset()
        self.end = index
