"""Generated traffic of openai.chat."""

from __future__ import annotations

import json
from typing import Any

from .calls import EVENTS, compact, expected, padding, text_pieces, tokens


def body() -> bytes:
    """Return the body as OpenAI sends it, indented by two."""
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": compact(c.arguments)}}
        for c in expected("openai.chat", False)
    ]
    body = {
        "id": "chatcmpl-CbQ7rT2mXfWk9LzVn4HsYp1DgJe8U",
        "object": "chat.completion",
        "created": 1763000000,
        "model": "gpt-5.1-2025-11-13",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": calls,
                    "refusal": None,
                    "annotations": [],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": _chat_usage(96),
        "service_tier": "default",
        "system_fingerprint": "fp_7c41d0e9ab",
    }
    return json.dumps(body, indent=2).encode() + b"\n"


def _chat_usage(output: int) -> dict[str, Any]:
    return {
        "prompt_tokens": 412,
        "completion_tokens": output,
        "total_tokens": 412 + output,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def stream() -> bytes:
    """Return chunks as OpenAI sends them with usage enabled, with their padding."""
    deltas: list[tuple[dict[str, Any], str | None]] = []
    for index, call in enumerate(expected("openai.chat", True)):
        function = {"name": call.name, "arguments": ""}
        begun = {"index": index, "id": call.id, "type": "function", "function": function}
        deltas.append(({"tool_calls": [begun]}, None))
        for piece in tokens(compact(call.arguments)):
            deltas.append(({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None))
    said: list[tuple[dict[str, Any], str | None]] = [
        ({"content": p}, None) for p in text_pieces(EVENTS - len(deltas) - 3)
    ]
    role: dict[str, Any] = {"role": "assistant", "content": "", "refusal": None}
    events = []
    for number, (delta, stop) in enumerate([(role, None), *said, *deltas, ({}, "tool_calls")]):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
        events.append({**_chunk([choice]), "usage": None, "obfuscation": padding(number)})
    events.append({**_chunk([]), "usage": _chat_usage(296), "obfuscation": padding(0)})
    return b"".join(f"data: {compact(e)}\n\n".encode() for e in events) + b"data: [DONE]\n\n"


def _chunk(choices: list[Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-CbQ7sV5nZpXk0MyWq3JtRo2EhKf9T",
        "object": "chat.completion.chunk",
        "created": 1763000000,
        "model": "gpt-5.1-2025-11-13",
        "service_tier": "default",
        "system_fingerprint": "fp_7c41d0e9ab",
        "choices": choices,
    }
