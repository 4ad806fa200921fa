"""Generated traffic of anthropic.messages."""

from __future__ import annotations

from typing import Any

from .calls import EVENTS, TEXT, compact, expected, text_pieces, tokens


def _anthropic_usage(output: int) -> dict[str, Any]:
    return {
        "input_tokens": 612,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def _message(content: list[Any], stop: str | None, output: int) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-4-5-20250929",
        "id": "msg_01HvRk2XwZc5NpB7sDfQm3vYt8L",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": None,
        "usage": _anthropic_usage(output),
    }


def body() -> bytes:
    """Return the body as Anthropic sends it, compact."""
    content: list[Any] = [{"type": "text", "text": TEXT}]
    for call in expected("anthropic.messages", False):
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        content[-1]["caller"] = {"type": "direct"}
    return compact(_message(content, "tool_use", 148)).encode()


def stream() -> bytes:
    """Return the stream as Anthropic sends it: named events, padded with spaces before the last brace."""
    calls = expected("anthropic.messages", True)
    pieces = [["", *tokens(compact(call.arguments))] for call in calls]
    words = text_pieces(EVENTS - 6 - sum(2 + len(p) for p in pieces))
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": _message([], None, 4)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
    ]
    for word in words:
        events.append(_delta(0, {"type": "text_delta", "text": word}))
    events.append({"type": "content_block_stop", "index": 0})
    for index, call in enumerate(calls, start=1):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}, "caller": {"type": "direct"}}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        for piece in pieces[index - 1]:
            events.append(_delta(index, {"type": "input_json_delta", "partial_json": piece}))
        events.append({"type": "content_block_stop", "index": index})
    usage = dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens"), 0)
    stop = {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None}
    events.append(
        {"type": "message_delta", "delta": stop, "usage": {"input_tokens": 612, **usage, "output_tokens": 348}}
    )
    events.append({"type": "message_stop"})
    told = []
    for number, event in enumerate(events):
        data = '{"type": "ping"}' if event["type"] == "ping" else f"{compact(event)[:-1]}{' ' * (number * 5 % 16)}}}"
        told.append(f"event: {event['type']}\ndata: {data}\n\n".encode())
    return b"".join(told)


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}
