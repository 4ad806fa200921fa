"""Mutations of xAI's messages that change no meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from google.protobuf.json_format import MessageToJson
from xai_sdk.proto import chat_pb2

from .changes import pieces
from .material import ADDED, Traffic

Chunk: Any = chat_pb2.GetChatCompletionChunk
Whole: Any = chat_pb2.GetChatCompletionResponse
_WORDS = ("content", "reasoning_content")


def _messages(traffic: Traffic) -> list[Any] | None:
    """The messages parsed; None where one holds fields that the SDK does not know, and cannot move."""
    cls = Chunk if traffic.stream else Whole
    if not all(isinstance(part, bytes) and part[:1] != b"{" for part in traffic.parts):
        return None  # another mutation changed the form of the messages
    parsed = [cls.FromString(part) for part in traffic.parts]
    return None if any(map(_has_unknown, parsed)) else parsed


def _has_unknown(message: Any) -> bool:
    """Whether a message holds fields that the SDK does not know, at any depth."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return bool(known.ByteSize() != message.ByteSize())


def _streamed(change: Callable[[list[Any], Random], list[Any]]) -> Callable[[Traffic, Random], Traffic | None]:
    def apply(traffic: Traffic, chance: Random) -> Traffic | None:
        messages = _messages(traffic) if traffic.stream else None
        if not messages:
            return None
        parts = [message.SerializeToString() for message in change(messages, chance)]
        return traffic._replace(parts=parts) if parts != traffic.parts else None

    return apply


def as_objects(traffic: Traffic, chance: Random) -> Traffic | None:
    messages = _messages(traffic)
    return None if messages is None else traffic._replace(parts=messages)


def as_json(traffic: Traffic, chance: Random) -> Traffic | None:
    """Protobuf's JSON, in either spelling of names."""
    messages = _messages(traffic)
    if messages is None:
        return None
    own = chance.random() < 0.5
    return traffic._replace(parts=[MessageToJson(m, preserving_proto_field_name=own).encode() for m in messages])


def unknown_members(traffic: Traffic, chance: Random) -> Traffic | None:
    """A member that the SDK does not know, in protobuf's JSON."""
    other = as_json(traffic, chance)
    if other is None:
        return None
    return traffic._replace(parts=[b'{"%s": 1, %s' % (ADDED.encode(), p[1:]) if len(p) > 4 else p for p in other.parts])


def split_words(messages: list[Any], chance: Random) -> list[Any]:
    """Words in more pieces, each in a message."""
    out: list[Any] = []
    for message in messages:
        texts = [(o, w) for o in message.outputs for w in _WORDS if getattr(o.delta, w)]
        if len(message.outputs) != 1 or len(texts) != 1 or message.outputs[0].delta.tool_calls:
            out.append(message)
            continue
        output, word = texts[0]
        first, *rest = pieces(getattr(output.delta, word), chance)
        ends = output.finish_reason
        setattr(output.delta, word, first)
        out.append(message)
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
            alone = Chunk(id=message.id, model=message.model)
            alone.outputs.add().CopyFrom(output)
            out.append(alone)
        del message.outputs[:-1]
        out.append(message)
    return out


def merged(messages: list[Any], chance: Random) -> list[Any]:
    """Neighbours in one message, as more outputs."""
    out: list[Any] = []
    for message in messages:
        if out and chance.random() < 0.5 and not out[-1].citations:
            outputs = list(out[-1].outputs)
            joined = Chunk()
            joined.CopyFrom(message)
            del joined.outputs[:]
            for output in [*outputs, *message.outputs]:
                joined.outputs.add().CopyFrom(output)
            out[-1] = joined
        else:
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


def roles_once(messages: list[Any], chance: Random) -> list[Any]:
    """The role in the first message of an output alone."""
    seen = set()
    for message in messages:
        for output in message.outputs:
            if output.index in seen:
                output.delta.role = 0
            elif output.delta.role:
                seen.add(output.index)
    return messages


def ids_once(messages: list[Any], chance: Random) -> list[Any]:
    for message in messages[1:]:
        message.id = message.model = ""
    return messages


def calls_twice(messages: list[Any], chance: Random) -> list[Any]:
    """A call of the caller once more, whole."""
    out: list[Any] = []
    for message in messages:
        out.append(message)
        for output in message.outputs:
            for call in output.delta.tool_calls:
                if call.id and call.function.name and call.type == 1 and _whole(messages, call.id):
                    again = Chunk(id=message.id, model=message.model)
                    again.outputs.add(index=output.index).delta.tool_calls.add().CopyFrom(call)
                    out.append(again)
    return out


def _whole(messages: list[Any], id: str) -> bool:
    found = [c for m in messages for o in m.outputs for c in o.delta.tool_calls if c.id == id]
    return len(found) == 1


def shuffled_outputs(traffic: Traffic, chance: Random) -> Traffic | None:
    """The outputs of a whole answer in another order, each with its index."""
    messages = None if traffic.stream else _messages(traffic)
    if not messages or len({o.index for o in messages[0].outputs}) < 2:
        return None
    outputs = list(messages[0].outputs)
    chance.shuffle(outputs)
    copy = Whole()
    copy.CopyFrom(messages[0])
    del copy.outputs[:]
    for output in outputs:
        copy.outputs.add().CopyFrom(output)
    return traffic._replace(parts=[copy.SerializeToString()])


TABLE: dict[str, Callable[..., Any]] = {
    "objects of the SDK": as_objects,
    "protobuf's JSON": as_json,
    "unknown members": unknown_members,
    "words split": _streamed(split_words),
    "outputs split": _streamed(split_outputs),
    "messages merged": _streamed(merged),
    "empty messages": _streamed(empty_messages),
    "ends repeated": _streamed(ends_twice),
    "roles once": _streamed(roles_once),
    "ids once": _streamed(ids_once),
    "calls repeated": _streamed(calls_twice),
    "outputs in another order": shuffled_outputs,
}
