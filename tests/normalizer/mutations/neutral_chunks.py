"""Mutations of the chunks of Chat Completions, and of xAI's messages, that change no meaning.

Fragments of calls, words in pieces and repeated ends: see ``tests/normalizer/failures``.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from xai_sdk.proto import chat_pb2

from .material import DONE, Traffic, copied

Json = dict[str, Any]


def streamed_choices(parts: list[Any]) -> list[Json]:
    """Every choice with a delta."""
    choices = [choice for part in parts if isinstance(part, dict) for choice in part.get("choices") or ()]
    return [choice for choice in choices if isinstance(choice, dict) and isinstance(choice.get("delta"), dict)]


def empty_deltas(traffic: Traffic, chance: Random) -> Traffic | None:
    """Chunks that say nothing, between others."""
    first = next((part for part in traffic.parts if isinstance(part, dict) and part.get("choices")), None)
    if not traffic.stream or first is None or "delta" not in first["choices"][0]:
        return None
    index = first["choices"][0].get("index", 0)
    texts: list[Json] = [{}, {"content": ""}, {"content": None}, {"tool_calls": []}, {"tool_calls": None}]
    parts: list[Any] = []
    for part in traffic.parts:
        if isinstance(part, dict) and chance.random() < 0.4:
            empty = {key: value for key, value in first.items() if key not in ("choices", "usage", "error", "x_groq")}
            parts.append({**empty, "choices": [{"index": index, "delta": chance.choice(texts), "finish_reason": None}]})
        parts.append(part)
    return traffic._replace(parts=copied(parts))


def roles(traffic: Traffic, chance: Random) -> Traffic | None:
    parts = copied(traffic.parts)
    for choice in streamed_choices(parts):
        choice["delta"]["role"] = "assistant"
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


def no_sentinel(traffic: Traffic, chance: Random) -> Traffic | None:
    """No [DONE], where every choice that began has a stop reason."""
    found = [(choice.get("index"), choice.get("finish_reason")) for choice in streamed_choices(traffic.parts)]
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


CHAT_TABLE: dict[str, Callable[..., Any]] = {
    "empty deltas": empty_deltas,
    "a role in every delta": roles,
    "empty members": empty_members,
    "no sentinel": no_sentinel,
    "choices in another order": shuffled_choices,
}


Chunk: Any = chat_pb2.GetChatCompletionChunk
Whole: Any = chat_pb2.GetChatCompletionResponse


def _has_unknown(message: Any) -> bool:
    """Whether a message holds fields that the SDK does not know, at any depth: they cannot move."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return bool(known.ByteSize() != message.ByteSize())


def _of_messages(change: Callable[[list[Any], Random], list[Any]]) -> Callable[[Traffic, Random], Traffic | None]:
    def apply(traffic: Traffic, chance: Random) -> Traffic | None:
        messages = [Chunk.FromString(part) for part in traffic.parts] if traffic.stream else []
        if not messages or any(map(_has_unknown, messages)):
            return None
        parts = [message.SerializeToString() for message in change(messages, chance)]
        return traffic._replace(parts=parts) if parts != traffic.parts else None

    return apply


def merged(messages: list[Any], chance: Random) -> list[Any]:
    """Neighbours in one message, as more outputs."""
    out: list[Any] = []
    for message in messages:
        if out and chance.random() < 0.5 and not out[-1].citations:
            outputs = [*out.pop().outputs, *message.outputs]
            del message.outputs[:]
            message.outputs.extend(outputs)
        out.append(message)
    return out


def roles_and_ids_once(messages: list[Any], chance: Random) -> list[Any]:
    """The role in the first message of an output alone, and the id and the model in the first of all."""
    seen = set()
    for number, message in enumerate(messages):
        if number:
            message.id = message.model = ""
        for output in message.outputs:
            if output.index in seen:
                output.delta.role = 0
            elif output.delta.role:
                seen.add(output.index)
    return messages


def shuffled_outputs(traffic: Traffic, chance: Random) -> Traffic | None:
    """The outputs of a whole answer in another order, each with its index."""
    whole = None if traffic.stream else Whole.FromString(traffic.parts[0])
    if not whole or len({output.index for output in whole.outputs}) < 2 or _has_unknown(whole):
        return None
    outputs = chance.sample(list(whole.outputs), len(whole.outputs))
    del whole.outputs[:]
    whole.outputs.extend(outputs)
    return traffic._replace(parts=[whole.SerializeToString()])


XAI_TABLE: dict[str, Callable[..., Any]] = {
    "messages merged": _of_messages(merged),
    "roles and ids once": _of_messages(roles_and_ids_once),
    "outputs in another order": shuffled_outputs,
}
