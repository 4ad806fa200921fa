"""What reads the bytes: two JSON parsers, the normalizer, and the official SDKs.

An SDK is measured from the bytes of the HTTP body on: its own decoder of server-sent events, its own construction of
types and its own accumulation, without its HTTP client. Each reader takes the body, or a stream in its pieces, and
gives what it makes of it; ``calls`` reads the calls in that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from toolparity import Response, StreamDecoder, normalize

Read = Callable[[Any], Any]


def json_each(payloads: Iterable[bytes]) -> Any:
    """Each payload of a stream by the standard library; gives the last."""
    value = None
    for payload in payloads:
        value = json.loads(payload)
    return value


def msgspec_each(payloads: Iterable[bytes]) -> Any:
    """Each payload of a stream by msgspec; gives the last."""
    decode = msgspec.json.decode
    value = None
    for payload in payloads:
        value = decode(payload)
    return value


def ours(wire: str) -> Read:
    """The normalizer on a whole body."""

    def read(body: bytes) -> Response:
        return normalize(body, wire)

    return read


def ours_streamed(wire: str) -> Read:
    """The normalizer on a stream."""

    def read(pieces: Iterable[bytes]) -> Response:
        decoder = StreamDecoder(wire)
        for piece in pieces:
            decoder.feed(piece)
        return decoder.finish()

    return read


def sdk(wire: str) -> Read:
    """The official SDK on a whole body. Raises ImportError where it is not installed."""
    if wire == "xai.grpc":
        from xai_sdk.chat import Response as XaiResponse
        from xai_sdk.proto import chat_pb2

        return lambda body: XaiResponse(chat_pb2.GetChatCompletionResponse.FromString(body), None)
    if wire == "anthropic.messages":
        from anthropic._models import construct_type
        from anthropic.types import Message as Type
    elif wire == "openai.chat":
        from openai._models import construct_type
        from openai.types.chat import ChatCompletion as Type
    else:
        from openai._models import construct_type
        from openai.types.responses import Response as Type
    return lambda body: construct_type(value=json.loads(body), type_=Type)


def sdk_streamed(wire: str) -> Read:
    """The official SDK on a stream. Raises ImportError where it is not installed."""
    return {"xai.grpc": _xai, "anthropic.messages": _anthropic, "openai.chat": _chat}.get(wire, _responses)()


def _xai() -> Read:
    from xai_sdk.chat import Response as XaiResponse
    from xai_sdk.proto import chat_pb2

    def read(messages: Iterable[bytes]) -> Any:
        response = XaiResponse(chat_pb2.GetChatCompletionResponse(), None)
        for message in messages:
            response.process_chunk(chat_pb2.GetChatCompletionChunk.FromString(message))
        return response

    return read


def _anthropic() -> Read:
    from anthropic._models import construct_type
    from anthropic._streaming import SSEDecoder
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    def read(pieces: Iterable[bytes]) -> Any:
        message: Any = None
        buffers: dict[int, bytes] = {}
        for event in SSEDecoder().iter_bytes(iter(pieces)):
            if event.event == "ping":
                continue
            told: Any = construct_type(value=event.json(), type_=RawMessageStreamEvent)
            message = accumulate_event(event=told, current_snapshot=message, json_bufs=buffers)
        return message

    return read


def _chat() -> Read:
    from openai._models import construct_type
    from openai._streaming import SSEDecoder
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    def read(pieces: Iterable[bytes]) -> Any:
        state = ChatCompletionStreamState()
        for event in SSEDecoder().iter_bytes(iter(pieces)):
            if event.data == "[DONE]":
                break
            chunk: Any = construct_type(value=event.json(), type_=ChatCompletionChunk)
            state.handle_chunk(chunk)
        return state.current_completion_snapshot

    return read


def _responses() -> Read:
    import openai
    from openai._models import construct_type
    from openai._streaming import SSEDecoder
    from openai.lib.streaming.responses._responses import ResponseStreamState
    from openai.types.responses import ResponseStreamEvent

    def read(pieces: Iterable[bytes]) -> Any:
        state: Any = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
        response = None
        for event in SSEDecoder().iter_bytes(iter(pieces)):
            value: Any = construct_type(value=event.json(), type_=ResponseStreamEvent)
            for told in state.handle_event(value):
                if told.type == "response.completed":
                    response = told.response
        return response

    return read


def calls(answer: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """The calls in what the normalizer or an SDK read: id, name, parsed arguments."""
    if isinstance(answer, Response):
        return [(call.id, call.name, call.arguments or {}) for call in answer.calls]
    if hasattr(answer, "choices"):
        functions = [(call.id, call.function) for call in answer.choices[0].message.tool_calls]
    elif hasattr(answer, "output"):
        functions = [(item.call_id, item) for item in answer.output if item.type == "function_call"]
    elif hasattr(answer, "tool_calls"):
        functions = [(call.id, call.function) for call in answer.tool_calls]
    else:
        return [(block.id, block.name, dict(block.input)) for block in answer.content if block.type == "tool_use"]
    return [(id, function.name, json.loads(function.arguments)) for id, function in functions]
