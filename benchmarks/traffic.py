"""Generated traffic: one answer with three parallel calls, plain and streamed, as each provider would send it.

The content is invented. Members, their order, whitespace and padding are those of the real servers, because the speed
of a reader depends on them. A stream has 300 events: text first, then the calls with their arguments in fragments (xAI
sends each call complete in one chunk), with the head, tail and usage events of the wire.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from toolparity import Wire

EVENTS = 300


class Call(NamedTuple):
    """A call that every reader must find."""

    id: str
    name: str
    arguments: dict[str, Any]


_ARGUMENTS = [
    {"location": "Lisbon, Portugal", "unit": "celsius", "days": 3},
    {"location": "Reykjavik, Iceland", "unit": "celsius", "days": 5},
    {"location": "Nairobi, Kenya", "unit": "celsius", "days": 1},
]
_LONG_ARGUMENTS = [
    {
        "path": f"reports/{city.lower()}/weekly.md",
        "title": f"The week in {city}",
        "lines": [
            f"Temperatures in {city} stayed between {low} and {low + 9} degrees.",
            "Rain is expected on two of the seven days, mostly in the evening.",
            "The wind comes from the north west, with gusts on Thursday.",
        ],
        "overwrite": True,
        "mode": low,
    }
    for city, low in (("Lisbon", 17), ("Reykjavik", 4), ("Nairobi", 14))
]
_WORDS = (
    "I will look at the weather of the three cities first, and then write one short report for each of them, "
    "so that you can send them out before the meeting on Monday. The figures come from the same service as last "
    "week; where a station was silent, the report says so instead of guessing. "
)
_TEXT = "I'll check the weather in all three cities."


def _calls(prefix: str, name: str, arguments: list[dict[str, Any]]) -> list[Call]:
    endings = ("Qm3vYt8LhRk2XwZc5NpB7sDf", "a9TgJx4EoVu1MiKy6WbHq0Cr", "Zs2PnL7dFw5GeAj8UvRt3OxI")
    return [Call(prefix + ending, name, given) for ending, given in zip(endings, arguments, strict=True)]


def expected(wire: str, stream: bool) -> list[Call]:
    """Return the calls in the body or stream of a wire."""
    prefix = {"anthropic.messages": "toolu_01", "xai.grpc": "call-"}.get(wire, "call_")
    return _calls(prefix, "write_report", _LONG_ARGUMENTS) if stream else _calls(prefix, "get_weather", _ARGUMENTS)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _tokens(text: str) -> list[str]:
    """Split a text into pieces of about the size of a model's tokens."""
    return re.findall(r" ?\w{1,6}|[^\w ]{1,3}| ", text)


def _words(count: int) -> list[str]:
    """Return ``count`` pieces of text."""
    pieces: list[str] = []
    while len(pieces) < count:
        pieces += _tokens(_WORDS)
    return pieces[:count]


# openai.chat


def chat_body() -> bytes:
    """Return the body as OpenAI sends it, indented by two."""
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": _compact(c.arguments)}}
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


def _padding(number: int) -> str:
    return "kT4wQz8rNb2Lx9VcYm"[: 4 + number * 7 % 14]


def chat_stream() -> bytes:
    """Return chunks as OpenAI sends them with usage enabled, with their padding."""
    deltas: list[tuple[dict[str, Any], str | None]] = []
    for index, call in enumerate(expected("openai.chat", True)):
        function = {"name": call.name, "arguments": ""}
        begun = {"index": index, "id": call.id, "type": "function", "function": function}
        deltas.append(({"tool_calls": [begun]}, None))
        for piece in _tokens(_compact(call.arguments)):
            deltas.append(({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None))
    said: list[tuple[dict[str, Any], str | None]] = [({"content": p}, None) for p in _words(EVENTS - len(deltas) - 3)]
    role: dict[str, Any] = {"role": "assistant", "content": "", "refusal": None}
    events = []
    for number, (delta, stop) in enumerate([(role, None), *said, *deltas, ({}, "tool_calls")]):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
        events.append({**_chunk([choice]), "usage": None, "obfuscation": _padding(number)})
    events.append({**_chunk([]), "usage": _chat_usage(296), "obfuscation": _padding(0)})
    return b"".join(f"data: {_compact(e)}\n\n".encode() for e in events) + b"data: [DONE]\n\n"


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


# openai.responses

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


def responses_body() -> bytes:
    """Return the body as OpenAI sends it, indented by two, with the settings of the request repeated."""
    output = [
        _function_item(number, call, _compact(call.arguments), "completed")
        for number, call in enumerate(expected("openai.responses", False))
    ]
    extra = {"billing": {"payer": "developer"}, "completed_at": 1763000002}
    body = _response(output, "completed", _responses_usage(96), extra)
    return json.dumps(body, indent=2).encode()


def responses_stream() -> bytes:
    """Return the stream as OpenAI sends it: numbered, named and padded events, the complete response at the end."""
    calls = expected("openai.responses", True)
    pieces = [_tokens(_compact(call.arguments)) for call in calls]
    words = _words(EVENTS - 8 - sum(3 + len(p) for p in pieces))
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
        tell("output_text.delta", **place, delta=word, logprobs=[], obfuscation=_padding(number))
    tell("output_text.done", **place, text=said, logprobs=[])
    tell("content_part.done", **place, part=part)
    tell("output_item.done", output_index=0, item=whole)
    output: list[Any] = [whole]
    for index, call in enumerate(calls, start=1):
        arguments = _compact(call.arguments)
        tell("output_item.added", output_index=index, item=_function_item(index, call, "", "in_progress"))
        item: dict[str, Any] = {"item_id": _ITEM.format(index), "output_index": index}
        for number, piece in enumerate(pieces[index - 1]):
            tell("function_call_arguments.delta", **item, delta=piece, obfuscation=_padding(number))
        tell("function_call_arguments.done", **item, arguments=arguments)
        output.append(_function_item(index, call, arguments, "completed"))
        tell("output_item.done", output_index=index, item=output[-1])
    tell("completed", response=_response(output, "completed", _responses_usage(296), {}))
    return b"".join(f"event: {e['type']}\ndata: {_compact(e)}\n\n".encode() for e in events)


# anthropic.messages


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


def anthropic_body() -> bytes:
    """Return the body as Anthropic sends it, compact."""
    content: list[Any] = [{"type": "text", "text": _TEXT}]
    for call in expected("anthropic.messages", False):
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        content[-1]["caller"] = {"type": "direct"}
    return _compact(_message(content, "tool_use", 148)).encode()


def anthropic_stream() -> bytes:
    """Return the stream as Anthropic sends it: named events, padded with spaces before the last brace."""
    calls = expected("anthropic.messages", True)
    pieces = [["", *_tokens(_compact(call.arguments))] for call in calls]
    words = _words(EVENTS - 6 - sum(2 + len(p) for p in pieces))
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
        data = '{"type": "ping"}' if event["type"] == "ping" else f"{_compact(event)[:-1]}{' ' * (number * 5 % 16)}}}"
        told.append(f"event: {event['type']}\ndata: {data}\n\n".encode())
    return b"".join(told)


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


# cohere.chat


def _cohere_usage(output: int) -> dict[str, Any]:
    tokens = {"input_tokens": 1612, "output_tokens": output}
    return {"billed_units": {"input_tokens": 142, "output_tokens": output}, "tokens": tokens, "cached_tokens": 1440}


def _cohere_call(call: Call, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def cohere_body() -> bytes:
    """Return the body as Cohere sends it, compact."""
    calls = [_cohere_call(call, _compact(call.arguments)) for call in expected("cohere.chat", False)]
    message = {"role": "assistant", "tool_plan": _TEXT, "tool_calls": calls}
    id = "b7391518-e53e-4486-98ea-fabffcde31c2"
    return _compact({"id": id, "message": message, "finish_reason": "TOOL_CALL", "usage": _cohere_usage(89)}).encode()


def cohere_stream() -> bytes:
    """Return the stream as Cohere sends it: named events, the plan first."""
    calls = expected("cohere.chat", True)
    pieces = [_tokens(_compact(call.arguments)) for call in calls]
    words = _words(EVENTS - 2 - sum(2 + len(p) for p in pieces))
    events: list[dict[str, Any]] = [
        {
            "id": "ce257b09-c6da-4aed-b722-6384504180f5",
            **_cohere_event(
                "message-start", None, {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
            ),
        }
    ]
    events += [_cohere_event("tool-plan-delta", None, {"tool_plan": word}) for word in words]
    for index, call in enumerate(calls):
        events.append(_cohere_event("tool-call-start", index, {"tool_calls": _cohere_call(call, "")}))
        for piece in pieces[index]:
            events.append(_cohere_event("tool-call-delta", index, {"tool_calls": {"function": {"arguments": piece}}}))
        events.append({"type": "tool-call-end", "index": index})
    events.append({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": _cohere_usage(348)}})
    told = [f"event: {event['type']}\ndata: {_compact(event)}\n\n" for event in events]
    return "".join([*told, "data: [DONE]\n\n"]).encode()


def _cohere_event(kind: str, index: int | None, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, **({} if index is None else {"index": index}), "delta": {"message": message}}


# google.gemini


def _gemini_event(parts: list[dict[str, Any]], output: int, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    usage = {
        "promptTokenCount": 612,
        "candidatesTokenCount": output,
        "totalTokenCount": 612 + output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 612}],
        "serviceTier": "standard",
    }
    return {
        "candidates": [candidate if finish is None else {**candidate, "finishReason": finish}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3.5-flash",
        "responseId": "B94haYr_OovWjMcPjJy_6Qk",
    }


def _gemini_calls(stream: bool) -> list[dict[str, Any]]:
    """Return the parts with the calls, of which the first one has a signature."""
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": call.name, "args": call.arguments, "id": call.id}}
        for call in expected("google.gemini", stream)
    ]
    parts[0]["thoughtSignature"] = "EqADCp0DAQw51sctaTt62vj/AeY+J46HScGMG01KQ/CGKYK7GOxHGnyfjXjoAZeN" * 6
    return parts


def gemini_body() -> bytes:
    """Return the body as Google sends it, indented by two."""
    body = _gemini_event([{"text": _TEXT}, *_gemini_calls(False)], 148, "STOP")
    return json.dumps(body, indent=2).encode() + b"\n"


def gemini_stream() -> bytes:
    """Return the stream as Google sends it: each call whole in an event, lines that end with CR LF."""
    calls = _gemini_calls(True)
    parts = [*({"text": word} for word in _words(EVENTS - len(calls) - 1)), *calls]
    events = [_gemini_event([part], number + 1) for number, part in enumerate(parts)]
    events.append(_gemini_event([{"text": ""}], len(parts), "STOP"))
    told = [json.dumps(event, separators=(",", ": ")) for event in events]
    return "".join(f"data: {event}\r\n\r\n" for event in told).encode()


# google.interactions


def _interaction(status: str, **more: Any) -> dict[str, Any]:
    id = "v1_Chd0TmNFYXVEWFBLNmRxdHNQX08tZjBBcxIXdE5jRWF1RFhQSzZkcXRzUF9PLWYwQXM"
    return {"id": id, "status": status, **more, "object": "interaction", "model": "gemini-3-flash-preview"}


def _interaction_end(output: int) -> dict[str, Any]:
    usage = {
        "total_tokens": 612 + output,
        "total_input_tokens": 612,
        "input_tokens_by_modality": [{"modality": "text", "tokens": 612}],
        "total_cached_tokens": 0,
        "total_output_tokens": output,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": 0,
    }
    dates = {"created": "2026-05-13T19:57:40Z", "updated": "2026-05-13T19:57:40Z", "service_tier": "standard"}
    return _interaction("requires_action", usage=usage, **dates)


def _call_step(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": call.id, "type": "function_call", "name": call.name, "arguments": arguments}


def interactions_body() -> bytes:
    """Return the body as Google sends it, compact."""
    steps: list[Any] = [{"content": [{"text": _TEXT, "type": "text"}], "type": "model_output"}]
    steps += [_call_step(call, call.arguments) for call in expected("google.interactions", False)]
    return _compact({**_interaction_end(148), "steps": steps}).encode()


def interactions_stream() -> bytes:
    """Return the stream as Google sends it: events with the name of their type, which is also their last member."""
    calls = expected("google.interactions", True)
    pieces = [_tokens(_compact(call.arguments)) for call in calls]
    words = _words(EVENTS - 5 - sum(2 + len(p) for p in pieces))
    begun = _interaction("in_progress")
    events: list[tuple[str, dict[str, Any]]] = [
        ("interaction.created", {"interaction": begun}),
        ("interaction.status_update", {"interaction_id": begun["id"], "status": "in_progress"}),
        ("step.start", {"index": 0, "step": {"type": "model_output"}}),
    ]
    events += [("step.delta", {"index": 0, "delta": {"text": word, "type": "text"}}) for word in words]
    events.append(("step.stop", {"index": 0}))
    for index, call in enumerate(calls, start=1):
        events.append(("step.start", {"index": index, "step": _call_step(call, {})}))
        for piece in pieces[index - 1]:
            events.append(("step.delta", {"index": index, "delta": {"arguments": piece, "type": "arguments_delta"}}))
        events.append(("step.stop", {"index": index}))
    events.append(("interaction.completed", {"interaction": _interaction_end(348)}))
    told = [f"event: {kind}\ndata: {_compact({**members, 'event_type': kind})}\n\n" for kind, members in events]
    return "".join([*told, "event: done\ndata: [DONE]\n\n"]).encode()


# xai.grpc: only where xai-sdk is installed.


def _xai_usage(pb: Any, output: int) -> Any:
    return pb.usage_pb2.SamplingUsage(
        completion_tokens=output,
        prompt_tokens=412,
        total_tokens=412 + output,
        prompt_text_tokens=412,
        cached_prompt_text_tokens=128,
    )


def _xai_call(chat: Any, call: Call) -> Any:
    return chat.ToolCall(
        id=call.id,
        type=chat.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL,
        status=chat.TOOL_CALL_STATUS_COMPLETED,
        function=chat.FunctionCall(name=call.name, arguments=_compact(call.arguments)),
    )


def _xai_common(usage: Any) -> dict[str, Any]:
    return {
        "id": "3b9f0c5e-7d21-4a68-8c14-f6e2a90d7b53",
        "model": "grok-4-1-fast-non-reasoning",
        "system_fingerprint": "fp_5d8e2b7c1a",
        "usage": usage,
    }


def grpc_body() -> bytes:
    """Return a serialized GetChatCompletionResponse."""
    from xai_sdk import proto
    from xai_sdk.proto import chat_pb2 as chat

    message = chat.CompletionMessage(role=chat.ROLE_ASSISTANT)
    message.tool_calls.extend(_xai_call(chat, call) for call in expected("xai.grpc", False))
    output = chat.CompletionOutput(message=message, finish_reason=proto.sample_pb2.REASON_TOOL_CALLS)
    response = chat.GetChatCompletionResponse(outputs=[output], **_xai_common(_xai_usage(proto, 96)))
    response.created.seconds = 1763000000
    data: bytes = response.SerializeToString()
    return data


def grpc_stream() -> list[bytes]:
    """Return serialized GetChatCompletionChunk messages as xAI sends them: usage in each, each call complete in one."""
    from xai_sdk import proto
    from xai_sdk.proto import chat_pb2 as chat

    calls = expected("xai.grpc", True)
    deltas = [chat.Delta(role=chat.ROLE_ASSISTANT, content=word) for word in _words(EVENTS - len(calls) - 1)]
    for call in calls:
        deltas.append(chat.Delta(role=chat.ROLE_ASSISTANT, tool_calls=[_xai_call(chat, call)]))
    deltas.append(chat.Delta(role=chat.ROLE_ASSISTANT))
    chunks = []
    for number, delta in enumerate(deltas):
        output = chat.CompletionOutputChunk(delta=delta)
        if number == len(deltas) - 1:
            output.finish_reason = proto.sample_pb2.REASON_TOOL_CALLS
        chunk = chat.GetChatCompletionChunk(outputs=[output], **_xai_common(_xai_usage(proto, number)))
        chunk.created.seconds = 1763000000
        chunks.append(chunk.SerializeToString())
    return chunks


# ollama.chat


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


def ollama_body() -> bytes:
    """Return the body as Ollama sends it, compact."""
    return _compact(_ollama_event({"tool_calls": _ollama_calls(False)}, 0) | _ollama_end(96)).encode()


def ollama_stream() -> bytes:
    """Return the JSON lines as Ollama sends them, each call complete in one."""
    calls: list[dict[str, Any]] = [{"tool_calls": [call]} for call in _ollama_calls(True)]
    messages = [*({"content": word} for word in _words(EVENTS - len(calls) - 1)), *calls]
    events = [_ollama_event(message, number) for number, message in enumerate(messages)]
    events.append(_ollama_event({}, len(events)) | _ollama_end(296))
    return b"".join(_compact(event).encode() + b"\n" for event in events)


#: The JSON wires: name -> (body, stream).
JSON_WIRES: dict[Wire, tuple[Callable[[], bytes], Callable[[], bytes]]] = {
    "openai.chat": (chat_body, chat_stream),
    "openai.responses": (responses_body, responses_stream),
    "anthropic.messages": (anthropic_body, anthropic_stream),
    "cohere.chat": (cohere_body, cohere_stream),
    "google.gemini": (gemini_body, gemini_stream),
    "google.interactions": (interactions_body, interactions_stream),
    "ollama.chat": (ollama_body, ollama_stream),
}


def payloads(stream: bytes) -> list[bytes]:
    """Return the JSON payloads of a stream's events."""
    if stream.startswith(b"{"):
        return stream.splitlines()
    found = re.findall(rb"^data: (.*?)\r?$", stream, re.MULTILINE)
    return [data for data in found if data != b"[DONE]"]


def pieces(stream: bytes, size: int) -> list[bytes]:
    """Split a stream into pieces of ``size`` bytes."""
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def events(stream: bytes) -> list[bytes]:
    """Split a stream into its events."""
    if stream.startswith(b"{"):
        return stream.splitlines(keepends=True)
    return re.findall(rb"(?s).+?\n\r?\n", stream)
