"""Lookup in an answer: the choice that the turn acts on, and the blocks in it that need an answer."""

from __future__ import annotations

from ...model import ApprovalRequest, Choice, Response, ToolCall
from .state import CallState, RoundState, Settings

#: A block that needs an answer.
Wanting = ToolCall | ApprovalRequest


def chosen(response: Response, settings: Settings) -> Choice | None:
    """Return the choice that the turn acts on, or None if the response does not contain it."""
    return next((choice for choice in response.choices if choice.index == settings.choice), None)


def wanting(round: RoundState, settings: Settings) -> list[Wanting]:
    """Return the blocks that need an answer, in the order of the answers: client calls, then approval requests."""
    response = round.answer
    choice = chosen(response, settings) if response is not None else None
    blocks = choice.blocks if choice is not None else []
    calls: list[Wanting] = [block for block in blocks if isinstance(block, ToolCall)]
    return [*calls, *(block for block in blocks if isinstance(block, ApprovalRequest))]


def place(call: CallState, round: RoundState, settings: Settings) -> tuple[int, Wanting]:
    """Return the number of a call's block among those of `wanting`, and the block."""
    kind = ToolCall if call.server is None else ApprovalRequest
    found = enumerate(wanting(round, settings))
    return next((n, block) for n, block in found if isinstance(block, kind) and block.id == call.id)


def called(call: CallState, round: RoundState, settings: Settings) -> ToolCall:
    """Return the block of a client call."""
    block = place(call, round, settings)[1]
    assert isinstance(block, ToolCall)
    return block
