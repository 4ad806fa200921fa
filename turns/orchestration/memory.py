"""Memory of a conversation in four layers (facts, tool usage, intent, reasoning), and summaries of its rounds.

    session = session_of(request.messages)
    session.discovered_facts      # results of the calls that succeeded
    session.search_coverage       # all calls, with "ok" or the error of each attempt
    session.search_reasons        # all calls, with the model's words for making them
    session.evolving_intent       # what the user wants now, what the model pursues, what is still missing
    session.reasoning_trace       # the model's text and reasoning, by round
    digest(session.rounds[0], 200)  # the round in at most 200 tokens

`digest`, the default summary, only quotes and truncates: first the calls with their results, then the model's text,
then its reasoning. A `Summarise` function of the caller may ask a model; the turn waits for it between two rounds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, Message, RawItem, TextPart, ToolResult, ToolResults, User
from toolparity.normalizer.model import Reasoning, Refusal, Text, ToolCall
from toolparity.normalizer.pairing import paired

from ..execution.tool_results import quoted
from ..result_texts import failures_in, result_text, substitution_in
from ..tokens import Counter, blocks_of, estimated

#: The beginnings of user messages that the program writes.
PROGRAM = ("[Briefing by the program", "[Note by the program]")
#: The most characters that an intent quotes from each text.
_MAX_INTENT = 200


class CallMemory(Struct, frozen=True):
    """A call and its result. ``text``: the content of the result, or why the call failed (``failed``).

    If a fallback ran in place of a call that failed, the calls of both are remembered. ``substitute``: the call that
    ran instead, "" if none did. ``instead_of``: the name of the tool that failed, "" for a call of the model.
    """

    id: str
    name: str
    arguments_text: str
    text: str
    failed: bool
    substitute: str = ""
    instead_of: str = ""

    @property
    def label(self) -> str:
        """The call as "name(arguments)", with at most 200 characters of the arguments."""
        arguments = self.arguments_text if len(self.arguments_text) <= 200 else self.arguments_text[:200] + "…"
        return f"{self.name}({arguments})"


class RoundMemory(Struct, frozen=True):
    """One answer of the model with the results of its calls.

    ``number``: from 1, over the whole conversation. ``text``, ``reasoning``: what the model wrote. ``messages``: its
    messages in order; a request must contain all of them or none.
    """

    number: int
    text: str
    reasoning: str
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
        return {call.label: call.text for round in self.rounds for call in round.calls if not call.failed}

    @property
    def search_coverage(self) -> dict[str, list[str]]:
        """For each call, "ok" or the text of the error of each attempt, in order."""
        tried: dict[str, list[str]] = {}
        for round in self.rounds:
            for call in round.calls:
                tried.setdefault(call.label, []).append(call.text if call.failed else "ok")
        return tried

    @property
    def search_reasons(self) -> dict[str, str]:
        """For each call, what the model wrote or reasoned before it first made the call, "" if nothing."""
        reasons: dict[str, str] = {}
        for round in self.rounds:
            for call in round.calls:
                reasons.setdefault(call.label, round.text or round.reasoning)
        return reasons

    @property
    def user_messages(self) -> list[str]:
        """The texts of the user's messages, in order, without messages of the program."""
        texts = [_text_of(item) for item in self.items if isinstance(item, User)]
        return [text for text in texts if text and not text.startswith(PROGRAM)]

    @property
    def evolving_intent(self) -> str:
        """The goal of the user as it has evolved: see `stated_intent`."""
        return stated_intent(self)

    @property
    def reasoning_trace(self) -> list[tuple[int, str]]:
        """The model's reasoning and text, each with the number of its round."""
        return [(round.number, text) for round in self.rounds for text in (round.reasoning, round.text) if text]


def stated_intent(session: Session) -> str:
    """Return the goal of the user as the conversation states it, "" without a message of the user.

    It has the last message of the user and the one before it, what the model says it pursues since then, and the calls
    whose last attempt failed. Each round changes it.
    """
    messages = session.user_messages
    if not messages:
        return ""
    intent = f"Wanted now: {quoted(messages[-1], _MAX_INTENT)}"
    if len(messages) > 1:
        intent += f" (asked before: {quoted(messages[-2], _MAX_INTENT)})"
    last = max((at for at, item in enumerate(session.items) if isinstance(item, User)), default=-1)
    rounds = [item for item in session.items[last + 1 :] if isinstance(item, RoundMemory) and item.calls]
    pursued = next((round.text or round.reasoning for round in reversed(rounds) if round.text or round.reasoning), "")
    if pursued:
        intent += f"\nPursued now: {quoted(pursued, _MAX_INTENT)}"
    calls = [call for round in rounds for call in round.calls if not call.instead_of]
    latest = {call.label: call.failed and not call.substitute for call in calls}
    missing = [label for label, failed in latest.items() if failed]
    if missing:
        intent += f"\nStill missing: {quoted(', '.join(missing), _MAX_INTENT)}"
    return intent


def session_of(messages: Sequence[Message]) -> Session:
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

    for message in paired(messages, lambda code, text, position: None):
        if isinstance(message, Assistant):
            if open_round and not isinstance(open_round[-1], Assistant):
                close()  # consecutive assistant messages belong to one round: the provider paused in between
            open_round.append(message)
        elif isinstance(message, (ToolResults, RawItem)) and open_round:
            open_round.append(message)
        else:
            close()
            items.append(message)
    close()
    return Session(items)


def is_note(item: Message | RoundMemory) -> bool:
    """Return whether the program wrote this message, to follow the results of a round."""
    return isinstance(item, User) and _text_of(item).startswith(PROGRAM[1])


def _text_of(message: User) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def _round(number: int, messages: list[Message]) -> RoundMemory:
    blocks = [block for message in messages for block in blocks_of(message)]
    results = {
        result.call_id: result for message in messages if isinstance(message, ToolResults) for result in message.results
    }
    text = "".join(block.text for block in blocks if isinstance(block, (Text, Refusal)))
    reasoning = "".join(block.text for block in blocks if isinstance(block, Reasoning))
    made = [block for block in blocks if isinstance(block, ToolCall)]
    calls = [call for block in made for call in _calls(block, results.get(block.id))]
    return RoundMemory(number, text.strip(), reasoning.strip(), calls, messages)


def _calls(call: ToolCall, result: ToolResult | None) -> list[CallMemory]:
    """Return a call with its result, and after it the calls of fallbacks that ran in its place."""
    made = CallMemory(call.id, call.name, call.arguments_text, "there is no result", True)
    if result is None:
        return [made]
    substitution = substitution_in(result, call.name)
    if substitution is None:
        own, failures = failures_in(result)
        others = [CallMemory(call.id, name, "", why, True, "", call.name) for name, why in failures.items()]
        return [replace(made, text=result_text(own), failed=result.is_error), *others]
    name, arguments_text, why, own = substitution
    other = CallMemory(call.id, name, arguments_text, result_text(own), False, "", call.name)
    return [replace(made, text=f"{other.label} ran in its place: {why}", substitute=other.label), other]


#: Returns what the user wants by now.
DeriveIntent = Callable[[Session], str | Awaitable[str]]
#: Returns a summary of a round in a number of tokens.
Summarise = Callable[[RoundMemory, int], str | Awaitable[str]]


def fitting(text: str, tokens: int, count: Counter) -> str:
    """Return the longest beginning of a text that fits into ``tokens``, "" if none fits."""
    if count(text) <= tokens:
        return text
    length = _longest(len(text), partial(quoted, text), tokens, count)
    return quoted(text, length) if length else ""


def digest(round: RoundMemory, tokens: int, count: Counter = estimated) -> str:
    """Return the round in at most ``tokens`` tokens, "" if not even the names of its calls fit.

    All results and texts are truncated to one common length. If that is too short, the reasoning and the text of the
    model are left out, and then everything but the names of the calls.
    """
    longest = max([len(call.text) for call in round.calls] + [len(round.text), len(round.reasoning), 1])
    for with_texts in (True, False):
        excerpt = partial(_excerpt, round, with_texts)
        length = _longest(longest, excerpt, tokens, count)
        if length >= min(40, longest):  # shorter excerpts carry no information
            return excerpt(length)
    outcomes = ", ".join(f"{call.name} {'failed' if call.failed else 'ok'}" for call in round.calls)
    return fitting(f"Round {round.number}: {outcomes or 'no calls'}", tokens, count)


def _longest(high: int, render: Callable[[int], str], tokens: int, count: Counter) -> int:
    """Return the largest length up to ``high`` at which the rendered text fits into ``tokens``, 0 if none does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(render(middle)) <= tokens else (low, middle - 1)
    return low


def _excerpt(round: RoundMemory, with_texts: bool, length: int) -> str:
    lines = [f"Round {round.number}:"]
    for call in round.calls:
        lines.append(f"  {call.label} {'failed' if call.failed else 'returned'}: {quoted(call.text, length)}")
    if with_texts and round.text:
        lines.append(f"  the model wrote: {quoted(round.text, length)}")
    if with_texts and round.reasoning:
        lines.append(f"  the model reasoned: {quoted(round.reasoning, length)}")
    return "\n".join(lines)
