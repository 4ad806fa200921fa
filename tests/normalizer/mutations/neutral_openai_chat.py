"""Mutations of Chat Completions: what servers and gateways of this wire do without changing the content.

Which fragment belongs to which call: see ``tests/normalizer/failures/openai_chat_fragments.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from .changes import copied, pieces
from .material import DONE, Traffic

Json = dict[str, Any]
#: Members of a delta that hold words, each piece continuing the last.
_WORDS = ("content", "reasoning_content", "reasoning", "refusal")


def chunks(parts: list[Any]) -> Iterator[tuple[int, Json, Json, Json]]:
    """Every choice with a delta: place of the chunk, chunk, choice, delta."""
    for place, part in enumerate(parts):
        if isinstance(part, dict):
            for choice in part.get("choices") or ():
                if isinstance(choice, dict) and isinstance(choice.get("delta"), dict):
                    yield place, part, choice, choice["delta"]


def split_deltas(traffic: Traffic, chance: Random) -> Traffic | None:
    """Words and arguments in more pieces."""
    if not traffic.stream:
        return None
    parts: list[Any] = []
    done = False
    for part in copied(traffic.parts):
        choices = part.get("choices") if isinstance(part, dict) else None
        word = None
        if choices and len(choices) == 1 and isinstance(choices[0].get("delta"), dict):
            delta = choices[0]["delta"]
            texts = [name for name in _WORDS if isinstance(delta.get(name), str) and len(delta[name]) > 1]
            word = texts[0] if len(texts) == 1 and not delta.get("tool_calls") else None
        if word is None:
            parts.append(part)
            continue
        first, *rest = pieces(delta[word], chance)
        delta[word] = first
        more = copied(part)
        more.pop("usage", None)
        for piece in rest:
            other = copied(more)
            other["choices"][0]["delta"] = {word: piece}
            other["choices"][0].pop("logprobs", None)
            other["choices"][0]["finish_reason"] = None
            parts.append(other)
            done = True
        if rest:  # the first piece goes first, and what the chunk says of the end goes last
            parts[-len(rest) :] = [part, *parts[-len(rest) :]]
            last = parts[-1]["choices"][0]
            last["finish_reason"], choices[0]["finish_reason"] = choices[0].get("finish_reason"), None
    return traffic._replace(parts=parts) if done else None


def empty_deltas(traffic: Traffic, chance: Random) -> Traffic | None:
    """Chunks that say nothing, between others."""
    first = next((part for part in traffic.parts if isinstance(part, dict) and part.get("choices")), None)
    if not traffic.stream or first is None or "delta" not in first["choices"][0]:
        return None
    index = first["choices"][0].get("index", 0)
    texts: list[Json] = [
        {},
        {"content": ""},
        {"content": None},
        {"role": "assistant"},
        {"tool_calls": []},
        {"tool_calls": None},
    ]
    parts: list[Any] = []
    for part in traffic.parts:
        if isinstance(part, dict) and chance.random() < 0.4:
            empty = {key: value for key, value in first.items() if key not in ("choices", "usage", "error", "x_groq")}
            parts.append({**empty, "choices": [{"index": index, "delta": chance.choice(texts), "finish_reason": None}]})
        parts.append(part)
    return traffic._replace(parts=copied(parts))


def roles(traffic: Traffic, chance: Random) -> Traffic | None:
    parts = copied(traffic.parts)
    for _, _, _, delta in chunks(parts):
        delta["role"] = "assistant"
    return traffic._replace(parts=parts) if traffic.stream else None


def empty_members(traffic: Traffic, chance: Random) -> Traffic | None:
    """Members that others send empty: no calls, no refusal, a legacy call without a name."""
    if traffic.stream:
        return None
    parts = copied(traffic.parts)
    for choice in parts[0].get("choices") or ():
        message = choice.get("message")
        if isinstance(message, dict):
            message.setdefault("tool_calls", chance.choice([None, []]))
            message.setdefault("refusal", chance.choice([None, ""]))
            message.setdefault("function_call", chance.choice([None, {"name": "", "arguments": ""}]))
            if message.get("tool_calls") and not message.get("content"):
                message["content"] = chance.choice([None, ""])
    return traffic._replace(parts=parts)


def repeated_ends(traffic: Traffic, chance: Random) -> Traffic | None:
    """The stop reason, the figures and the sentinel twice."""
    parts: list[Any] = []
    for part in traffic.parts:
        parts.append(part)
        if part == DONE:
            parts.append(DONE)
        elif any(choice.get("finish_reason") for choice in part.get("choices") or ()) or part.get("usage"):
            again = copied(part)
            for choice in again.get("choices") or ():
                choice["delta"] = {}
                choice.pop("message", None)
            parts.append(again)
    return traffic._replace(parts=parts) if traffic.stream and len(parts) > len(traffic.parts) else None


def no_sentinel(traffic: Traffic, chance: Random) -> Traffic | None:
    """No [DONE], where every choice that began has a stop reason."""
    found = [(choice.get("index"), choice.get("finish_reason")) for _, _, choice, _ in chunks(traffic.parts)]
    stopped = {index for index, reason in found if reason}
    if not traffic.stream or DONE not in traffic.parts or not found or stopped != {index for index, _ in found}:
        return None
    return traffic._replace(parts=[part for part in traffic.parts if part != DONE])


def shuffled_choices(traffic: Traffic, chance: Random) -> Traffic | None:
    """Several choices in another order, each with its index."""
    if traffic.stream or len(traffic.parts[0].get("choices") or ()) < 2:
        return None
    parts = copied(traffic.parts)
    if sorted(choice.get("index", -1) for choice in parts[0]["choices"]) != list(range(len(parts[0]["choices"]))):
        return None
    chance.shuffle(parts[0]["choices"])
    return traffic._replace(parts=parts)


TABLE: dict[str, Callable[..., Any]] = {
    "deltas split": split_deltas,
    "empty deltas": empty_deltas,
    "a role in every delta": roles,
    "empty members": empty_members,
    "ends repeated": repeated_ends,
    "no sentinel": no_sentinel,
    "choices in another order": shuffled_choices,
}
