"""OpenAI's Chat Completions: bodies, chunks and error responses. Reasoning only appears in the usage.

The format follows recorded traffic. The id and name of a single call are in the first chunk, those of several calls in
separate chunks. Models before GPT-5 send ``logprobs``. ``obfuscation`` pads chunks to similar lengths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.normalizer import json_codec

from ..scripts import Refuse, Say, ScriptedCall, Think
from .encoding import DONE, Encoding, event
from .openai_rest import body, error, headers, offered, snapshot
from .script_player import Play

__all__ = ("ENCODING", "answer", "error", "events", "headers")

ENCODING = Encoding(indented=True)

_ENDINGS = {"length": "length", "content_filter": "content_filter"}


def answer(play: Play) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    choice: dict[str, Any] = {"index": 0, "message": _message(play)}
    if _scored(play):
        choice["logprobs"] = None
    choice["finish_reason"] = finish(play)
    return {
        "id": _id(play),
        "object": "chat.completion",
        "created": play.created,
        "model": snapshot(play.model),
        "choices": [choice],
        "usage": _usage(play),
        "service_tier": "default",
        "system_fingerprint": _fingerprint(play),
    }


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    stream = _Stream(play)
    for delta in _deltas(play):
        yield stream.chunk(delta)
    if play.fault is not None:
        if (refused := play.failure()) is not None:
            yield event({"error": body(refused)})
        return
    yield stream.chunk({}, finish(play))
    if stream.counts:
        yield stream.usage()
    yield DONE


class _Stream:
    """Builds the chunks of one stream from their deltas."""

    def __init__(self, play: Play) -> None:
        options = play.body.get("stream_options") or {}
        self._play = play
        self._padded = options.get("include_obfuscation") is not False
        self._sent = 0
        self.counts = options.get("include_usage") is True

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice: dict[str, Any] = {"index": 0, "delta": delta}
        if _scored(self._play):
            choice["logprobs"] = None
        choice["finish_reason"] = finish
        return self._send([choice], None, -len(json_codec.encode(delta)) % 24)

    def usage(self) -> bytes:
        return self._send([], _usage(self._play), 8)

    def _send(self, choices: list[Any], usage: dict[str, Any] | None, room: int) -> bytes:
        chunk: dict[str, Any] = {
            "id": _id(self._play),
            "object": "chat.completion.chunk",
            "created": self._play.created,
            "model": snapshot(self._play.model),
            "service_tier": "default",
            "system_fingerprint": _fingerprint(self._play),
            "choices": choices,
        }
        if self.counts:
            chunk["usage"] = usage
        if self._padded:
            self._sent += 1
            chunk["obfuscation"] = self._play.id(f"pad {self._sent}", room)
        return event(chunk)


def _deltas(play: Play) -> Iterator[dict[str, Any]]:
    """Yield the delta of each chunk. The first one contains the role."""
    calls = play.calls
    heads = [_head(play, call) for call in calls]
    spoken = [part for part in play.streamed_parts if not isinstance(part, Think)]
    first = spoken[0] if spoken else None
    alone = isinstance(first, ScriptedCall) and len(calls) == 1
    if alone:
        yield {"role": "assistant", "content": None, "tool_calls": heads, "refusal": None}
    elif isinstance(first, ScriptedCall):
        yield {"role": "assistant", "content": None}
    elif isinstance(first, Refuse):
        yield {"role": "assistant", "content": None, "refusal": ""}
    else:
        yield {"role": "assistant", "content": "", "refusal": None}
    number = 0
    for part in spoken:
        if isinstance(part, Say):
            yield from ({"content": piece} for piece in play.pieces(part.text))
        elif isinstance(part, Refuse):
            yield from ({"refusal": piece} for piece in play.pieces(part.text))
        elif isinstance(part, ScriptedCall):
            head = heads[number]
            number += 1
            if not alone:
                yield {"tool_calls": [head]}
            inner, member = _inner(play, part)
            for piece in play.pieces(part.text):
                yield {"tool_calls": [{"index": head["index"], inner: {member: piece}}]}


def _message(play: Play) -> dict[str, Any]:
    text, refusal = play.text(Say), play.text(Refuse)
    calls = [_call(play, call, number) for number, call in enumerate(play.calls)]
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls or refusal else "")}
    if calls:
        message["tool_calls"] = calls
    message["refusal"] = refusal or None
    message["annotations"] = []
    return message


def _call(play: Play, call: ScriptedCall, number: int) -> dict[str, Any]:
    inner, member = _inner(play, call)
    return {"id": _call_id(play, call, number), "type": inner, inner: {"name": call.tool, member: call.text}}


def _head(play: Play, call: ScriptedCall) -> dict[str, Any]:
    number = next(number for number, made_call in enumerate(play.calls) if made_call is call)
    inner, member = _inner(play, call)
    return {
        "index": number if call.index is None else call.index,
        "id": _call_id(play, call, number),
        "type": inner,
        inner: {"name": call.tool, member: ""},
    }


def _inner(play: Play, call: ScriptedCall) -> tuple[str, str]:
    """Return the member of a tool call that contains its details, and the member of that with the arguments."""
    return ("custom", "input") if offered(play, call).kind == "custom" else ("function", "arguments")


def _call_id(play: Play, call: ScriptedCall, number: int) -> str:
    return call.id if call.id is not None else "call_" + play.id(f"call {number}")


def _id(play: Play) -> str:
    return "chatcmpl-" + play.id("answer", 29)


def finish(play: Play) -> str:
    """Return the finish reason."""
    if play.round.ending in _ENDINGS:
        return _ENDINGS[play.round.ending]
    return "tool_calls" if play.calls else "stop"


def _usage(play: Play) -> dict[str, Any]:
    used = play.usage()
    return {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": used.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _scored(play: Play) -> bool:
    """Return whether the model supports log probabilities. Reasoning models do not."""
    return play.model.startswith(("gpt-4", "gpt-3.5"))


def _fingerprint(play: Play) -> str | None:
    return "fp_" + play.hex("fingerprint", 10) if _scored(play) else None
