"""Memory of a conversation in four layers: facts, tool usage, intent and reasoning. It derives from the messages.

session = session_of(request.turns)
session.discovered_facts      # results of the calls that succeeded
session.search_coverage       # all calls, with "ok" or the error of each attempt
session.evolving_intent       # the user's messages, oldest first
session.reasoning_trace       # the model's text and reasoning, by round
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ... import json_codec
from ...conversation import Assistant, Message, RawItem, System, TextPart, ToolResult, ToolResults, User
from ...model import Block, Reasoning, Refusal, Text, ToolCall
from ...pairing import paired
from ..block_rows import result_content


class CallMemory(Struct, frozen=True):
    """A call and its result. ``text``: the result, as JSON text unless it is a string. ``failed``: it is an error."""

    id: str
    name: str
    arguments_text: str
    text: str
    failed: bool

    @property
    def told(self) -> str:
        """The call as "name(arguments)", with at most 200 characters of the arguments."""
        arguments = self.arguments_text if len(self.arguments_text) <= 200 else self.arguments_text[:200] + "…"
        return f"{self.name}({arguments})"


class RoundMemory(Struct, frozen=True):
    """One answer of the model with the results of its calls.

    ``number``: from 1, over the whole conversation. ``said``, ``thought``: its text and its reasoning. ``turns``: its
    messages in order; a request must contain all of them or none.
    """

    number: int
    said: str
    thought: str
    calls: list[CallMemory]
    messages: list[Message]


class Session(Struct, frozen=True):
    """The layers of a conversation. ``items``: its system and user messages and its rounds, in order."""

    items: list[Message | RoundMemory]

    @property
    def rounds(self) -> list[RoundMemory]:
        """The rounds, in order."""
        return [item for item in self.items if isinstance(item, RoundMemory)]

    @property
    def discovered_facts(self) -> dict[str, str]:
        """The results of the calls that succeeded, by call. An identical later call replaces the result."""
        return {call.told: call.text for round in self.rounds for call in round.calls if not call.failed}

    @property
    def search_coverage(self) -> dict[str, list[str]]:
        """For each call, "ok" or the text of the error of each attempt, in order."""
        tried: dict[str, list[str]] = {}
        for round in self.rounds:
            for call in round.calls:
                tried.setdefault(call.told, []).append(call.text if call.failed else "ok")
        return tried

    @property
    def evolving_intent(self) -> list[str]:
        """The texts of the user's messages, in order."""
        return [words for item in self.items if isinstance(item, User) and (words := words_of(item))]

    @property
    def reasoning_trace(self) -> list[tuple[int, str]]:
        """The model's reasoning and text, each with the number of its round."""
        said = [(round.number, text) for round in self.rounds for text in (round.thought, round.said)]
        return [(number, text) for number, text in said if text]


def session_of(turns: Sequence[Message]) -> Session:
    """Return the session of a conversation. It first moves tool results behind their calls, if they are elsewhere."""
    items: list[Message | RoundMemory] = []
    open_round: list[Message] = []
    number = 0

    def close() -> None:
        nonlocal number
        if open_round:
            number += 1
            items.append(_round(number, list(open_round)))
            open_round.clear()

    for turn in paired(turns, lambda code, message, place: None):
        if isinstance(turn, Assistant):
            if open_round and not isinstance(open_round[-1], Assistant):
                close()  # consecutive assistant messages belong to one round: the provider paused in between
            open_round.append(turn)
        elif isinstance(turn, (ToolResults, RawItem)) and open_round:
            open_round.append(turn)
        else:
            close()
            items.append(turn)
    close()
    return Session(items)


def words_of(turn: User | System) -> str:
    """Return the text parts of a message, one per line."""
    return "\n".join(part.text for part in turn.parts if isinstance(part, TextPart))


def blocks_of(turn: Message) -> list[Block]:
    """Return the blocks of the first choice, an empty list for messages other than answers."""
    choices = turn.response.choices if isinstance(turn, Assistant) else []
    return choices[0].blocks if choices else []


def _round(number: int, turns: list[Message]) -> RoundMemory:
    blocks = [block for turn in turns for block in blocks_of(turn)]
    results = {one.call_id: one for turn in turns if isinstance(turn, ToolResults) for one in turn.results}
    said = "".join(block.text for block in blocks if isinstance(block, (Text, Refusal)))
    thought = "".join(block.text for block in blocks if isinstance(block, Reasoning))
    calls = [_call(block, results.get(block.id)) for block in blocks if isinstance(block, ToolCall)]
    return RoundMemory(number, said.strip(), thought.strip(), calls, turns)


def _call(call: ToolCall, result: ToolResult | None) -> CallMemory:
    if result is None:
        return CallMemory(call.id, call.name, call.arguments_text, "there is no answer", True)
    content = result_content(result)
    text = content if isinstance(content, str) else json_codec.text(content)
    return CallMemory(call.id, call.name, call.arguments_text, text, result.is_error)
