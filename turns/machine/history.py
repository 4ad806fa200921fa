"""The messages that a round adds to the history, and the text of a turn without an answer of the model."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Assistant, Message, RawItem, ToolResult
from toolparity.normalizer.model import Choice, Refusal, Response, Text, ToolCall
from toolparity.normalizer.pairing import unanswered
from toolparity.normalizer.policies import Ref, Selection

from ..result_texts import for_user, result_text, substitution_in
from .state import CallState, TurnState

#: Stop reasons after which the provider expects a request that continues from its answer.
PAUSES = ("pause", "compaction")
#: Maximum characters of each result that `summary` quotes.
_QUOTED = 200


def messages_of_round(state: TurnState) -> list[Message]:
    """Return the messages that the last round adds to the history. Every call in them has a result.

    Of an answer that is incomplete or has an error, only the text is kept. The provider would reject a partial
    signature, and partial calls must not run.
    """
    round, settings = state.rounds[-1], state.settings
    response = round.response
    choice = state.choice_of(response)
    if response is None or choice is None or not choice.blocks:
        return []
    if not response.complete or response.error is not None:
        return _text_message(response, choice)
    own = [call for call in round.calls if call.server is None]
    kept = [Ref(call.block, settings.choice, call.id, call.name) for call in own]
    selection = Selection(settings.policy, settings.limit, settings.choice, kept, round.dropped, round.rejected)
    messages = answer(response, selection, {call.id: call.result for call in own if call.result is not None})
    return [*messages, *(_approval(response.wire, call) for call in round.calls if call.server is not None)]


def results_without_run(state: TurnState) -> Iterator[tuple[int, ToolResult]]:
    """Yield the results of the calls that are not kept, each with the number of its call in the answer."""
    round = state.rounds[-1]
    choice = state.choice_of(round.response)
    reasons = {
        ref.block: ref.reason for ref in (*round.dropped, *round.rejected) if ref.choice == state.settings.choice
    }
    blocks = enumerate(choice.blocks if choice is not None else ())
    calls = [(index, block) for index, block in blocks if isinstance(block, ToolCall)]
    for number, (index, call) in enumerate(calls):
        if index in reasons:
            yield number, unanswered(call, f"This call was not executed: {reasons[index]}.")


def answer_text(state: TurnState) -> str:
    """Return the text of the model's last answer, with the text of the paused answers before it. "" if none."""
    texts: list[str] = []
    for round in reversed(state.rounds):
        choice = state.choice_of(round.answer)
        paused = choice is not None and choice.stop.reason in PAUSES and not choice.calls
        if texts and not paused:
            break
        texts.append(_text_of(choice) if choice is not None else "")
    return "".join(reversed(texts)).strip()


def summary(state: TurnState, termination: str) -> str:
    """Return the text of a turn without a whole answer of the model: the reason, and the tool results so far.

    It is shown to the user, so it leaves out the texts of exceptions and of a provider's error (`TurnState.error`),
    which can contain the names of accounts and addresses.
    """
    results = [_quoted(result) for round in state.rounds for result in round.tool_results]
    if termination == "all_tools_failed":
        return "\n".join(["All tools failed:", *results])
    what = "The model's answer broke off" if answer_text(state) else "The model gave no answer"
    head = f"{what}: {termination.replace('_', ' ')}."
    return "\n".join([head, "What the tools returned:", *results]) if results else head


def _text_message(response: Response, choice: Choice) -> list[Message]:
    blocks = [Text(block.text) for block in choice.blocks if isinstance(block, Text) and block.text.strip()]
    if not blocks:
        return []
    kept = Choice(choice.index, list(blocks), choice.stop)
    return [Assistant(Response(response.wire, response.provider, None, response.model, [kept]))]


def _text_of(choice: Choice) -> str:
    return choice.text or "".join(block.text for block in choice.blocks if isinstance(block, Refusal))


def _approval(wire: str, call: CallState) -> Message:
    """Return the answer to an approval request of the provider. Only `openai.responses` sends them (failure RSP-06)."""
    approved = call.status == "done"
    item = {"type": "mcp_approval_response", "approval_request_id": call.id, "approve": approved}
    if not approved and call.reason:
        item["reason"] = call.reason
    return RawItem(wire, item)


def _quoted(result: ToolResult) -> str:
    text = for_user(result_text(result), failed=result.is_error)
    short = text if len(text) <= _QUOTED else text[:_QUOTED] + "…"
    name = result.name or result.call_id
    substitution = substitution_in(result, name)
    name = f"{substitution.name}, in place of {name}" if substitution is not None else name
    return f"- {name}{' failed' if result.is_error else ''}{': ' if short else ''}{short}"
