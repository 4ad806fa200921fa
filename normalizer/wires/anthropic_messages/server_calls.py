"""Which server calls of a history may stand: those whose results stand there, or may still come."""

from __future__ import annotations

from copy import copy

from ...conversation import Assistant, Results, Turn
from ...model import ServerToolCall, ServerToolResult, ToolCall


class ServerPairs:
    """What is known of one turn of the model's: all its answers up to where somebody else speaks.

    ``whole``: its calls that may stand. ``pending``: those before and in it whose results may come in a later turn.
    ``end``: the place behind it.
    """

    def __init__(self) -> None:
        self.end = 0
        self.whole: frozenset[str] = frozenset()
        self.pending: frozenset[str] = frozenset()
        self.begun: set[str] = set()  # those that were written

    def fork(self) -> ServerPairs:
        """The same so far, for another request."""
        other = copy(self)
        other.begun = self.begun.copy()
        return other

    def survey(self, turns: list[Turn], place: int, stop: int) -> None:
        """Look at the turn that begins at a place; ``stop``: the end of the conversation.

        A server call stands with its result in its turn, or where that may still come (SRV-01, SRV-04): while the
        last turn is paused, and where code of the server waits for a tool of the caller.
        """
        calls: set[str] = set()
        results: set[str] = set()
        waiting = False
        while place < stop and not waiting:
            turn = turns[place]
            if type(turn) is Assistant:
                for block in turn.response.choices[0].blocks if turn.response.choices else ():
                    if type(block) is ServerToolCall:
                        calls.add(block.id)
                    elif type(block) is ServerToolResult and block.raw is not None:
                        results.add(block.call_id)
                    elif type(block) is ToolCall:
                        waiting = True
            elif type(turn) is not Results:  # results without calls before them are left out
                break
            place += 1
        known = self.pending | calls
        self.whole = known & results
        if waiting or place == stop:
            self.whole |= calls
        self.pending = known - results if waiting else frozenset()
        self.end = place
