"""What is known of a conversation, in four layers: facts, reasoning, intent, tool usage. Read from its turns.

session = session_of(request.turns)
session.discovered_facts      # what tools returned, by call
session.search_coverage       # what was tried, and how it went
session.evolving_intent       # the user's words, the last ones last
session.reasoning_trace       # what the model said and thought on the way
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ... import json_codec
from ...conversation import Assistant, Other, Result, Results, System, TextPart, Turn, User
from ...model import Block, Reasoning, Refusal, Text, ToolCall
from ...pairing import paired
from ..blocks import result_content


class CallMemory(Struct, frozen=True):
    """A call and what it gave. ``text``: as the tool said it, JSON where it was a value."""

    id: str
    name: str
    arguments_text: str
    text: str
    failed: bool

    @property
    def told(self) -> str:
        """The call as one would write it."""
        arguments = self.arguments_text if len(self.arguments_text) <= 200 else self.arguments_text[:200] + "…"
        return f"{self.name}({arguments})"


class RoundMemory(Struct, frozen=True):
    """One answer of the model with the answers to its calls. ``number``: from 1, over the whole conversation.

    ``turns``: what stands of it in the conversation, in order; nothing in it may be parted from the rest.
    """

    number: int
    said: str
    thought: str
    calls: list[CallMemory]
    turns: list[Turn]


class Session(Struct, frozen=True):
    """``items``: the conversation in order: a turn of system or user, or a round."""

    items: list[Turn | RoundMemory]

    @property
    def rounds(self) -> list[RoundMemory]:
        """All rounds."""
        return [item for item in self.items if isinstance(item, RoundMemory)]

    @property
    def discovered_facts(self) -> dict[str, str]:
        """What tools returned, by call; of the same call made twice what it returned last."""
        return {call.told: call.text for round in self.rounds for call in round.calls if not call.failed}

    @property
    def search_coverage(self) -> dict[str, list[str]]:
        """What was tried, by call, and how it went each time: "ok", or why not."""
        tried: dict[str, list[str]] = {}
        for round in self.rounds:
            for call in round.calls:
                tried.setdefault(call.told, []).append(call.text if call.failed else "ok")
        return tried

    @property
    def evolving_intent(self) -> list[str]:
        """The user's words, in order."""
        return [words for item in self.items if isinstance(item, User) and (words := words_of(item))]

    @property
    def reasoning_trace(self) -> list[tuple[int, str]]:
        """What the model thought and said, by round."""
        said = [(round.number, text) for round in self.rounds for text in (round.thought, round.said)]
        return [(number, text) for number, text in said if text]


def session_of(turns: Sequence[Turn]) -> Session:
    """The layers of a conversation. Answers that stand apart from their calls are put to them first."""
    items: list[Turn | RoundMemory] = []
    open_round: list[Turn] = []
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
                close()  # answers that follow one another directly are one that paused
            open_round.append(turn)
        elif isinstance(turn, (Results, Other)) and open_round:
            open_round.append(turn)
        else:
            close()
            items.append(turn)
    close()
    return Session(items)


def words_of(turn: User | System) -> str:
    """The words of a turn."""
    return "\n".join(part.text for part in turn.parts if isinstance(part, TextPart))


def blocks_of(turn: Turn) -> list[Block]:
    """What an answer consists of."""
    choices = turn.response.choices if isinstance(turn, Assistant) else []
    return choices[0].blocks if choices else []


def _round(number: int, turns: list[Turn]) -> RoundMemory:
    blocks = [block for turn in turns for block in blocks_of(turn)]
    results = {one.call_id: one for turn in turns if isinstance(turn, Results) for one in turn.results}
    said = "".join(block.text for block in blocks if isinstance(block, (Text, Refusal)))
    thought = "".join(block.text for block in blocks if isinstance(block, Reasoning))
    calls = [_call(block, results.get(block.id)) for block in blocks if isinstance(block, ToolCall)]
    return RoundMemory(number, said.strip(), thought.strip(), calls, turns)


def _call(call: ToolCall, result: Result | None) -> CallMemory:
    if result is None:
        return CallMemory(call.id, call.name, call.arguments_text, "there is no answer", True)
    content = result_content(result)
    text = content if isinstance(content, str) else json_codec.text(content)
    return CallMemory(call.id, call.name, call.arguments_text, text, result.is_error)
