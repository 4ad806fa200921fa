"""An agent: a provider, tools and options from which turns and conversations are made.

agent = Agent(provider, [find_boat, book], instructions="You let boats.", max_tokens=2_000)
outcome = await agent.run("Is there a boat on Friday?")

conversation = agent.conversation()
await conversation.send("Is there a boat on Friday?")
await conversation.send("Book it.")
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Unpack, cast

from .errors import TurnMisused
from .events import TurnEvent
from .execution.tools import ToolLike, Tools
from .observer import Observer
from .options import AgentOptions, TurnOptions, check_options
from .outcome import Outcome
from .prompts import Prompt
from .provider import Provider
from .synchronous import run_until_done
from .turn import Turn


class Agent:
    """A provider, tools and options for any number of turns, also at the same time.

    ``options``: those of a `Turn`, except its id and its state. Raises TypeError for an unknown option and InvalidTool.
    """

    def __init__(
        self,
        provider: Provider,
        tools: Tools | Sequence[ToolLike] = (),
        **options: Unpack[AgentOptions],
    ) -> None:
        check_options(options, AgentOptions, "Agent()")
        self.provider = provider
        self.tools = tools if isinstance(tools, Tools) else Tools(tools)
        self._options = options
        self.turn()  # reports invalid options here

    @property
    def observers(self) -> Sequence[Observer]:
        """The option ``observers``."""
        return self._options.get("observers", ())

    def turn(self, **changes: Unpack[TurnOptions]) -> Turn:
        """Return a new turn. ``changes``: options that replace those of the agent."""
        options = {**self._options, **changes}
        # Without instructions, the turn does not keep those with which an earlier one ran (`Outcome.next`).
        options["instructions"] = options.get("instructions") or ""
        return Turn(self.provider, self.tools, **cast(TurnOptions, options))

    async def run(self, message: Prompt, **changes: Unpack[TurnOptions]) -> Outcome:
        """Run a new turn until it is over or waits."""
        return await self.turn(**changes).run(message)

    def run_sync(self, message: Prompt, **changes: Unpack[TurnOptions]) -> Outcome:
        """Do the same as `run` from code without a running event loop."""
        return run_until_done(self.run(message, **changes))

    def conversation(self) -> Conversation:
        """Return a new conversation with this agent."""
        return Conversation(self)


class Conversation:
    """Turns of an agent, each with the history of those before.

    ``turn``: the last one that has begun, None before the first.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.turn: Turn | None = None

    async def send(self, message: Prompt, **changes: Unpack[TurnOptions]) -> Outcome:
        """Run the next turn until it is over or waits. ``changes``: options that replace those of the agent.

        ``message``: of the first turn any prompt, of a later one text. Raises TurnMisused if the last turn runs or
        waits: decide or answer its calls and run it (``turn``), or cancel it.
        """
        async for _ in self.stream(message, **changes):
            pass
        assert self.turn is not None
        return self.turn.outcome

    async def stream(self, message: Prompt, **changes: Unpack[TurnOptions]) -> AsyncIterator[TurnEvent]:
        """Do the same as `send`, and yield each event."""
        prompt = self._continued(message)
        before, turn = self.turn, self.agent.turn(**changes)
        self.turn = turn
        events = turn.stream(prompt)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()  # type: ignore[attr-defined]
            if not turn.has_begun:  # the prompt or an option is invalid: the history is that of the turn before
                self.turn = before

    def _continued(self, message: Prompt) -> Prompt:
        """Return the prompt of the next turn: the history and the message."""
        if self.turn is None:
            return message
        if not isinstance(message, str):
            raise TurnMisused("a later message of a conversation must be text", hint="begin another conversation")
        if self.turn.state.phase != "over":
            raise TurnMisused("the last turn of the conversation is not over", hint="run or cancel `conversation.turn`")
        return self.turn.outcome.next(message)
