"""Mutations of xAI's messages that change no meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from xai_sdk.proto import chat_pb2

from .changes import pieces
from .material import Traffic

Chunk: Any = chat_pb2.GetChatCompletionChunk
Whole: Any = chat_pb2.GetChatCompletionResponse
_WORDS = ("content", "reasoning_content")


def _has_unknown(message: Any) -> bool:
    """Whether a message holds fields that the SDK does not know, at any depth: they cannot move."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return bool(known.ByteSize() != message.ByteSize())


def _streamed(change: Callable[[list[Any], Random], list[Any]]) -> Callable[[Traffic, Random], Traffic | None]:
    def apply(traffic: Traffic, chance: Random) -> Traffic | None:
        messages = [Chunk.FromString(part) for part in traffic.parts] if traffic.stream else []
        if not messages or any(map(_has_unknown, messages)):
            return None
        parts = [message.SerializeToString() for message in change(messages, chance)]
        return traffic._replace(parts=parts) if parts != traffic.parts else None

    return apply


def split_words(messages: list[Any], chance: Random) -> list[Any]:
    """Words in more pieces, each in a message."""
    out: list[Any] = []
    for message in messages:
        texts = [(o, w) for o in message.outputs for w in _WORDS if getattr(o.delta, w)]
        out.append(message)
        if len(message.outputs) != 1 or len(texts) != 1 or message.outputs[0].delta.tool_calls:
            continue
        output, word = texts[0]
        first, *rest = pieces(getattr(output.delta, word), chance)
        ends = output.finish_reason
        setattr(output.delta, word, first)
        for piece in rest:
            more = Chunk(id=message.id, model=message.model)
            more.outputs.add(index=output.index, delta={"role": output.delta.role, word: piece})
            out.append(more)
        if rest and ends:
            output.finish_reason = 0
            out[-1].outputs[0].finish_reason = ends
    return out


def split_outputs(messages: list[Any], chance: Random) -> list[Any]:
    """Each output in a message."""
    out: list[Any] = []
    for message in messages:
        for output in message.outputs[:-1]:
            out.append(Chunk(id=message.id, model=message.model, outputs=[output]))
        del message.outputs[:-1]
        out.append(message)
    return out


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


def empty_messages(messages: list[Any], chance: Random) -> list[Any]:
    first = messages[0]
    return [each for message in messages for each in (Chunk(id=first.id, model=first.model), message)]


def ends_twice(messages: list[Any], chance: Random) -> list[Any]:
    """The finish reasons again, and the figures."""
    out: list[Any] = []
    for message in messages:
        out.append(message)
        ended = [output for output in message.outputs if output.finish_reason]
        if ended:
            again = Chunk(id=message.id, model=message.model)
            for output in ended:
                again.outputs.add(index=output.index, finish_reason=output.finish_reason)
            if message.HasField("usage"):
                again.usage.CopyFrom(message.usage)
            out.append(again)
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


TABLE: dict[str, Callable[..., Any]] = {
    "words split": _streamed(split_words),
    "outputs split": _streamed(split_outputs),
    "messages merged": _streamed(merged),
    "empty messages": _streamed(empty_messages),
    "ends repeated": _streamed(ends_twice),
    "roles and ids once": _streamed(roles_and_ids_once),
    "outputs in another order": shuffled_outputs,
}
