"""Generated traffic of ollama.chat."""

from __future__ import annotations

from typing import Any

from .calls import EVENTS, compact, expected, text_pieces


def _ollama_event(message: dict[str, Any], number: int) -> dict[str, Any]:
    head = {"model": "qwen3.6:latest", "created_at": f"2026-08-07T06:08:23.{577476 + 1031 * number:06d}Z"}
    return {**head, "message": {"role": "assistant", "content": "", **message}, "done": False}


def _ollama_end(output: int) -> dict[str, Any]:
    return {
        "done": True,
        "done_reason": "stop",
        "total_duration": 1735248334,
        "load_duration": 139246000,
        "prompt_eval_count": 292,
        "prompt_eval_duration": 247164000,
        "eval_count": output,
        "eval_duration": 1337032000,
    }


def _ollama_calls(stream: bool) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "function": {"index": index, "name": call.name, "arguments": call.arguments}}
        for index, call in enumerate(expected("ollama.chat", stream))
    ]


def body() -> bytes:
    """Return the body as Ollama sends it, compact."""
    return compact(_ollama_event({"tool_calls": _ollama_calls(False)}, 0) | _ollama_end(96)).encode()


def stream() -> bytes:
    """Return the JSON lines as Ollama sends them, each call complete in one."""
    calls: list[dict[str, Any]] = [{"tool_calls": [call]} for call in _ollama_calls(True)]
    messages = [*({"content": word} for word in text_pieces(EVENTS - len(calls) - 1)), *calls]
    events = [_ollama_event(message, number) for number, message in enumerate(messages)]
    events.append(_ollama_event({}, len(events)) | _ollama_end(296))
    return b"".join(compact(event).encode() + b"\n" for event in events)
