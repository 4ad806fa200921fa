"""Generated traffic of bedrock.converse."""

from __future__ import annotations

from typing import Any

from toolparity.cassettes.emulated.bedrock_converse import message

from .calls import EVENTS, TEXT, compact, expected, text_pieces, tokens

_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _usage(output: int) -> dict[str, Any]:
    return {
        "inputTokens": 645,
        "outputTokens": output,
        "totalTokens": 645 + output,
        "cacheReadInputTokens": 0,
        "cacheWriteInputTokens": 0,
    }


def body() -> bytes:
    """Return the body as Bedrock sends it, compact."""
    calls = [
        {"toolUse": {"input": call.arguments, "name": call.name, "toolUseId": call.id}}
        for call in expected("bedrock.converse", False)
    ]
    said: dict[str, Any] = {"content": [{"text": TEXT}, *calls], "role": "assistant"}
    value = {
        "metrics": {"latencyMs": 2257},
        "output": {"message": said},
        "stopReason": "tool_use",
        "usage": _usage(92),
    }
    return compact(value).encode()


def stream() -> bytes:
    """Return the event stream as Bedrock sends it, with the padding of its events."""
    calls = expected("bedrock.converse", True)
    arguments = [tokens(compact(call.arguments)) for call in calls]
    texts = text_pieces(EVENTS - 4 - sum(2 + len(each) for each in arguments))
    told: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    told += [("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}}) for text in texts]
    told.append(("contentBlockStop", {"contentBlockIndex": 0}))
    for index, call in enumerate(calls, start=1):
        place = {"contentBlockIndex": index}
        begun = {"toolUse": {"name": call.name, "toolUseId": call.id}}
        told.append(("contentBlockStart", {**place, "start": begun}))
        for piece in arguments[index - 1]:
            told.append(("contentBlockDelta", {**place, "delta": {"toolUse": {"input": piece}}}))
        told.append(("contentBlockStop", place))
    told.append(("messageStop", {"stopReason": "tool_use"}))
    told.append(("metadata", {"metrics": {"latencyMs": 2257}, "usage": _usage(296)}))
    return b"".join(_event(number, name, members) for number, (name, members) in enumerate(told))


def _event(number: int, name: str, members: dict[str, Any]) -> bytes:
    padded = dict(sorted({**members, "p": _PADDING[: 4 + number * 7 % 40]}.items()))
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return message(compact(padded).encode(), headers)
