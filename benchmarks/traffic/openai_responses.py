"""Generated traffic of openai.responses."""

from __future__ import annotations

import json
from typing import Any

from .calls import EVENTS, Call, compact, expected, padding, text_pieces, tokens

_ITEM = "fc_0a64c1e87b3f925d006914a2c0{:02d}3481a3b5e7d9f10c2b4a68"


def _response(output: list[Any], status: str, usage: dict[str, Any] | None, extra: dict[str, Any]) -> dict[str, Any]:
    properties = {"location": {"type": "string"}, "unit": {"type": "string"}, "days": {"type": "integer"}}
    tool = {
        "type": "function",
        "description": "Get the weather of a place.",
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": ["location", "unit", "days"],
            "additionalProperties": False,
        },
        "strict": True,
    }
    return {
        "id": "resp_0a64c1e87b3f925d006914a2bfd83481a3b5e7d9f10c2b4a68",
        "object": "response",
        "created_at": 1763000000,
        "status": status,
        "background": False,
        **extra,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "model": "gpt-5.1-2025-11-13",
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "prompt_cache_retention": None,
        "reasoning": {"effort": "none", "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [tool],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
        "metadata": {},
    }


def _responses_usage(output: int) -> dict[str, Any]:
    return {
        "input_tokens": 412,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 412 + output,
    }


def _function_item(number: int, call: Call, arguments: str, status: str) -> dict[str, Any]:
    return {
        "id": _ITEM.format(number),
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": call.id,
        "name": call.name,
    }


def body() -> bytes:
    """Return the body as OpenAI sends it, indented by two, with the settings of the request repeated."""
    output = [
        _function_item(number, call, compact(call.arguments), "completed")
        for number, call in enumerate(expected("openai.responses", False))
    ]
    extra = {"billing": {"payer": "developer"}, "completed_at": 1763000002}
    body = _response(output, "completed", _responses_usage(96), extra)
    return json.dumps(body, indent=2).encode()


def stream() -> bytes:
    """Return the stream as OpenAI sends it: numbered, named and padded events, the complete response at the end."""
    calls = expected("openai.responses", True)
    pieces = [tokens(compact(call.arguments)) for call in calls]
    words = text_pieces(EVENTS - 8 - sum(3 + len(p) for p in pieces))
    events: list[dict[str, Any]] = []

    def tell(kind: str, **members: Any) -> None:
        events.append({"type": f"response.{kind}", "sequence_number": len(events), **members})

    tell("created", response=_response([], "in_progress", None, {}))
    tell("in_progress", response=_response([], "in_progress", None, {}))
    said = "".join(words)
    message = {"id": _ITEM.format(9).replace("fc_", "msg_"), "type": "message"}
    place = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    empty = {**message, "status": "in_progress", "content": [], "role": "assistant"}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": said}
    whole = {**message, "status": "completed", "content": [part], "role": "assistant"}
    tell("output_item.added", output_index=0, item=empty)
    tell("content_part.added", **place, part={**part, "text": ""})
    for number, word in enumerate(words):
        tell("output_text.delta", **place, delta=word, logprobs=[], obfuscation=padding(number))
    tell("output_text.done", **place, text=said, logprobs=[])
    tell("content_part.done", **place, part=part)
    tell("output_item.done", output_index=0, item=whole)
    output: list[Any] = [whole]
    for index, call in enumerate(calls, start=1):
        arguments = compact(call.arguments)
        tell("output_item.added", output_index=index, item=_function_item(index, call, "", "in_progress"))
        item: dict[str, Any] = {"item_id": _ITEM.format(index), "output_index": index}
        for number, piece in enumerate(pieces[index - 1]):
            tell("function_call_arguments.delta", **item, delta=piece, obfuscation=padding(number))
        tell("function_call_arguments.done", **item, arguments=arguments)
        output.append(_function_item(index, call, arguments, "completed"))
        tell("output_item.done", output_index=index, item=output[-1])
    tell("completed", response=_response(output, "completed", _responses_usage(296), {}))
    return b"".join(f"event: {e['type']}\ndata: {compact(e)}\n\n".encode() for e in events)
