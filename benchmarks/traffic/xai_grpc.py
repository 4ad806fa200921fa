"""Generated traffic of xai.grpc."""

from __future__ import annotations

from typing import Any

from .calls import EVENTS, Call, compact, expected, text_pieces


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
        function=chat.FunctionCall(name=call.name, arguments=compact(call.arguments)),
    )


def _xai_common(usage: Any) -> dict[str, Any]:
    return {
        "id": "3b9f0c5e-7d21-4a68-8c14-f6e2a90d7b53",
        "model": "grok-4-1-fast-non-reasoning",
        "system_fingerprint": "fp_5d8e2b7c1a",
        "usage": usage,
    }


def body() -> bytes:
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


def stream() -> list[bytes]:
    """Return serialized GetChatCompletionChunk messages as xAI sends them: usage in each, each call complete in one."""
    from xai_sdk import proto
    from xai_sdk.proto import chat_pb2 as chat

    calls = expected("xai.grpc", True)
    deltas = [chat.Delta(role=chat.ROLE_ASSISTANT, content=word) for word in text_pieces(EVENTS - len(calls) - 1)]
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
