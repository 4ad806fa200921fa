"""The turns of the demo: the manager that runs them, and their traces, as far as this process ran them."""

from __future__ import annotations

from typing import TypeVar

from toolparity.turns.agent import Agent
from toolparity.turns.errors import TurnMisused
from toolparity.turns.log import Log
from toolparity.turns.manager import TurnManager, TurnOrigin
from toolparity.turns.prompts import Prompt

from .factory import TurnFactory, TurnRequest, first_user_text, new_id, request_of_logged_turn
from .trace import Trace

#: The number of turns whose requests and traces are stored.
_STORED = 200

_T = TypeVar("_T")


class Sessions:
    """``manager``: runs the turns. Enter it while the demo is served."""

    def __init__(self, log: Log, factory: TurnFactory) -> None:
        self.manager = TurnManager(log, self._agent)
        self.factory = factory
        self._turn_requests: dict[str, tuple[TurnRequest, str]] = {}
        self._traces: dict[str, Trace] = {}

    async def start(self, turn_request: TurnRequest) -> str:
        """Start a turn. Return its id as soon as the log has its first event. Raises ToolparityError."""
        id = new_id(turn_request)
        prompt: Prompt
        if turn_request.after is None:
            prompt = request = self.factory.request(turn_request)
            conversation, opening = None, first_user_text(request)
        else:
            before = await self.manager.log.turn(turn_request.after)
            if before.state is None or before.conversation is None:
                raise TurnMisused("the previous turn belongs to no conversation", where=turn_request.after)
            prompt, conversation = turn_request.message, before.conversation
            opening = first_user_text(before.state.request)
        _store(self._turn_requests, id, (turn_request, opening))
        return await self.manager.start(prompt, conversation=conversation, id=id)

    def trace(self, id: str) -> Trace | None:
        """Return the trace of a turn, as far as this process ran it, or None if it has been removed."""
        return self._traces.get(id)

    def _agent(self, origin: TurnOrigin) -> Agent:
        known = self._turn_requests.get(origin.id)
        if known is None:
            assert origin.state is not None  # `start` stores the request of a new turn
            known = request_of_logged_turn(origin.id, origin.state.request), first_user_text(origin.state.request)
        trace = self._traces.get(origin.id) or Trace()
        _store(self._traces, origin.id, trace)
        return self.factory.agent(*known, trace)


def _store(stored: dict[str, _T], id: str, value: _T) -> None:
    """Store a value, and remove the oldest ones above the limit."""
    stored[id] = value
    while len(stored) > _STORED:
        del stored[next(iter(stored))]
