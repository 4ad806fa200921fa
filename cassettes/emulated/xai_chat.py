"""xAI's Chat Completions: bodies, chunks and error responses.

Differences from OpenAI: reasoning is in ``reasoning_content``, and ``completion_tokens`` does not include it. A stream
has no chunk that contains only the role. It sends each call in one chunk, the last one with the finish reason, and it
omits empty members.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..scripts import Refuse, Say, ScriptedCall, Think
from .encoding import DONE, Encoding, event
from .openai_chat import finish
from .script_player import Play
from .xai_rest import answering, body, error, headers

__all__ = ("ENCODING", "answer", "error", "events", "headers")

ENCODING = Encoding("text/event-stream")


def answer(play: Play) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    return {
        "id": _id(play),
        "object": "chat.completion",
        "created": play.created,
        "model": answering(play.model),
        "choices": [{"index": 0, "message": _message(play), "finish_reason": finish(play)}],
        "usage": _usage(play),
        "system_fingerprint": _fingerprint(play),
    }


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    deltas = list(_deltas(play)) or [{"content": ""}]
    deltas[0]["role"] = "assistant"
    if play.fault is None and "tool_calls" not in deltas[-1]:
        deltas.append({})
    for delta in deltas:
        last = play.fault is None and delta is deltas[-1]
        ending = {"finish_reason": finish(play)} if last else {}
        yield _chunk(play, [{"index": 0, "delta": delta, **ending}])
    if play.fault is not None:
        if (refused := play.failure()) is not None:
            yield event(body(refused))
        return
    if (play.body.get("stream_options") or {}).get("include_usage") is True:
        yield _chunk(play, [], _usage(play))
    yield DONE


def _deltas(play: Play) -> Iterator[dict[str, Any]]:
    number = 0
    for part in play.streamed_parts:
        if isinstance(part, Think):
            if not part.withheld:
                yield from ({"reasoning_content": piece} for piece in play.pieces(part.text))
        elif isinstance(part, Say):
            yield from ({"content": piece} for piece in play.pieces(part.text))
        elif isinstance(part, Refuse):
            yield from ({"refusal": piece} for piece in play.pieces(part.text))
        elif isinstance(part, ScriptedCall):
            call = _call(play, part, number)
            index = number if part.index is None else part.index
            yield {"tool_calls": [{"id": call["id"], "function": call["function"], "index": index, "type": "function"}]}
            number += 1


def _chunk(play: Play, choices: list[Any], usage: dict[str, Any] | None = None) -> bytes:
    chunk: dict[str, Any] = {
        "id": _id(play),
        "object": "chat.completion.chunk",
        "created": play.created,
        "model": answering(play.model),
        "choices": choices,
    }
    if usage is not None:
        chunk["usage"] = usage
    chunk["system_fingerprint"] = _fingerprint(play)
    return event(chunk)


def _message(play: Play) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": play.text(Say)}
    if shown := "".join(part.text for part in play.parts if isinstance(part, Think) and not part.withheld):
        message["reasoning_content"] = shown
    if play.calls:
        message["tool_calls"] = [_call(play, call, number) for number, call in enumerate(play.calls)]
    message["refusal"] = play.text(Refuse) or None
    return message


def _call(play: Play, call: ScriptedCall, number: int) -> dict[str, Any]:
    id = call.id if call.id is not None else "call_" + play.id(f"call {number}", 8, alphabet="0123456789")
    return {"id": id, "function": {"name": call.tool, "arguments": call.text}, "type": "function"}


def _id(play: Play) -> str:
    return play.uuid("answer") + "_us-east-1"


def _usage(play: Play) -> dict[str, Any]:
    used = play.usage()
    return {
        "prompt_tokens": used.input,
        "completion_tokens": used.output - used.reasoning,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {
            "text_tokens": used.input,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": used.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
        "num_sources_used": 0,
    }


def _fingerprint(play: Play) -> str:
    return "fp_" + play.hex("fingerprint", 10)
