"""The messages that a round adds to the history, and the text of a turn without an answer of the model."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ... import json_codec
from ...answers import answer
from ...conversation import Assistant, JsonPart, Message, RawItem, TextPart, ToolResult
from ...model import Choice, Refusal, Response, Text, ToolCall
from ...pairing import unanswered
from ...policies import Ref, Selection
from .lookup import chosen
from .state import CallState, RoundState, Settings, TurnState

#: Stop reasons after which the provider expects a request that continues from its answer.
PAUSES = ("pause", "compaction")
#: Maximum characters of each result that `note` quotes.
_QUOTED = 200


def selection_of(round: RoundState, settings: Settings) -> Selection:
    """Return the selection of the round's client calls."""
    kept = [Ref(call.block, settings.choice, call.id, call.name) for call in round.calls if call.server is None]
    return Selection(settings.policy, settings.limit, settings.choice, kept, round.dropped, round.rejected)


def closed(round: RoundState, settings: Settings) -> list[Message]:
    """Return the messages that the round adds to the history. Every call in them has a result.

    Of an answer that is incomplete or has an error, only the text is kept. The provider would reject a partial
    signature, and partial calls must not run.
    """
    response = round.response
    if response is None:
        return []
    choice = chosen(response, settings)
    if choice is None or not choice.blocks:
        return []
    if not response.complete or response.error is not None:
        return _shown(response, choice)
    outcomes = {call.id: call.result for call in round.calls if call.server is None and call.result is not None}
    turns = answer(response, selection_of(round, settings), outcomes)
    return [*turns, *(_approval(response.wire, call) for call in round.calls if call.server is not None)]


def refused_results(round: RoundState, settings: Settings) -> Iterator[tuple[int, ToolResult]]:
    """Yield the results of the calls that are not kept, each with the number of its call in the answer."""
    choice = chosen(round.response, settings) if round.response is not None else None
    reasons = {ref.block: ref.reason for ref in (*round.dropped, *round.rejected) if ref.choice == settings.choice}
    number = 0
    for index, block in enumerate(choice.blocks if choice is not None else ()):
        if isinstance(block, ToolCall):
            if index in reasons:
                yield number, unanswered(block, f"This call was not executed: {reasons[index]}.")
            number += 1


def words(state: TurnState) -> str:
    """Return the text of the model's last answer, with the text of the paused answers before it. "" if none."""
    said: list[str] = []
    for round in reversed(state.rounds):
        response = round.answer
        choice = chosen(response, state.settings) if response is not None else None
        paused = choice is not None and choice.stop.reason in PAUSES and not choice.calls
        if said and not paused:
            break
        said.append(_words(choice) if choice is not None else "")
    return "".join(reversed(said)).strip()


def note(state: TurnState, termination: str) -> str:
    """Return the text of a turn without an answer of the model: the reason, and the tool results so far."""
    error = f" ({state.error.type}: {state.error.message})" if state.error is not None else ""
    known = [_quoted(result) for round in state.rounds for result in round.tool_results]
    if termination == "all_tools_failed":
        return "\n".join(["All tools failed:", *known])
    head = f"There is no answer of the model: {termination.replace('_', ' ')}{error}."
    return "\n".join([head, "What the tools returned:", *known]) if known else head


def _shown(response: Response, choice: Choice) -> list[Message]:
    blocks = [Text(block.text) for block in choice.blocks if isinstance(block, Text) and block.text.strip()]
    if not blocks:
        return []
    kept = Choice(choice.index, list(blocks), choice.stop)
    return [Assistant(Response(response.wire, response.provider, None, response.model, [kept]))]


def _words(choice: Choice) -> str:
    return choice.text or "".join(block.text for block in choice.blocks if isinstance(block, Refusal))


def _approval(wire: str, call: CallState) -> Message:
    """Return the answer to an approval request of the provider. Only `openai.responses` sends them (failure RSP-06)."""
    allowed = call.status == "done"
    item = {"type": "mcp_approval_response", "approval_request_id": call.id, "approve": allowed}
    if not allowed and call.reason:
        item["reason"] = call.reason
    return RawItem(wire, item)


def _quoted(result: ToolResult) -> str:
    text = " ".join(
        part.text if isinstance(part, TextPart) else json_codec.text(part.value) if isinstance(part, JsonPart) else "…"
        for part in result.parts
    )
    short = text if len(text) <= _QUOTED else text[:_QUOTED] + "…"
    return f"- {result.name or result.call_id}{' failed' if result.is_error else ''}: {short}"


def without_result(round: RoundState) -> RoundState:
    """Return the round with the results removed from its calls, since its ``turns`` contain them."""
    return replace(round, calls=[replace(call, result=None) for call in round.calls])
