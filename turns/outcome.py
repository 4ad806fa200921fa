"""The outcome of a turn, and the request that continues the conversation."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.model import Error, ToolCall, Usage

from .errors import OutputUnfit
from .machine.inputs import Cancel
from .machine.state import Termination, TurnState
from .machine.table import step
from .output import OutputType
from .prompts import Continuation


class Waiting(Struct, frozen=True):
    """A call that waits for the caller. ``wants``: "decision" (`Turn.decide`) or "result" (`Turn.answer`).

    ``arguments``: None if the argument text is not a JSON object. ``key``: the permanent key of the call, "" if the
    provider would run it. ``server``: the MCP server, if the provider would run it.
    """

    id: str
    name: str
    wants: Literal["decision", "result"]
    arguments: dict[str, Any] | None
    arguments_text: str
    key: str
    server: str | None = None


class Outcome(Struct, frozen=True):
    """The result of running a turn. ``text``: the answer. ``written``: whether the model wrote it, not the turn.

    ``waiting``: the calls that wait for a decision or a result; while there are any, the turn is not over. ``state``:
    the complete state, which can be saved and resumed.
    ``output_type``: the required form of the answer, for `output`.
    """

    state: TurnState
    text: str
    written: bool
    termination: Termination | None
    waiting: list[Waiting]
    usage: Usage | None
    error: Error | None
    output_type: OutputType | None = None

    @property
    def cost(self) -> float | None:
        """The cost of the turn so far by the option ``prices``, None without prices and before the first answer."""
        prices = self.state.settings.prices
        return prices.cost(self.usage) if prices is not None else None

    @property
    def rate_limit(self) -> dict[str, str]:
        """The headers about rate limits of the last answer that had some, by name in lower case."""
        answers = [round.answer for round in reversed(self.state.rounds)]
        limits = (answer.extra.get("rate_limit") for answer in answers if answer is not None)
        return next(filter(None, limits), {})

    @property
    def output(self) -> Any:
        """The answer as the type of the option ``output``, or its text if the turn has no such option.

        Raises OutputUnfit if the answer does not fit the type, or if the turn has no answer of the model.
        """
        if self.output_type is None:
            return self.text
        if not self.written:
            raise OutputUnfit([f"the turn has no answer of the model ({self.termination or 'not over'})"])
        return self.output_type.read(self.text)

    def next(self, message: str) -> Request:
        """Return the request that continues the conversation: the whole history and the next user message.

        Of the system prompt that the turn added, it has the instructions, which those of the next turn replace.

        If the turn still waits, it is cancelled in the history: calls with results keep them, and a waiting call gets
        an error result.
        """
        over, _ = step(self.state, Cancel("the conversation continued without it"))
        instructions = over.instructions if over.instructions is not UNSET else ""
        members = asdict(replace(over.request, messages=[*over.continued(), User([TextPart(message)])]))
        return Continuation(**members, instructions=instructions)


def outcome_of(state: TurnState, output: OutputType | None = None) -> Outcome:
    """Return the outcome of a state. ``output``: the required form of the answer."""
    waiting = _waiting(state) if state.phase == "acting" else []
    return Outcome(state, state.text, state.written, state.termination, waiting, state.usage, state.error, output)


def _waiting(state: TurnState) -> list[Waiting]:
    waiting = []
    for call in state.waiting:
        _, block = state.block_of(call)
        arguments = block.arguments if isinstance(block, ToolCall) else None
        wants: Literal["decision", "result"] = "result" if call.status == "waiting_result" else "decision"
        waiting.append(Waiting(call.id, call.name, wants, arguments, block.arguments_text, call.key, call.server))
    return waiting
