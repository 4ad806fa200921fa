"""Summaries of rounds for the briefing.

A summarizer takes a round and a number of tokens. It may call a model as a coroutine; the turn then waits for it
between two rounds. The default, `digest`, only quotes and truncates: first the calls with their results, then the
model's text, then its reasoning.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from .memory import RoundMemory

#: Returns the number of tokens of a text.
Counter = Callable[[str], int]
Summarise = Callable[[RoundMemory, int], str | Awaitable[str]]


def estimated(text: str) -> int:
    """Estimate the tokens of a text at four characters each, which is too low for scripts other than Latin."""
    return -(-len(text) // 4)


def quoted(text: str, most: int) -> str:
    """Return the text on one line, truncated to ``most`` characters and an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rstrip() + "…"


def fitting(text: str, tokens: int, count: Counter) -> str:
    """Return the longest beginning of a text that fits into ``tokens``, "" if none fits."""
    if count(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(quoted(text, middle)) <= tokens else (low, middle - 1)
    return quoted(text, low) if low else ""


def digest(round: RoundMemory, tokens: int, count: Counter = estimated) -> str:
    """Return the round in at most ``tokens`` tokens, "" if not even the names of its calls fit.

    All results and texts are truncated to one common length. If that is too short, the reasoning and the text of the
    model are left out, and then everything but the names of the calls.
    """
    longest = max([len(call.text) for call in round.calls] + [len(round.said), len(round.thought), 1])
    for written in (_whole, _without_reasoning):
        low, high = 0, longest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if count(written(round, middle)) <= tokens else (low, middle - 1)
        if low >= min(40, longest):  # shorter excerpts carry no information
            return written(round, low)
    return fitting(_names(round), tokens, count)


def _whole(round: RoundMemory, most: int) -> str:
    lines = [_without_reasoning(round, most)]
    lines += [f"  the model said: {quoted(round.said, most)}"] if round.said else []
    lines += [f"  the model thought: {quoted(round.thought, most)}"] if round.thought else []
    return "\n".join(lines)


def _without_reasoning(round: RoundMemory, most: int) -> str:
    lines = [f"Round {round.number}:"]
    for call in round.calls:
        lines.append(f"  {call.told} {'failed' if call.failed else 'returned'}: {quoted(call.text, most)}")
    return "\n".join(lines)


def _names(round: RoundMemory) -> str:
    tried = ", ".join(f"{call.name} {'failed' if call.failed else 'ok'}" for call in round.calls)
    return f"Round {round.number}: {tried or 'no calls'}"
