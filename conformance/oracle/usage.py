"""Token counts read directly from a response, with their canonical meaning.

Input tokens include cache reads and writes; output tokens include reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.normalizer import json_codec

from ..subjects import SubjectExchange


def wire_usage(ask: SubjectExchange) -> dict[str, int] | None:
    """Return ``input_tokens`` and ``output_tokens`` of a response, or None if it has no usage."""
    if ask.status >= 400:
        return None
    if ask.wire == "xai.grpc":
        return _of_messages(ask)
    found: dict[str, Any] = {}
    for value in json_values(ask):
        for holder in (value, value.get("message"), value.get("response")):
            usage = holder.get("usage") if isinstance(holder, dict) else None
            if isinstance(usage, dict):
                found.update({key: figure for key, figure in usage.items() if figure is not None})
    if not found:
        return None
    if "prompt_tokens" in found:
        details = found.get("completion_tokens_details") or {}
        apart = details.get("reasoning_tokens") or 0 if ask.provider == "xai" else 0
        return {"input_tokens": found["prompt_tokens"], "output_tokens": found["completion_tokens"] + apart}
    cache = sum(found.get(key) or 0 for key in ("cache_read_input_tokens", "cache_creation_input_tokens"))
    return {"input_tokens": found["input_tokens"] + cache, "output_tokens": found["output_tokens"]}


def _of_messages(ask: SubjectExchange) -> dict[str, int] | None:
    """Return the last token counts of a gRPC response.

    Reasoning is added to the output if the total counts it separately.
    """
    from xai_sdk.proto import chat_pb2

    made = chat_pb2.GetChatCompletionChunk if ask.stream else chat_pb2.GetChatCompletionResponse
    told = [usage for piece in ask.pieces if (usage := made.FromString(piece).usage).ListFields()]
    if not told:
        return None
    given, output, thought = (getattr(told[-1], f"{kind}_tokens") for kind in ("prompt", "completion", "reasoning"))
    apart = thought if told[-1].total_tokens == given + output + thought else 0
    return {"input_tokens": given, "output_tokens": output + apart}


def json_values(ask: SubjectExchange) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of a body, or that of each event of a stream. Invalid JSON is skipped."""
    texts = [ask.body]
    if ask.stream:
        lines = ask.body.splitlines()
        texts = [line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:")]
    for text in texts:
        if text == b"[DONE]":
            continue
        try:
            value = json_codec.decode(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
